// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  import TreadleBase

  /// The name of a run loop's mode. Names are compared by text (MODE-1). Since 1.0.
  public struct RunLoopMode: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name's text. Since 1.0.
    public let name: String

    /// A mode of this name; it exists once something was added to it (RL-7). Since 1.0.
    public init(_ name: String) { self.name = name }
    /// A mode of the name that a literal gives. Since 1.0.
    public init(stringLiteral name: String) { self.name = name }

    /// The mode that every loop has from the beginning. Since 1.0.
    public static let `default` = RunLoopMode("kCFRunLoopDefaultMode")
    /// Stands for all modes of a loop's common set where something is added; it is never run (MODE-8). Since 1.0.
    public static let common = RunLoopMode("kCFRunLoopCommonModes")

    /// The name. Since 1.0.
    public var description: String { name }

    /// Calls `body` with the name as the core wants it.
    func withName<Result>(_ body: (ModeName) throws -> Result) rethrows -> Result {
      try name.withCString { try body(ModeName($0)) }
    }

    /// Calls `body` with the names of all the modes, as the core wants them.
    static func withNames(
      _ modes: [RunLoopMode], _ body: (UnsafeBufferPointer<UnsafePointer<CChar>?>) throws(Failure) -> Int32
    ) throws(Failure) -> Int32 {
      var text: [CChar] = []
      var places: [Int] = []
      for mode in modes {
        places.append(text.count)
        text += mode.name.utf8CString
      }
      return try text.withUnsafeBufferPointer { text throws(Failure) in
        let names = places.map { place in text.baseAddress.map { $0 + place } }
        return try names.withUnsafeBufferPointer { names throws(Failure) in try body(names) }
      }
    }
  }

#endif
