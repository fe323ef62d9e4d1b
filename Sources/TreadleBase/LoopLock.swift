// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// The lock of a loop, biased to one thread, its owner: as long as no other thread visits the loop, the owner enters
/// and leaves by plain loads and stores. All-zero bytes are a lock without an owner, which is a `Mutex`.
///
/// *The owner* writes its id to `inside`, then looks at `bias`. If the owner may not enter by itself, it writes 0 again
/// and takes the mutex. *A visitor* takes the mutex. If the owner may enter by itself, the visitor changes `bias`, has
/// every processor pass a barrier, and waits until `inside` is 0. If the owner has looked before the barrier, it has
/// written its id before, too, and the visitor sees that. If the owner looks behind the barrier, it sees the visit.
///
/// The owner gets its bias back when it has the mutex, and finds that the kernel's tick has changed twice since the
/// last visit. So a burst of visits costs one barrier.
///
/// *Priority*: a visitor that waits for `inside` lends its priority to the owner, as a waiter for a gate does
/// (`Inheritance`), so the owner looks whether it is named each time that it has written 0. Waiters for the mutex lend
/// theirs by the kernel.
///
/// *Without barriers* no owner gets a bias, and all threads take the mutex. The kernel may also refuse a barrier later,
/// when a process has closed its sandbox. Then the owner may be inside, and its id still be on the way to the other
/// processors. The visitor ends the bias for good, and sleeps for longer than any store takes (`longestStore`), before
/// it waits for `inside`.
///
/// A thread has one such lock at a time, and takes it once. Functions that signal handlers may call take none.
package struct LoopLock: ~Copyable {
  /// The kernel's id of the owner while it is inside by its bias; 0 otherwise. Written by the owner.
  private let inside: Atomic<UInt32>
  /// How the owner enters: one of `Bias`. Written under the mutex.
  private let bias: Atomic<UInt32>
  private let mutex: Mutex
  /// How often the tick has changed since the last visit, and the last tick that the owner has seen. Under the mutex.
  private let quietTicks: Atomic<UInt32>
  private let lastTick: Atomic<Int64>

  private enum Bias {
    /// By the mutex.
    static let none: UInt32 = 0
    /// By the mutex, since there was a visit.
    static let visited: UInt32 = 1
    /// By itself.
    static let owner: UInt32 = 2
  }

  /// A store reaches the other processors within microseconds, and within an interrupt: no processor keeps one back.
  /// This is thousands of times as long, in nanoseconds, and each loop waits for it once at most.
  private static let longestStore: Int64 = 20_000_000

  package init() {
    inside = Atomic(0)
    bias = Atomic(Bias.none)
    mutex = Mutex()
    quietTicks = Atomic(0)
    lastTick = Atomic(0)
  }

  @inline(__always)
  package borrowing func lock(isOwner: Bool) {
    if isOwner { enter() } else { visit() }
  }

  @inline(__always)
  package borrowing func unlock() {
    assert(LockOrder.leave(.loop), "a lock is given back by the thread that took it")
    // A visitor may find the owner's id here, which looks whether there is a visit.
    if inside.load(ordering: .relaxed) == treadle_system_thread().pointee.id { leave() } else { mutex.unlock(.visit) }
  }

  /// Whether the calling thread has the lock.
  package var isHeld: Bool {
    let id = treadle_system_thread().pointee.id
    return id != 0 && (inside.load(ordering: .relaxed) == id || mutex.isHeld(by: id))
  }

  // MARK: Owner

  @inline(__always)
  private borrowing func enter() {
    assert(LockOrder.enter(.loop), "locks are taken in the order of their ranks")
    assert(inside.load(ordering: .relaxed) == 0, "the owner is outside")
    inside.store(treadle_system_thread().pointee.id, ordering: .relaxed)
    treadle_system_compiler_fence()
    if bias.load(ordering: .relaxed) != Bias.owner { enterAfterVisit() }
  }

  @inline(__always)
  private borrowing func leave() {
    inside.store(0, ordering: .releasing)
    if treadle_system_named(Inheritance.Kind.loop) != 0 { Inheritance.giveBack(Inheritance.Kind.loop) }
  }

  @inline(never)
  private borrowing func enterAfterVisit() {
    leave()
    // It has nothing while it waits for the mutex.
    assert(LockOrder.leave(.loop), "the owner has noted its lock")
    mutex.lock(.visit)
    assert(LockOrder.enter(.loop), "locks are taken in the order of their ranks")
    if bias.load(ordering: .relaxed) == Bias.visited { countTick() }
  }

  private borrowing func countTick() {
    let tick = Clock.lastTick
    if tick == lastTick.load(ordering: .relaxed) { return }
    lastTick.store(tick, ordering: .relaxed)
    let count = quietTicks.load(ordering: .relaxed)
    quietTicks.store(count &+ 1, ordering: .relaxed)
    // The first change may have come at once.
    if count >= 2 { bias.store(Bias.owner, ordering: .relaxed) }
  }

  /// The calling thread is the owner from here on.
  package borrowing func beginBias() {
    if !treadle_system_has_barriers() { return }
    mutex.lock(.visit)
    bias.store(Bias.owner, ordering: .relaxed)
    mutex.unlock(.visit)
  }

  /// The owner ends: from here on the loop has none. Owner.
  package borrowing func endBias() {
    mutex.lock(.visit)
    bias.store(Bias.none, ordering: .relaxed)
    mutex.unlock(.visit)
  }

  // MARK: Visitors

  @inline(__always)
  private borrowing func visit() {
    mutex.lock(.visit)
    assert(LockOrder.enter(.loop), "locks are taken in the order of their ranks")
    if bias.load(ordering: .relaxed) == Bias.owner { stopOwner() }
    quietTicks.store(0, ordering: .relaxed)
  }

  @inline(never)
  private borrowing func stopOwner() {
    bias.store(Bias.visited, ordering: .relaxed)
    if treadle_system_barrier() < 0 { outlastStores() }
    if inside.load(ordering: .acquiring) != 0 { Inheritance.wait(Inheritance.Kind.loop, for: inside, as: 0) }
  }

  /// The kernel refuses barriers from here on.
  private borrowing func outlastStores() {
    bias.store(Bias.none, ordering: .relaxed)
    treadle_system_fence()
    treadle_system_sleep_until(Clock.after(LoopLock.longestStore))
  }
}
