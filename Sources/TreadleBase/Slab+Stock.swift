// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// A slab's free slots, and what stocks take from it and give back: many slots at a time.
extension Slab {
  /// How many slots a group has. Each but the last names the next.
  static let slotsOfGroup: UInt32 = 32

  // MARK: Free slots, which are the caller's

  @inline(__always)
  func next(_ memory: UnsafeMutableRawPointer) -> UInt32 {
    let next = memory.assumingMemoryBound(to: FreeSlot.self).pointee.next
    // Nobody may have touched the memory of the next one for long, and it is wanted soon.
    if next != 0, let later = self.memory(next) { treadle_system_prefetch_for_writing(later) }
    return next
  }

  @inline(__always)
  func setNext(_ memory: UnsafeMutableRawPointer, _ next: UInt32) {
    memory.assumingMemoryBound(to: FreeSlot.self).pointee.next = next
  }

  // MARK: The slab's; the gate is held

  @inline(__always)
  func pushFree(_ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    if state.pointee.freeCount == Slab.slotsOfGroup { pushGroupOfFree() }
    setNext(memory, state.pointee.free)
    state.pointee.free = slot
    state.pointee.freeCount = state.pointee.freeCount &+ 1
  }

  @inline(never)
  private func pushGroupOfFree() {
    pushGroup(state.pointee.free)
    state.pointee.free = 0
    state.pointee.freeCount = 0
  }

  private func pushGroup(_ group: UInt32) {
    guard let memory = memory(group) else { return }
    memory.assumingMemoryBound(to: FreeSlot.self).pointee.nextGroup = state.pointee.groups
    state.pointee.groups = group
  }

  /// A group, or else the free slots that are too few for one; none: 0.
  func takeGroup() -> (first: UInt32, count: UInt32) {
    let group = state.pointee.groups
    if group != 0, let memory = memory(group) {
      state.pointee.groups = memory.assumingMemoryBound(to: FreeSlot.self).pointee.nextGroup
      return (group, Slab.slotsOfGroup)
    }
    let free = (first: state.pointee.free, count: state.pointee.freeCount)
    state.pointee.free = 0
    state.pointee.freeCount = 0
    return free
  }

  // MARK: For stocks

  func withGate<Result>(_ body: () -> Result) -> Result {
    state.pointee.gate.lock()
    defer { state.pointee.gate.unlock() }
    return body()
  }

  func giveGroup(_ group: UInt32) { withGate { pushGroup(group) } }
  @inline(__always)
  package func giveBack(_ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    state.pointee.gate.lock()
    pushFree(slot, memory)
    state.pointee.gate.unlock()
  }

  /// Up to so many that follow one another and that nobody has had yet: from the first up to but not including the
  /// second; none when there is no memory. The gate is held.
  func takeUnused(_ most: UInt32) -> (first: UInt32, end: UInt32) {
    let slot = max(state.pointee.used &+ 1, first)
    if slot > state.pointee.ready && !makeRoom(slot) { return (0, 0) }
    let last = min(slot &+ most &- 1, state.pointee.ready)
    state.pointee.used = last
    return (slot, last &+ 1)
  }
}
