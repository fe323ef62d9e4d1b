// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Queueing posts, from any thread (§9 of the rules). All ways end in `admit`: what a scope, a trace or a debugger adds
/// to a post is data of its entry.
extension Loop {
  /// Queues a plain function for the common modes, and wakes the loop, where `postsPlainly`; the handle is the
  /// client's, who need not hold the loop: its memory stays, and under its gate it is looked at whether the loop is the
  /// one meant and has its thread.
  @inline(__always)
  package static func post(
    _ handle: UInt, _ code: UnsafeMutableRawPointer, _ info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Int32 { try find(handle).admit(Entry(code: code, info: info), as: handle) }

  /// Whether a plain post needs no more than its function and info: it belongs to no scope, nobody debugs, and no trace
  /// is recorded.
  @inline(__always)
  package static var postsPlainly: Bool { treadle_system_thread().pointee.scope == nil && !Watch.isOn }

  /// `post`, where not: one of a single scope lies in a group.
  @inline(__always)
  package static func postSlowly(
    _ handle: UInt, _ code: UnsafeMutableRawPointer, _ info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Int32 {
    let owners = try Scope.demandOwners()
    if Watch.isOn || owners?.second != nil { return try postWatched(handle, code, info, isOwned: owners != nil) }
    guard let scope = owners?.first else { return try post(handle, code, info) }
    if scope.isClosing { throw Scope.closedFailure }
    return try find(handle).admit(Entry(code: code, info: info), in: PostGroup(of: scope), as: handle)
  }

  /// One that a trace alone tells of stays plain: the place in the queue that it gets is the number of its arrow. Any
  /// other that is watched, or of two scopes, is a node.
  @inline(never)
  private static func postWatched(
    _ handle: UInt, _ code: UnsafeMutableRawPointer, _ info: UnsafeMutableRawPointer?, isOwned: Bool
  ) throws(Failure) -> Int32 {
    if isOwned || Watch.isDebugging { return try post(handle, WorkItem(post: code, info)) }
    // Before the loop can have called it.
    let moment = treadle_system_trace_moment()
    var place: UInt64 = 0
    let result = try find(handle).admit(Entry(code: code, info: info), as: handle, &place)
    let flow = Trace.flow(ofPost: place, to: handle)
    Trace.record(Trace.What.post, at: moment, subject: CallName(post: code).bits, flow: flow)
    return result
  }

  /// Queues a post that is none of the plain ones, which is taken over unless this throws. modes: nil for the common
  /// ones of a loop that need not be held, and whose thread has to be there; a loop whose modes are given is held, and
  /// where its thread is gone, the post is accepted and never called (RL-9). One that does not wake the loop does not
  /// keep it from sleeping either (BLK-2).
  package static func post(
    _ handle: UInt, _ item: WorkItem, modes: ModeNames? = nil, wakes: Bool = true
  ) throws(Failure) -> Int32 {
    try item.performing { item throws(Failure) in
      var block = BlockNode(item)
      do throws(Failure) {
        let loop = try find(handle)
        if let modes, !modes.isEmpty, loop.isAliveAs(handle) {
          try loop.withLock { () throws(Failure) in try block.modes.append(modes, of: loop, "block") }
        }
        guard let node = BlockNode.allocate(block) else { throw Failure.noMemory("block") }
        let isQuiet = !wakes && Watch.isTelling && loop.findsAsleep(block)
        do throws(Failure) {
          let result = try loop.admit(Entry(node), wakes: wakes, as: handle)
          if isQuiet { treadle_system_note_signal(UnsafeMutableRawPointer(loop.address), UInt64(handle)) }
          return result
        } catch {
          treadle_system_free(node)
          throw error
        }
      } catch {
        block.modes.free()
        if modes == nil || error.status != Status.closed { throw error }
        item.dispose()
        return Status.ignored
      }
    }
  }

  /// The memory of a handle, which may be that of a later life.
  @inline(__always)
  private static func find(_ handle: UInt) throws(Failure) -> Loop {
    guard let memory = Slab(.loop).find(Handle(bits: handle)) else { throw Handle(bits: handle).failure("loop") }
    return Loop(memory)
  }

  /// The one way into the queue. `group`: one without posts of the scope of a plain post; nil outside of scopes.
  /// `place`: of the entry among all that there ever were, for traces.
  @inline(__always)
  private func admit(
    _ entry: Entry, in group: PostGroup? = nil, wakes: Bool = true, as handle: UInt,
    _ place: UnsafeMutablePointer<UInt64>? = nil
  ) throws(Failure) -> Int32 {
    let name = entry.node?.pointee.item.name
    treadle_system_probe_post(handle, name?.label, name?.code ?? UInt(bitPattern: entry.code))
    let bits = group == nil ? LoopState.Pending.blocks : LoopState.Pending.blocks | LoopState.Pending.groups
    let isQueued = queue(bits, wakes: wakes) { isForeign in
      // Looked at here, since a thread that exits takes the gate for the last time after it said so.
      guard takesPosts(as: handle), group.map({ append(entry, to: $0) }) ?? state.incoming.appendInRoom(entry)
      else { return false }
      if let place { place.pointee = state.takenCount &+ UInt64(truncatingIfNeeded: queuedCount &- 1) }
      if isForeign && wakes { state.incoming.prefetchForAppending() }
      return true
    }
    if isQueued { return Status.ok }
    throw isAliveAs(handle) ? Failure.noMemory("block") : Failure(Status.closed, "loop", "has lost its thread")
  }

  /// Queues a post or job, which `append` does under the gate unless it returns false, and wakes the loop.
  @inline(__always)
  func queue(_ bits: UInt32, wakes: Bool = true, _ append: (_ isForeign: Bool) -> Bool) -> Bool {
    let isForeign = !isCurrent
    state.gate.lock()
    let isQueued = append(isForeign)
    var sleep = Sleep.awake
    if isQueued {
      notePending(bits)
      if wakes {
        if isForeign { noteCaller() }
        sleep = markWoken()
      }
    }
    state.gate.unlock()
    if sleep != Sleep.awake { endSleep(sleep) }
    return isQueued
  }

  /// Something is queued for the loop. The gate is held, which orders what is queued: a thread that reads these bits
  /// takes it, or the loop's lock, before it looks at a queue.
  @inline(__always)
  func notePending(_ bits: UInt32) {
    state.pending.store(state.pending.load(ordering: .relaxed) | bits, ordering: .relaxed)
  }
  /// Nothing of that is any more. The gate is held.
  @inline(__always)
  func forgetPending(_ bits: UInt32) {
    state.pending.store(state.pending.load(ordering: .relaxed) & ~bits, ordering: .relaxed)
  }

  /// Whether another thread sleeps in a mode that admits the block.
  private func findsAsleep(_ block: BlockNode) -> Bool {
    if isCurrent || !isAsleep { return false }
    guard let mode = currentMode else { return false }
    lock()
    defer { unlock() }
    return block.modes.isEmpty ? mode.isCommon : block.modes.contains(mode)
  }

  /// Whether a mode admits a block now (BLK-4).
  @inline(__always)
  func admits(_ mode: Mode, _ entry: Entry) -> Bool {
    guard let node = entry.node else { return mode.isCommon }
    return node.pointee.modes.isEmpty ? mode.isCommon : node.pointee.modes.contains(mode)
  }

  /// Blocks that no run was eligible for. Under the lock, under which descriptions look at them.
  @inline(never)
  func takeDeferred() -> Buffer<Entry> {
    lock()
    defer { unlock() }
    let taken = state.deferred
    state.deferred = Buffer()
    return taken
  }

  /// At the end of the thread: what is queued is discarded (RL-8). A release may queue more, which goes too.
  @_optimize(size)
  func discardBlocks() {
    while true {
      var (full, incoming) = takeAllPosts()
      let older = takeDeferred()
      let isLast = full == nil && incoming.isEmpty && older.isEmpty
      discard(older)
      while let part = full {
        full = part.pointee.before
        discard(part.pointee.entries)
        treadle_system_free(part)
      }
      discard(incoming)
      if isLast { return }
    }
  }

  private func discard(_ entries: Buffer<Entry>) {
    var entries = entries
    state.counters.discarded.count(PostGroup.countOfPosts(in: entries))
    for entry in entries.elements { if let node = entry.node { BlockNode.free(node) } }
    entries.free()
  }
}

/// A post in the queue that is more than a function and its info. On the heap; in a queue it is an `Entry` without a
/// function.
struct BlockNode {
  var item: WorkItem
  /// The modes that admit it. Empty: the common ones.
  var modes = ModeSet()
  /// For descriptions: the kernel's tick at which it was queued; 0 before.
  var queuedAt: Int64 = 0
  /// For traces: the number of the arrow from its posting to its call; 0: none.
  var flow: UInt64 = 0

  init(_ item: WorkItem) { self.item = item }

  static func allocate(_ block: BlockNode) -> UnsafeMutablePointer<BlockNode>? {
    guard let node = allocateUnrecorded(block) else { return nil }
    node.pointee.queuedAt = Clock.lastTick
    if Watch.isTracing {
      node.pointee.flow = Trace.nextFlow()
      Trace.record(Trace.What.post, subject: node.pointee.item.name.bits, flow: node.pointee.flow)
    }
    return node
  }

  static func allocateUnrecorded(_ block: BlockNode) -> UnsafeMutablePointer<BlockNode>? {
    guard let memory = treadle_system_allocate(MemoryLayout<BlockNode>.size) else { return nil }
    let node = memory.bindMemory(to: BlockNode.self, capacity: 1)
    node.initialize(to: block)
    return node
  }

  /// The end of a post that was called, or never will be.
  static func free(_ node: UnsafeMutablePointer<BlockNode>) {
    var last = node.pointee
    treadle_system_free(node)
    last.modes.free()
    // Last, since it may end the thread.
    last.item.dispose()
  }
}

extension Entry {
  /// A plain function.
  @inline(__always)
  init(code: UnsafeMutableRawPointer, info: UnsafeMutableRawPointer?) {
    self.init(first: UInt64(UInt(bitPattern: code)), second: UInt64(UInt(bitPattern: info)))
  }

  init(_ node: UnsafeMutablePointer<BlockNode>) { self.init(first: 0, second: UInt64(UInt(bitPattern: node))) }

  /// The function of a plain post.
  @inline(__always)
  var code: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(first)) }
  /// Its info.
  @inline(__always)
  var info: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(second)) }
  /// The node of a block that is not a plain post.
  @inline(__always)
  var node: UnsafeMutablePointer<BlockNode>? {
    first == 0 && second & 1 == 0 ? info?.assumingMemoryBound(to: BlockNode.self) : nil
  }
}
