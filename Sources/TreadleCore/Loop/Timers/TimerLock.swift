// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// The lock of a timer.
extension Item {
  /// Calls `body` under the lock that guards the timer's date: of its loop, if it is in one, and else of the item. The
  /// caller holds the timer.
  @inline(__always)
  func withDueLocked<Result>(_ body: (Loop?) -> Result) -> Result {
    if let loop = lockOnlyLoop() {
      defer { loop.unlock() }
      return body(loop)
    }
    let loop = lockWithLoop()
    defer { unlock(with: loop) }
    return body(loop)
  }

  /// For a timer that is in a loop by its own cell: locks that loop, which is enough, since that membership does not
  /// end without it. Nil for any other.
  @inline(__always)
  func lockOnlyLoop() -> Loop? {
    guard let mode, let loop = mode.loop else { return nil }
    loop.lock()
    // The timer, or what its mode's slot means, may have changed meanwhile.
    if isIn(mode) && mode.isOf(loop) { return loop }
    loop.unlock()
    return nil
  }

  /// Locks the item, and the loop that it is in; if it is in none, claims its own cell, so that it stays there.
  @inline(never)
  private func lockWithLoop() -> Loop? {
    lock()
    while true {
      guard let (member, mode) = anyMembership() else {
        if claimCell() { return nil }
        continue
      }
      guard let loop = mode.loop else { continue }
      loop.lock()
      // The own cell may have left its mode, which may be another loop's now, while aliases stay.
      if member.isIn(mode) && mode.isOf(loop) { return loop }
      loop.unlock()
    }
  }

  @inline(never)
  private func unlock(with loop: Loop?) {
    if let loop { loop.unlock() } else { unclaimCell() }
    unlock()
  }
}
