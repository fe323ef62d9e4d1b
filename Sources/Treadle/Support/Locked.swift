// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Glibc

/// A value that several threads share, behind a mutex of the C library. The thread sanitizer knows that mutex; it does
/// not see the lock of Synchronization's `Mutex`, and reports races of the value.
struct Locked<Value>: ~Copyable, @unchecked Sendable {
  private struct Shared {
    var mutex = pthread_mutex_t()
    var value: Value
  }

  /// Never moves, as a mutex must not.
  private let shared: UnsafeMutablePointer<Shared>

  init(_ value: Value) {
    shared = .allocate(capacity: 1)
    shared.initialize(to: Shared(value: value))
    pthread_mutex_init(&shared.pointee.mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(&shared.pointee.mutex)
    shared.deinitialize(count: 1)
    shared.deallocate()
  }

  /// Calls `body` with the value, which no other thread sees meanwhile. Not to be nested.
  func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
    pthread_mutex_lock(&shared.pointee.mutex)
    defer { pthread_mutex_unlock(&shared.pointee.mutex) }
    return try body(&shared.pointee.value)
  }
}
