// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// The two mode names that every loop knows (MODE-2).
package enum CommonModes {
  static var defaultName: ModeName { ModeName(treadle_system_default_mode_name()) }
  static var name: ModeName { ModeName(treadle_system_common_modes_name()) }

  /// Adds an item to a loop's default mode.
  package static func addToDefault(_ item: Item, of loop: Loop) throws(Failure) -> Int32 {
    try loop.add(item, defaultName)
  }

  /// Whether a name means the common modes. Compared by text, never by pointer (MODE-1).
  static func isCommon(_ mode: ModeName) -> Bool { mode.equals(name.bytes) }
}
