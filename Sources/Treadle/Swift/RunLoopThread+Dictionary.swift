// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// The thread's dictionary (THR-12): values that live with the thread, for any thread that has its object. Swift's
  /// values are apart from those of the C interface, which keep their own keys.
  extension RunLoopThread {
    /// The value under a key, or nil. Setting one replaces the value that was there, nil removes it; without
    /// effect when the thread has finished, or when out of memory: see `setValue` (THR-12). [any] Since 1.0.
    public subscript(key: String) -> (any Sendable)? {
      get {
        var found: UnsafeMutableRawPointer?
        withUnsafeMutablePointer(to: &found) { place in
          DictionaryValue.name(key).withCString { name in
            try? thread.useValue(name, DictionaryValue.take, UnsafeMutableRawPointer(place))
          }
        }
        return found.map { Unmanaged<DictionaryValue>.fromOpaque($0).takeRetainedValue().value }
      }
      set { try? setValue(newValue, forKey: key) }
    }

    /// Stores a value under a key in place of the one that was there; nil removes it. The value is kept until it is
    /// replaced or removed, or until the thread's will-exit notification is over (THR-12). [any]
    /// - Throws: `Failure` for a NUL in the key, when the thread has finished, or when out of memory. Since 1.0.
    public func setValue(_ value: (any Sendable)?, forKey key: String) throws(Failure) {
      if key.utf8.contains(0) { throw Failure(Status.argument, "key", "contains a NUL") }
      try DictionaryValue.name(key).utf8CString.withUnsafeBufferPointer { bytes throws(Failure) in
        guard let name = bytes.baseAddress else { return }
        guard let value else {
          _ = thread.removeValue(name)
          return
        }
        let box = Unmanaged.passRetained(DictionaryValue(value)).toOpaque()
        do throws(Failure) {
          try thread.setValue(name, box, release: DictionaryValue.release)
        } catch {
          DictionaryValue.release(box)
          throw error
        }
      }
    }
  }

  /// A value of Swift's in the dictionary, where there is room for a pointer.
  private final class DictionaryValue: Sendable {
    let value: any Sendable

    init(_ value: any Sendable) { self.value = value }

    /// Swift's keys begin with a text of their own: what others store is not an object of this class.
    static func name(_ key: String) -> String { "treadle.swift." + key }

    /// Stores a reference to the object for the caller, while the dictionary keeps its own.
    static let take: Thread.Use = { value, place in
      guard let value, let place else { return }
      _ = Unmanaged<DictionaryValue>.fromOpaque(value).retain()
      place.assumingMemoryBound(to: UnsafeMutableRawPointer?.self).pointee = value
    }
    static let release: ThreadEntry.Destroy = { value in
      if let value { Unmanaged<DictionaryValue>.fromOpaque(value).release() }
    }
  }
#endif
