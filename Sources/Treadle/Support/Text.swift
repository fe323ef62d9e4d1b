// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A text that a call writes into a buffer, as `treadle_describe` does: asked for until the buffer is large enough,
/// since it may grow meanwhile. nil when the call is refused.
func text(_ write: (UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>) -> treadle_status) -> String? {
  bytes { write($0, $1, $2) }.map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// The bytes of such a text, with room for a NUL behind them.
func bytes(_ write: (UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>) -> treadle_status) -> [UInt8]? {
  var room = 256
  while true {
    var length = 0
    var status: treadle_status = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      status = buffer.withMemoryRebound(to: CChar.self) { write($0.baseAddress, $0.count, &length) }
      count = status < 0 ? 0 : min(length, buffer.count)
    }
    if status < 0 { return nil }
    if length < room { return bytes }
    room = length + 1
  }
}

/// Calls `body` with the text for C, or with NULL.
func withText<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) throws -> Result) rethrows -> Result {
  if let text { try text.withCString { try body($0) } } else { try body(nil) }
}

/// The names of a set's members, as an array literal has them.
func names<Set: OptionSet>(of set: Set, _ known: [(Set, String)]) -> String where Set.Element == Set {
  "[" + known.filter { set.isSuperset(of: $0.0) }.map(\.1).joined(separator: ", ") + "]"
}
