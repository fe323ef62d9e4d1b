// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// A loop's lock: guards what is configured (`LoopState`). A section may make a system call; no client code runs in it.
/// All-zero bytes are an unlocked one.
///
/// As a rule the loop's own thread takes it and nobody else wants it, so that costs one atomic exchange; it is given
/// back by a plain store. Whoever has to wait counts himself and sleeps on the word, and who gives it back looks for
/// such a one after the store. No fence orders these two: in the moment when the store is still on its way both may
/// miss the other. So nobody sleeps for longer than a millisecond before he looks again; that is of no account, since
/// it takes both within some nanoseconds, and nobody looks again who does not wait.
///
/// Giving it back touches the lock after the store: the memory of a loop is never given back.
struct LoopLock {
  private struct State: ~Copyable {
    let taken: Atomic<UInt32>
    let sleepers: Atomic<UInt32>
  }
  static let size = 8
  private static let longestSleep: Int64 = 1_000_000
  private static let mostLooks = 100

  private let state: UnsafeMutablePointer<State>

  @inline(__always)
  init(_ memory: UnsafeMutableRawPointer) { state = memory.assumingMemoryBound(to: State.self) }

  @inline(never)
  func lock() { lockInline() }

  @inline(never)
  func unlock() { unlockInline() }

  @inline(__always)
  func lockInline() {
    if !tryToLockInline() { wait() }
  }

  /// False if somebody has it.
  @inline(__always)
  func tryToLockInline() -> Bool { state.pointee.taken.exchange(1, ordering: .acquiring) == 0 }

  @inline(__always)
  func unlockInline() {
    state.pointee.taken.store(0, ordering: .releasing)
    if state.pointee.sleepers.load(ordering: .relaxed) != 0 { wakeOne() }
  }

  /// Whether anybody has it, for one who only has to know what was done with it.
  @inline(__always)
  var isTaken: Bool { state.pointee.taken.load(ordering: .acquiring) != 0 }

  @inline(__always)
  private func tryToTake() -> Bool {
    state.pointee.taken.load(ordering: .relaxed) == 0 && tryToLockInline()
  }

  @inline(never)
  private func wait() {
    var looks = 0
    while looks < LoopLock.mostLooks {
      if tryToTake() { return }
      treadle_system_pause()
      looks &+= 1
    }
    state.pointee.sleepers.wrappingAdd(1, ordering: .sequentiallyConsistent)
    while !tryToLockInline() {
      _ = treadle_system_futex_wait(state, 1, Clock.after(LoopLock.longestSleep, from: Clock.now()))
    }
    state.pointee.sleepers.wrappingSubtract(1, ordering: .relaxed)
  }

  @inline(never)
  private func wakeOne() { _ = treadle_system_futex_wake(state, 1) }
}
