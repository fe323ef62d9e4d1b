// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A thread's dictionary (THR-12), under its lock.
extension Thread {
  package typealias Use = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void

  /// Takes the value over on success only. It belongs to the scope that the calling thread has entered.
  package func setValue(
    _ key: UnsafePointer<CChar>, _ value: UnsafeMutableRawPointer?, release: ThreadEntry.Destroy?
  ) throws(Failure) {
    let work = try ScopeWork.make(ScopeWork.Sort.value, Owned(value: value, release: release), isQueued: false) {
      let owned = $0.assumingMemoryBound(to: Owned.self).pointee
      ClientCall.giveBack(owned.release, owned.value)
    }
    // Whoever knows the key may take it out at once.
    if let work { ScopeWork.retain(work) }
    var replaced: ValueTable.Pointer?
    var late: ValueTable.Pointer?
    do throws(Failure) {
      try putIn(key, value, release, work, replaced: &replaced)
    } catch {
      guard let work else { throw error }
      let isMine = ScopeWork.takeBack(work)
      ScopeWork.release(work)
      if isMine { throw error }
      return
    }
    if let work {
      // A scope that was closed meanwhile has not found it.
      if ScopeWork.register(work, UInt64(handle.bits)) { late = takeOut(work) }
      ScopeWork.release(work)
    }
    guard let replaced else {
      if let late { letGo(late) }
      return
    }
    if let late {
      ObjectCall.recorded(
        0, holding: Used(thread: self, entry: replaced), { $0.assumingMemoryBound(to: Used.self).pointee.letGo() }
      ) { letGo(late) }
    }
    letGo(replaced)
  }

  /// What a scope gives back.
  private struct Owned {
    let value: UnsafeMutableRawPointer?
    let release: ThreadEntry.Destroy?
  }

  private func putIn(
    _ key: UnsafePointer<CChar>, _ value: UnsafeMutableRawPointer?, _ release: ThreadEntry.Destroy?,
    _ work: ScopeWork.Pointer?,
    replaced: inout ValueTable.Pointer?
  ) throws(Failure) {
    guard let entry = ValueTable.make(key, value, release, work) else { throw Failure.noMemory("value") }
    lock()
    let isFinished = phase == Phase.finished
    let isStored = !isFinished && state.dictionary.put(entry, replaced: &replaced)
    unlock()
    if isStored { return }
    treadle_system_free(entry)
    throw isFinished ? Failure(Status.state, "thread", "has finished") : Failure.noMemory("value")
  }

  /// The scope of a value is closed, and the value leaves the dictionary of its thread, whose handle `token` is.
  package static func endValue(_ work: ScopeWork.Pointer, _ token: UInt64) {
    // The values of one that is gone have gone, or are about to.
    guard let thread = try? hold(UInt(token), "thread") else { return }
    defer { thread.letGo() }
    if let entry = thread.takeOut(work) { thread.droppedIfThreadEnds { thread.letGo(entry) } }
  }

  private func takeOut(_ work: ScopeWork.Pointer) -> ValueTable.Pointer? {
    lock()
    defer { unlock() }
    let entry = state.dictionary.find(work)
    if let entry { state.dictionary.take(entry) }
    return entry
  }

  package func value(_ key: UnsafePointer<CChar>) throws(Failure) -> UnsafeMutableRawPointer? {
    lock()
    defer { unlock() }
    guard let entry = state.dictionary.find(key) else { throw Thread.noValue }
    return entry.pointee.value
  }

  /// Calls `use` with the value, which is not released meanwhile.
  package func useValue(_ key: UnsafePointer<CChar>, _ use: Use, _ info: UnsafeMutableRawPointer?) throws(Failure) {
    lock()
    let entry = state.dictionary.find(key)
    entry?.pointee.references &+= 1
    unlock()
    guard let entry else { throw Thread.noValue }
    ObjectCall.recorded(
      0, holding: Used(thread: self, entry: entry), { $0.assumingMemoryBound(to: Used.self).pointee.letGo() }
    ) {
      if let work = entry.pointee.work {
        ScopeWork.during(work) { _ = ClientCall.guarded(use, entry.pointee.value, info) }
      } else {
        _ = ClientCall.guarded(use, entry.pointee.value, info)
      }
    }
    letGo(entry)
  }

  /// A value that a client uses, or that is to go behind another one.
  private struct Used {
    let thread: Thread
    let entry: ValueTable.Pointer

    func letGo() { thread.letGo(entry) }
  }

  package func removeValue(_ key: UnsafePointer<CChar>) -> Int32 {
    lock()
    let entry = state.dictionary.find(key)
    if let entry { state.dictionary.take(entry) }
    unlock()
    guard let entry else { return Status.ignored }
    letGo(entry)
    return Status.ok
  }

  /// At the end of the thread: releases may store new values, which go, too.
  func releaseValues() {
    while true {
      lock()
      let entry = state.dictionary.takeAny()
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
    let (value, release, work) = (entry.pointee.value, entry.pointee.release, entry.pointee.work)
    treadle_system_free(entry)
    if let work { ScopeWork.end(work) } else { ClientCall.giveBack(release, value) }
  }
}
