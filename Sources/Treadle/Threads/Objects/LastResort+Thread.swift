// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

extension LastResort {
  /// Reports an error of the calling thread.
  package static func report(_ kind: StaticString, _ message: StaticString) {
    let thread = (try? Thread.current().handle) ?? Handle(bits: 0)
    kind.utf8Start.withMemoryRebound(to: CChar.self, capacity: 1) { kind in
      message.utf8Start.withMemoryRebound(to: CChar.self, capacity: 1) { message in
        _ = report(thread, kind, message)
      }
    }
  }
}
