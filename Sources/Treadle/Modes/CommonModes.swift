// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// The two mode names that every loop knows (MODE-2).
package enum CommonModes {
  static let defaultName: StaticString = "kCFRunLoopDefaultMode"
  static let name: StaticString = "kCFRunLoopCommonModes"

  /// Adds an item to a loop's default mode.
  package static func addToDefault(_ item: Item, of loop: Loop) throws(Failure) -> Int32 {
    try defaultName.withName { name throws(Failure) in try loop.add(item, name) }
  }

  /// Whether a name means the common modes. Compared by text, never by pointer (MODE-1).
  static func isCommon(_ mode: ModeName) -> Bool { mode.equals(name) }
}

extension StaticString {
  /// Calls `body` with the text as a mode's name. It is a constant of ours, so it has an address.
  func withName<Result>(_ body: (ModeName) throws(Failure) -> Result) throws(Failure) -> Result {
    try body(ModeName(UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)))
  }
}
