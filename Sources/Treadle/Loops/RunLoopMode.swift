// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// The name of a run loop's mode. Names are compared by text (MODE-1). Since 1.0.
public struct RunLoopMode: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name's text. Since 1.0.
  public let name: String

  /// A mode of this name; it exists once something was added to it (RL-7). A name ends before its first NUL. Since 1.0.
  public init(_ name: String) { self.name = name.utf8.contains(0) ? String(name.prefix { $0 != "\0" }) : name }
  /// A mode of the name that a literal gives. Since 1.0.
  public init(stringLiteral name: String) { self.init(name) }

  /// The mode that every loop has from the beginning. Since 1.0.
  public static let `default` = RunLoopMode(TREADLE_DEFAULT_MODE)
  /// Stands for all modes of a loop's common set where something is added; it is never run (MODE-8). Since 1.0.
  public static let common = RunLoopMode(TREADLE_COMMON_MODES)
  /// The mode in which the caller's loop runs during a request to a message port that names no other. Since 1.0.
  public static let replies = RunLoopMode(TREADLE_REPLIES_MODE)

  /// The name. Since 1.0.
  public var description: String { name }

  /// Calls `body` with the name for C.
  @inline(__always)
  func withName<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
    try name.withCString(body)
  }

  /// Calls `body` with the names of all the modes for C.
  static func withNames<Result>(
    _ modes: [RunLoopMode], _ body: (UnsafePointer<UnsafePointer<CChar>?>?, Int) throws -> Result
  ) rethrows -> Result {
    var text: [CChar] = []
    var places: [Int] = []
    for mode in modes {
      places.append(text.count)
      text += mode.name.utf8CString
    }
    return try text.withUnsafeBufferPointer { text in
      // An empty list is not the same as none: its pointer is not NULL.
      var names = places.map { place in text.baseAddress.map { $0 + place } }
      names.append(nil)
      return try names.withUnsafeBufferPointer { try body($0.baseAddress, modes.count) }
    }
  }
}
