// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// An observer's part of its context's memory, behind the `Context`.
struct ObserverPart: ~Copyable {
  /// The loop that called the observer last, or is calling it; nil before the first call. Loops' memory stays.
  let caller: Atomic<UnsafeMutablePointer<LoopState>?>

  static var offset: Int { (MemoryLayout<Context>.size &+ 15) & ~15 }
}

/// The end of an observer. While its callback runs its info must stay (OBS-8), and nobody counts calls: so whoever
/// invalidates it leaves the release to the loop that says it is calling it (`Loop.protect`), with a reference.
extension Item {
  @inline(__always)
  private var part: UnsafeMutablePointer<ObserverPart>? {
    guard let context else { return nil }
    return (UnsafeMutableRawPointer(context) + ObserverPart.offset).assumingMemoryBound(to: ObserverPart.self)
  }

  /// Before the loop's owner says in `LoopState.calling` that it calls the observer. False if another loop is calling it
  /// still, which it has left meanwhile (OBS-3).
  @inline(__always)
  func noteCaller(_ loop: Loop) -> Bool {
    guard let part else { return false }
    let last = part.pointee.caller.load(ordering: .relaxed)
    return last == loop.state || changeCaller(from: last, to: loop)
  }

  @inline(never)
  private func changeCaller(from last: UnsafeMutablePointer<LoopState>?, to loop: Loop) -> Bool {
    if let last, last.pointee.calling.load(ordering: .sequentiallyConsistent) == Loop.tag(self) { return false }
    part?.pointee.caller.store(loop.state, ordering: .sequentiallyConsistent)
    return true
  }

  /// `invalidate` for an observer. The caller holds it.
  func invalidateObserver() {
    var old = cell.pointee.flags.load(ordering: .relaxed)
    while true {
      if old & Flag.valid == 0 { return }
      let (isExchanged, original) = cell.pointee.flags.weakCompareExchange(
        expected: old, desired: old & ~Flag.valid | Flag.releasing, ordering: .sequentiallyConsistent)
      if isExchanged { break }
      old = original
    }
    leaveEverything()
    // From here on no call begins. One that goes on was begun by a loop that had said so before it saw the observer
    // valid: it gets one more reference, and releases the info when it drops that.
    if let caller = part?.pointee.caller.load(ordering: .sequentiallyConsistent) {
      cell.pointee.reference.retainHeld()
      if Loop(UnsafeMutableRawPointer(caller)).dropMembership(self) { return }
    }
    releaseAfterCalls()
  }

  /// Releases the info of an invalid observer, once; but not while a call is counted (`Loop.holdCalled`), whose end does
  /// it then.
  func releaseAfterCalls() {
    let flags = cell.pointee.flags.load(ordering: .sequentiallyConsistent)
    if flags & (Flag.releasing | Flag.running | Flag.released) != Flag.releasing { return }
    if setFlag(Flag.released) & Flag.released == 0 { releaseInfo() }
  }

  /// A call that was counted is over.
  func endCountedCall() {
    clearFlag(Flag.running)
    releaseAfterCalls()
    drop()
  }
}
