// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// A part of a loop's queue of posts that is full. The queue grows by parts, each twice as large as the one before, so
/// that under the gate nothing is allocated, freed or copied; the owner puts them together when it takes them.
struct FullPosts {
  /// The one before, which is older.
  var before: UnsafeMutablePointer<FullPosts>?
  var entries: Buffer<Entry>

  /// An empty part with room for so many.
  static func make(_ room: Int) -> UnsafeMutablePointer<FullPosts>? {
    var entries = Buffer<Entry>()
    guard entries.reserve(room), let memory = treadle_system_allocate(MemoryLayout<FullPosts>.size) else {
      entries.free()
      return nil
    }
    let part = memory.bindMemory(to: FullPosts.self, capacity: 1)
    part.initialize(to: FullPosts(before: nil, entries: entries))
    return part
  }

  static func free(_ part: UnsafeMutablePointer<FullPosts>) {
    part.pointee.entries.free()
    treadle_system_free(part)
  }

  /// The same parts, in the other direction.
  static func reversed(_ newest: UnsafeMutablePointer<FullPosts>?) -> UnsafeMutablePointer<FullPosts>? {
    var (next, reversed) = (newest, UnsafeMutablePointer<FullPosts>?.none)
    while let part = next {
      next = part.pointee.before
      part.pointee.before = reversed
      reversed = part
    }
    return reversed
  }
}

/// The queue of posts: `incoming`, and the full parts before it. Under the gate, but where the text says otherwise.
extension Loop {
  /// The memory of a queue that was longer is freed once so many drains in a row had less: not between the drains of a
  /// flood, where other threads, of which some may be real-time ones, allocate it again.
  private static let mostKept = 16_384
  private static let quietDrains: UInt8 = 16

  /// Whether the loop is still the one that the handle means, and has room for a post and the group that may begin with
  /// it. The gate is held, and may have been open meanwhile: nothing that was looked at before holds behind it.
  @inline(__always)
  func takesPosts(as handle: UInt) -> Bool { isAliveAs(handle) && (hasRoomForPost || makeRoomForPost(handle)) }

  @inline(__always)
  private var hasRoomForPost: Bool { state.incoming.hasRoom(2) }

  /// False without memory, or if the loop has lost its thread. The one that fills the first half of the room opens the
  /// second to the others, and allocates the next part meanwhile if the owner has not done so at its last drain
  /// (`provideRoom`): so a real-time thread does not find the queue full because an ordinary one, to which neither the
  /// allocator nor the kernel lends its priority, is allocating, and seldom allocates itself.
  @inline(never)
  private func makeRoomForPost(_ handle: UInt) -> Bool {
    while isAliveAs(handle) {
      if hasRoomForPost { return true }
      if state.hasHalf {
        openRoom()
        if hasNextPart { continue }
      } else if hasNextPart {
        beginNextPart()
        continue
      }
      if !allocateNextPart(handle, twiceAsMuch) { return isAliveAs(handle) && hasRoomForPost }
    }
    return false
  }

  /// How many entries the queue has room for before the next part is begun.
  private var openCapacity: Int { state.hasHalf ? state.incoming.capacity &* 2 : state.incoming.capacity }

  /// A part that is no larger would be full at once.
  private var hasNextPart: Bool { (state.nextPosts?.pointee.entries.capacity ?? 0) > openCapacity }

  /// The room of the next part.
  private var twiceAsMuch: Int { max(openCapacity &* 2, 16) }

  /// Behind a drain that took more than half of a room, of `count` entries: gives the queue a room for as many, and
  /// allocates the part behind it, so that no post has to unless the queue outgrows both before the next drain. Without
  /// memory the posts try it themselves. Owner, who does not hold the gate.
  @inline(never)
  private func provideRoom(_ count: Int) {
    assertOwner()
    let wanted = count &+ 2
    state.gate.lock()
    if openCapacity < wanted {
      state.gate.unlock()
      var room = Buffer<Entry>()
      let hasMemory = room.reserve(wanted)
      state.gate.lock()
      if hasMemory && openCapacity < wanted && state.incoming.isEmpty { replaceRoom(&room) }
      state.gate.unlock()
      room.free()
      state.gate.lock()
    }
    if !hasNextPart { _ = allocateNextPart(handle.bits, twiceAsMuch) }
    state.gate.unlock()
  }

  /// False without memory. The gate is held, and open meanwhile.
  private func allocateNextPart(_ handle: UInt, _ room: Int) -> Bool {
    state.gate.unlock()
    var part = FullPosts.make(room)
    state.gate.lock()
    guard part != nil else { return false }
    if isAliveAs(handle) && !hasNextPart { swap(&part, &state.nextPosts) }
    guard let old = part else { return true }
    state.gate.unlock()
    FullPosts.free(old)
    state.gate.lock()
    return true
  }

  private func beginNextPart() {
    guard let part = state.nextPosts else { return }
    swap(&part.pointee.entries, &state.incoming)
    if !part.pointee.entries.isEmpty {
      state.nextPosts = nil
      part.pointee.before = state.fullPosts
      state.fullPosts = part
    }
    holdHalf()
  }

  @inline(__always)
  private func openRoom() {
    if state.hasHalf { state.incoming.open() }
    state.hasHalf = false
  }

  /// The queue is empty, and its room is open.
  @inline(__always)
  private func holdHalf() {
    state.incoming.holdHalf()
    state.hasHalf = true
  }

  /// Changes the queue for another room, which is empty.
  @inline(__always)
  private func replaceRoom(_ queue: inout Buffer<Entry>) {
    openRoom()
    swap(&queue, &state.incoming)
    holdHalf()
  }

