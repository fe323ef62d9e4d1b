// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// What is in a scope.
extension Scope {
  /// Promises a place for what is about to be made, by a thread that has entered the scope.
  func promise(by entry: UnsafeMutablePointer<ScopeEntry>, evenClosing: Bool = false) throws(Failure) {
    lock()
    defer { unlock() }
    if isClosing && !evenClosing || phase >= Phase.finishing { throw Scope.closedFailure }
    let wanted = state.members.count &+ state.promised &+ 1
    if wanted > state.members.capacity {
      sweep()
      // At least half of the room is used by what lives, or there is little of it.
      let living = state.members.count &+ state.promised &+ 1
      if living > state.members.capacity / 2 && !state.members.reserve(max(living, state.members.capacity &+ 1)) {
        throw Failure.noMemory("scope")
      }
    }
    state.promised = state.promised &+ 1
    addPromise(entry)
  }

  /// What a place was promised for was made, or never will be.
  func redeem(_ handle: Handle?, by entry: UnsafeMutablePointer<ScopeEntry>) {
    lock()
    dropPromise(entry)
    if let handle {
      _ = state.members.appendInRoom(Member(handle: UInt64(handle.bits), serial: nextSerial(), isTold: false))
    }
    state.promised = state.promised &- 1
    let isAwaited = isClosing
    unlock()
    if isAwaited { Rest.announce() }
  }

  /// The lock is held.
  func nextSerial() -> UInt64 {
    defer { state.serial &+= 1 }
    return state.serial
  }

  /// Forgets members that have ended. The lock is held.
  private func sweep() {
    var kept = 0
    for member in state.members.elements where Scope.isLiving(member.handle) {
      state.members.set(kept, member)
      kept &+= 1
    }
    state.members.truncate(kept)
  }

  /// Something in the scope that has a handle.
  package struct Member: BitwiseCopyable {
    package let handle: UInt64
    /// By which it is found again, and its place in the order of all that was made in the scope.
    package let serial: UInt64
    /// It was told to end.
    package var isTold: Bool
  }

  package static func isLiving(_ bits: UInt64) -> Bool {
    let handle = Handle(bits: UInt(bits))
    guard let kind = handle.kind else { return false }
    return !Slab(kind).isOver(handle)
  }

  /// How many members were made before a serial number. The lock is held.
  private func countBefore(_ serial: UInt64) -> Int {
    var (low, high) = (0, state.members.count)
    while low < high {
      let middle = low &+ (high &- low) / 2
      if let member = state.members[middle], member.serial < serial { low = middle &+ 1 } else { high = middle }
    }
    return low
  }

  /// The member that was made last before a serial number, as of now. The lock is held.
  func memberBeforeLocked(_ serial: UInt64) -> Member? { state.members[countBefore(serial) &- 1] }

  package func member(before serial: UInt64) -> Member? {
    lock()
    defer { unlock() }
    return memberBeforeLocked(serial)
  }

  /// The member that was made first behind a serial number, as of now.
  package func member(after serial: UInt64) -> Member? {
    lock()
    defer { unlock() }
    return state.members[countBefore(serial &+ 1)]
  }

  /// A member is about to be told to end, if it is there still.
  package func markTold(_ member: Member) {
    lock()
    defer { unlock() }
    let index = countBefore(member.serial)
    guard var found = state.members[index], found.serial == member.serial else { return }
    found.isTold = true
    state.members.set(index, found)
  }

  /// Forgets a member, if it is there still.
  package func forget(_ member: Member) {
    lock()
    defer { unlock() }
    let index = countBefore(member.serial)
    if state.members[index]?.serial == member.serial { state.members.remove(index) }
  }
}
