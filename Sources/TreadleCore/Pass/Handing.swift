// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// What a run hands out to its host in place of a call, and what becomes of it when the host comes back, or cannot be
/// asked.
extension Loop {
  /// Hands the frame's callout out, if it is an event of its host; and with room for more, the blocks of the host's
  /// that come next. False: it is to be called.
  @inline(__always)
  func handOut(_ frame: Frame.Pointer, _ room: inout EventRoom) -> Bool {
    guard let host = frame.pointee.host, host.closed.pointee.load(ordering: .sequentiallyConsistent) == 0 else {
      return false
    }
    return handOut(frame, to: host.object, &room)
  }

  /// The same, for a host whose gate is known to be open.
  @inline(__always)
  private func handOut(_ frame: Frame.Pointer, to host: UnsafeMutableRawPointer, _ room: inout EventRoom) -> Bool {
    beginCall()
    guard let item = frame.pointee.callout.item else { return handOutQueued(frame, to: host, &room) }
    guard item.isCalled(by: host), let context = item.context else { return false }
    room.append(event(of: item, context.pointee.token, frame))
    return true
  }

  @inline(never)
  private func handOutQueued(_ frame: Frame.Pointer, to host: UnsafeMutableRawPointer, _ room: inout EventRoom) -> Bool
  {
    if frame.pointee.callout.kind == .job, let job = frame.pointee.callout.job {
      var event = Event(Event.Kind.request, token: 0, loop: handlePointer, subject: 0, mode: frame.pointee.mode.name)
      guard job.pointee.handOut?(job, Job.Ask.begin, host, &event) == true else { return false }
      state.running.store(job.pointee.name.bits, ordering: .releasing)
      room.append(event)
      return true
    }
    guard frame.pointee.callout.kind == .block, let node = frame.pointee.callout.block.node,
      node.pointee.item.begin(for: host)
    else { return false }
    state.running.store(node.pointee.item.name.bits, ordering: .releasing)
    room.append(event(of: node, frame))
    handOutBlocks(frame, to: host, &room)
    return true
  }

  @inline(__always)
  private func event(of node: UnsafeMutablePointer<BlockNode>, _ frame: Frame.Pointer) -> Event {
    node.pointee.item.carried.event(on: handlePointer, mode: frame.pointee.mode.name)
  }

  /// Behind the first one: blocks that lie next to each other in the drain, so that they can be put back.
  private func handOutBlocks(_ frame: Frame.Pointer, to host: UnsafeMutableRawPointer, _ room: inout EventRoom) {
    while !room.isFull, let entry = frame.pointee.batch.first, let node = entry.node, admits(frame.pointee.mode, entry),
      node.pointee.item.begin(for: host)
    {
      frame.pointee.batch.skip()
      frame.pointee.callout.set(entry)
      frame.pointee.handedCount &+= 1
      room.append(event(of: node, frame))
    }
  }

  /// More events for the dispatch function of a host that the run is calling: those that come next in the batch, of the
  /// same kind, with nothing in between. What was handed out before has ended by this.
  func handOutMore(_ frame: Frame.Pointer, to host: UnsafeMutableRawPointer, failed: Int, _ room: inout EventRoom)
    throws(Failure)
  {
    if failed > frame.pointee.handedCount &+ 1 || failed != 0 && frame.pointee.callout.kind == .none {
      throw Failure(Status.argument, "failed", "is not the number of an event that the last call returned")
    }
    if failed != 0 { return endHandedOut(frame, failed: failed) }
    if frame.pointee.callout.kind == .block { endBlocks(frame, .all) }
    if mustEnd(frame) || !isFirstOfHost(frame, host) { return }
    let isThere = frame.pointee.batch.kind == .blocks ? nextBlock(frame) : nextSource(frame, onlyFirst: true)
    // A carrier whose scope is being closed is left to be called in its turn.
    if isThere { _ = handOut(frame, to: host, &room) }
  }

  /// Whether the next callout of the batch is one of the host's, and of the kind of the one that is being made.
  private func isFirstOfHost(_ frame: Frame.Pointer, _ host: UnsafeMutableRawPointer) -> Bool {
    if Watch.isObserved { return false }
    switch frame.pointee.batch.kind {
    case .sources where frame.pointee.callout.kind == .source:
      // A run that returns after a source, and jobs, take their turn when this call has returned.
      if frame.pointee.flags & Frame.Flag.returnAfterSource != 0 || !frame.pointee.batch.jobs.isOver { return false }
      // What is a member stays one while the lock is held, and so keeps its context.
      lock()
      defer { unlock() }
      while let entry = frame.pointee.batch.first {
        if let item = frame.pointee.mode.signalled(entry) { return item.isCalled(by: host) }
        frame.pointee.batch.skip()
        frame.pointee.batch.keptCount &+= 1
      }
      return false
    case .blocks:
      while let entry = frame.pointee.batch.first, !admits(frame.pointee.mode, entry) { keepFirst(frame) }
      return frame.pointee.batch.first?.node.map { $0.pointee.item.isOf(host) } ?? false
    default: return false
    }
  }

  // MARK: What follows

  /// What was handed out is over. failed: 0, or which of it the host has not completed.
  @inline(__always)
  func endHandedOut(_ frame: Frame.Pointer, failed: Int) {
    // An item needs nothing here.
    if frame.pointee.callout.item == nil { endQueued(frame, failed: failed) }
    if failed != 0 { fail() }
  }

  @inline(never)
  private func endQueued(_ frame: Frame.Pointer, failed: Int) {
    if frame.pointee.callout.kind == .block { endBlocks(frame, failed == 0 ? .all : .upTo(failed)) }
    if failed == 0, let job = frame.pointee.callout.job { _ = job.pointee.handOut?(job, Job.Ask.complete, nil, nil) }
  }

  /// Which of the blocks that were handed out a host has completed.
  enum Completed {
    case all
    case none
    /// All before this one, which it has not; those behind it have not begun.
    case upTo(Int)
  }

  /// The blocks that were handed out last are over, or go back to their queue.
  func endBlocks(_ frame: Frame.Pointer, _ completed: Completed) {
    if frame.pointee.handedCount == 0, case .all = completed {
      // The next step ends it.
      frame.pointee.callout.block.node?.pointee.item.complete()
      return
    }
    endSeveral(frame, completed)
  }

  @inline(never)
  private func endSeveral(_ frame: Frame.Pointer, _ completed: Completed) {
    let count = frame.pointee.handedCount &+ 1
    var begun = count
    var failed = 0
    if case .upTo(let number) = completed { (begun, failed) = (number, number) }
    if case .none = completed { failed = -1 }
    let end = frame.pointee.batch.index
    frame.pointee.handedCount = 0
    frame.pointee.callout.clear()
    frame.pointee.batch.putBack(count &- begun)
    for place in 0..<count {
      guard let node = frame.pointee.batch.entries[end &- count &+ place]?.node else { continue }
      if place < begun {
        if failed >= 0 && place &+ 1 != failed { node.pointee.item.complete() }
        BlockNode.free(node)
      } else {
        node.pointee.item.putBack()
      }
    }
  }

  /// The callout is an event of a host that is not called, and this run is none of its own: it stays where it is, for
  /// the host to fetch it, and the run ends, which says so.
  @inline(never)
  func leaveToHost(_ frame: Frame.Pointer) {
    settle(frame, .leftToHost)
    fail()
    frame.pointee.result = Status.state
  }
}