  /// How many entries the queue has.
  var queuedCount: Int {
    var (count, next) = (state.incoming.count, state.fullPosts)
    while let part = next {
      count &+= part.pointee.entries.count
      next = part.pointee.before
    }
    return count
  }

  /// Calls `body` with the parts, the oldest first, until it answers false.
  func forEachPart(_ body: (Buffer<Entry>) -> Bool) {
    if Loop.forEachPart(upTo: state.fullPosts, body) { _ = body(state.incoming) }
  }

  private static func forEachPart(upTo last: UnsafeMutablePointer<FullPosts>?, _ body: (Buffer<Entry>) -> Bool) -> Bool
  {
    guard let last else { return true }
    return forEachPart(upTo: last.pointee.before, body) && body(last.pointee.entries)
  }

  /// Takes the queue, behind the older entries that `taken` has; answers how many. Without memory to put its parts
  /// together, the newer ones wait for the next time. `noting` is called under the gate with how many are taken. Owner,
  /// who does not hold the gate.
  @inline(__always)
  func takePosts(_ taken: inout Buffer<Entry>, noting: (Int) -> Void) {
    state.gate.lock()
    if !taken.isEmpty || state.fullPosts != nil { return takeParts(&taken, noting) }
    noting(state.incoming.count)
    let wasOpened = !state.hasHalf
    swap(&taken, &state.spare)
    replaceRoom(&taken)
    forgetPending(LoopState.Pending.blocks | LoopState.Pending.groups)
    let lacksRoom = wasOpened && (openCapacity < taken.count &+ 2 || !hasNextPart)
    state.gate.unlock()
    if lacksRoom { provideRoom(taken.count) }
  }

  /// The same, of a queue that has parts, or behind older entries. The gate is held, and opened here.
  @inline(never)
  private func takeParts(_ taken: inout Buffer<Entry>, _ noting: (Int) -> Void) {
    var room = taken.count &+ queuedCount
    while taken.capacity < room {
      state.gate.unlock()
      // With the room that another queue of that length needs (`takesPosts`).
      let hasMemory = taken.reserve(room &+ 2)
      state.gate.lock()
      if !hasMemory { return takeOldest(&taken, noting) }
      room = taken.count &+ queuedCount
    }
    let count = room &- taken.count
    noting(count)
    var part = FullPosts.reversed(state.fullPosts)
    state.fullPosts = nil
    var newest = Buffer<Entry>()
    swap(&newest, &state.spare)
    replaceRoom(&newest)
    forgetPending(LoopState.Pending.blocks | LoopState.Pending.groups)
    state.gate.unlock()
    while let full = part {
      part = full.pointee.before
      for entry in full.pointee.entries.elements { _ = taken.appendInRoom(entry) }
      FullPosts.free(full)
    }
    for entry in newest.elements { _ = taken.appendInRoom(entry) }
    keepRoom(newest)
    provideRoom(count)
  }

  /// Without memory: the older entries alone, or if there are none the oldest part. The gate is held, and opened here.
  private func takeOldest(_ taken: inout Buffer<Entry>, _ noting: (Int) -> Void) {
    var oldest: UnsafeMutablePointer<FullPosts>?
    if taken.isEmpty {
      let first = FullPosts.reversed(state.fullPosts)
      state.fullPosts = FullPosts.reversed(first?.pointee.before)
      oldest = first
    }
    noting(oldest?.pointee.entries.count ?? 0)
    state.gate.unlock()
    guard let oldest else { return }
    swap(&taken, &oldest.pointee.entries)
    FullPosts.free(oldest)
  }

  /// At the end of the thread: everything, as it is, with the part that would have come next. Takes the gate.
  func takeAllPosts() -> (full: UnsafeMutablePointer<FullPosts>?, incoming: Buffer<Entry>) {
    state.gate.lock()
    defer { state.gate.unlock() }
    if let next = state.nextPosts {
      next.pointee.before = state.fullPosts
      (state.fullPosts, state.nextPosts) = (next, nil)
    }
    let taken = (FullPosts.reversed(state.fullPosts), state.incoming)
    state.fullPosts = nil
    state.incoming = Buffer()
    state.hasHalf = false
    forgetPending(LoopState.Pending.blocks | LoopState.Pending.groups)
    return taken
  }

  /// Notes how many entries a drain has. Owner.
  @inline(__always)
  func noteDrain(of count: Int) {
    if count > Loop.mostKept {
      state.quietDrains = 0
    } else if state.quietDrains < Loop.quietDrains {
      state.quietDrains &+= 1
      if state.quietDrains == Loop.quietDrains { freeNextPart() }
    }
  }

  /// Frees the part that would have come next, if it is large.
  @inline(never)
  private func freeNextPart() {
    state.gate.lock()
    let part = state.nextPosts
    let isLarge = part?.pointee.entries.capacity ?? 0 > Loop.mostKept
    if isLarge { state.nextPosts = nil }
    state.gate.unlock()
    if isLarge, let part { FullPosts.free(part) }
  }

  /// Whether a room is one that was needed once.
  @inline(__always)
  private func isTooLarge(_ room: Buffer<Entry>) -> Bool {
    room.capacity > Loop.mostKept && state.quietDrains == Loop.quietDrains
  }

  /// An empty room, for the next queue. Owner, without the gate.
  func keepRoom(_ buffer: Buffer<Entry>) {
    var buffer = buffer
    buffer.removeAll()
    shrink(&state.spare)
    if !isTooLarge(buffer) && state.spare.capacity < buffer.capacity { swap(&buffer, &state.spare) }
    buffer.free()
  }

  /// Frees the room of a queue that was longer. Owner.
  @inline(__always)
  func shrink(_ room: inout Buffer<Entry>) {
    if room.isEmpty && isTooLarge(room) { room.free() }
  }
}
