// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Foundation
import Testing
import Treadle
import TreadleFoundation

@Suite("Errors and Foundation")
struct ErrorTests {
  @Test("ABI-4: Foundation shows the sentence of an error, and its code")
  func description() throws {
    let error = try #require(throws: TreadleError.self) { try RunLoopDescriptor(-1) { _, _ in } }
    #expect(error.localizedDescription == "fd is negative (TREADLE_E_ARG)")
    let any: any Error = error
    #expect(any.localizedDescription == error.localizedDescription)
    let nsError = any as NSError
    #expect(nsError.code == Int(TreadleError.Code.argument.rawValue) && nsError.localizedDescription == error.localizedDescription)
  }
}
