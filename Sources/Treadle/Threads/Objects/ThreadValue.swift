// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A thread's dictionary (THR-12), under its lock.
extension Thread {
  package typealias Use = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void

  /// Takes the value over on success only.
  package func setValue(
    _ key: UnsafePointer<CChar>, _ value: UnsafeMutableRawPointer?, release: ThreadEntry.Destroy?
  ) throws(Failure) {
    guard let entry = ValueTable.make(key, value, release) else { throw Failure.noMemory("value") }
    var replaced: ValueTable.Pointer?
    lock()
    let isFinished = phase == Phase.finished
    let isStored = !isFinished && state.pointee.dictionary.put(entry, replaced: &replaced)
    unlock()
    if let replaced { letGo(replaced) }
    if isStored { return }
    treadle_system_free(entry)
    throw isFinished ? Failure(Status.state, "thread", "has finished") : Failure.noMemory("value")
  }

  package func value(_ key: UnsafePointer<CChar>) throws(Failure) -> UnsafeMutableRawPointer? {
    lock()
    defer { unlock() }
    guard let entry = state.pointee.dictionary.find(key) else { throw Thread.noValue }
    return entry.pointee.value
  }

  /// Calls `use` with the value, which is not released meanwhile.
  package func useValue(_ key: UnsafePointer<CChar>, _ use: Use, _ info: UnsafeMutableRawPointer?) throws(Failure) {
    lock()
    let entry = state.pointee.dictionary.find(key)
    entry?.pointee.references &+= 1
    unlock()
    guard let entry else { throw Thread.noValue }
    use(entry.pointee.value, info)
    letGo(entry)
  }

  package func removeValue(_ key: UnsafePointer<CChar>) -> Int32 {
    lock()
    let entry = state.pointee.dictionary.find(key)
    if let entry { state.pointee.dictionary.take(entry) }
    unlock()
    guard let entry else { return Status.ignored }
    letGo(entry)
    return Status.ok
  }

  /// At the end of the thread: releases may store new values, which go, too.
  func releaseValues() {
    while true {
      lock()
      let entry = state.pointee.dictionary.takeAny()
      unlock()
      guard let entry else { return }
      letGo(entry)
    }
  }

  private static let noValue = Failure(Status.notFound, "key", "is not in the thread's dictionary")

  /// Drops one reference to an entry; its value goes back with the last, outside of the lock.
  private func letGo(_ entry: ValueTable.Pointer) {
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
