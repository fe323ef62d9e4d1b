// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  /// The name of a run loop's mode. Names are compared by text (MODE-1). Since 1.0.
  public struct RunLoopMode: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name's text. Since 1.0.
    public let name: String

    /// A mode of this name; it exists once something was added to it (RL-7). Since 1.0.
    public init(_ name: String) { self.name = name }
    /// The same, from a literal. Since 1.0.
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
  }

#endif
