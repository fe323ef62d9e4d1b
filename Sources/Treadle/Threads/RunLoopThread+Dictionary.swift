// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// The thread's dictionary (THR-12): values that live with the thread, for any thread that has its object. Swift's
/// values are apart from those of the C interface, which keep their own keys.
extension RunLoopThread {
  private typealias Value = Body<any Sendable>

  /// The value under a key, or nil. Setting one replaces the value that was there, nil removes it; without
  /// effect when the thread has finished, or when out of memory: see `setValue` (THR-12). Any thread. Since 1.0.
  public subscript(key: String) -> (any Sendable)? {
    get {
      var found: (any Sendable)?
      withUnsafeMutablePointer(to: &found) { place in
        _ = treadle_thread_use_value(
          handle, RunLoopThread.name(key),
          { value, place in place?.assumingMemoryBound(to: (any Sendable)?.self).pointee = Value.use(value) { $0 } },
          place)
      }
      return found
    }
    set { try? setValue(newValue, forKey: key) }
  }

  /// Stores a value under a key in place of the one that was there; nil removes it. The value is kept until it is
  /// replaced or removed, or until the thread's will-exit notification is over (THR-12). Any thread.
  /// - Throws: `TreadleError` for a NUL in the key, when the thread has finished, or when out of memory. Since 1.0.
  public func setValue(_ value: (any Sendable)?, forKey key: String) throws(TreadleError) {
    if key.utf8.contains(0) { throw TreadleError(.argument, "key contains a NUL") }
    let name = RunLoopThread.name(key)
    if let value {
      // One that is refused is given back by the library.
      try check(treadle_thread_set_value(handle, name, Value.pass(value), releaseBody))
    } else {
      _ = treadle_thread_remove_value(handle, name)
    }
  }

  /// Swift's keys begin with a text of their own: what others store is not a value of Swift's.
  private static func name(_ key: String) -> String { "treadle.swift." + key }
}
