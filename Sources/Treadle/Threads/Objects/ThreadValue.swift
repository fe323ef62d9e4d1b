// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// One entry of a thread's dictionary (THR-12), with its key behind it in the same piece of memory. Linked,
/// and counted, under the lock of its thread.
struct ThreadValue {
  var next: UnsafeMutablePointer<ThreadValue>?
  /// One for the dictionary, one for each use in progress.
  var references: Int
  var value: UnsafeMutableRawPointer?
  var release: ThreadEntry.Destroy?
}

extension UnsafeMutablePointer<ThreadValue> {
  fileprivate var key: UnsafeMutablePointer<CChar> {
    (UnsafeMutableRawPointer(self) + MemoryLayout<ThreadValue>.size).assumingMemoryBound(to: CChar.self)
  }
}

extension Thread {
  package typealias Use = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void

  /// Takes the value over on success only.
  package func setValue(
    _ key: UnsafePointer<CChar>, _ value: UnsafeMutableRawPointer?, release: ThreadEntry.Destroy?
  ) throws(Failure) {
    let size = strlen(key) &+ 1
    guard let memory = treadle_system_allocate(MemoryLayout<ThreadValue>.size &+ size) else {
      throw Failure.noMemory("value")
    }
    let entry = memory.bindMemory(to: ThreadValue.self, capacity: 1)
    entry.initialize(to: ThreadValue(next: nil, references: 1, value: value, release: release))
    memcpy(entry.key, key, size)
    lock()
    if phase == Phase.finished {
      unlock()
      treadle_system_free(memory)
      throw Failure(Status.state, "thread", "has finished")
    }
    let old = unlinkValue(key)
    entry.pointee.next = state.pointee.dictionary
    state.pointee.dictionary = entry
    unlock()
    if let old { letGo(old) }
  }

  package func value(_ key: UnsafePointer<CChar>) throws(Failure) -> UnsafeMutableRawPointer? {
    lock()
    defer { unlock() }
    guard let entry = findValue(key) else { throw Thread.noValue }
    return entry.pointee.value
  }

  /// Calls `use` with the value, which is not released meanwhile.
  package func useValue(_ key: UnsafePointer<CChar>, _ use: Use, _ info: UnsafeMutableRawPointer?) throws(Failure) {
    lock()
    let entry = findValue(key)
    entry?.pointee.references &+= 1
    unlock()
    guard let entry else { throw Thread.noValue }
    use(entry.pointee.value, info)
    letGo(entry)
  }

  package func removeValue(_ key: UnsafePointer<CChar>) -> Int32 {
    lock()
    let entry = unlinkValue(key)
    unlock()
    guard let entry else { return Status.ignored }
    letGo(entry)
    return Status.ok
  }

  /// At the end of the thread: releases may store new values, which go, too.
  func releaseValues() {
    while true {
      lock()
      let entry = state.pointee.dictionary
      if let entry { state.pointee.dictionary = entry.pointee.next }
      unlock()
      guard let entry else { return }
      letGo(entry)
    }
  }

  private static let noValue = Failure(Status.notFound, "key", "is not in the thread's dictionary")

  private func findValue(_ key: UnsafePointer<CChar>) -> UnsafeMutablePointer<ThreadValue>? {
    var next = state.pointee.dictionary
    while let entry = next, strcmp(entry.key, key) != 0 { next = entry.pointee.next }
    return next
  }

  private func unlinkValue(_ key: UnsafePointer<CChar>) -> UnsafeMutablePointer<ThreadValue>? {
    guard let entry = findValue(key) else { return nil }
    if state.pointee.dictionary == entry {
      state.pointee.dictionary = entry.pointee.next
    } else {
      var before = state.pointee.dictionary
      while let one = before, one.pointee.next != entry { before = one.pointee.next }
      before?.pointee.next = entry.pointee.next
    }
    return entry
  }

  /// Drops one reference to an entry; its value goes back with the last, outside of the lock.
  private func letGo(_ entry: UnsafeMutablePointer<ThreadValue>) {
    lock()
    entry.pointee.references &-= 1
    let isLast = entry.pointee.references == 0
    unlock()
    if !isLast { return }
    let (value, release) = (entry.pointee.value, entry.pointee.release)
    treadle_system_free(entry)
    release?(value)
  }
}
