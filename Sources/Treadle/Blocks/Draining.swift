// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// Draining the queue of blocks (BLK-5): what is queued now is taken, and run in order as far as the mode
/// admits it; what it does not admit waits ahead of everything queued meanwhile.
extension Loop {
  /// The next block of the drain, in the frame's callout; false at its end. Owner.
  @inline(__always)
  func nextBlock(_ frame: UnsafeMutablePointer<Frame>, at step: Frame.Step) -> Bool {
    if !frame.pointee.isDraining && state.pointee.incomingCount.load(ordering: .acquiring) == 0
      && state.pointee.deferred.isEmpty
    {
      return false
    }
    frame.pointee.step = step
    return drainNext(frame)
  }

  private func drainNext(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if !frame.pointee.isDraining { takeBlocks(frame) }
    let mode = frame.pointee.mode
    while let entry = frame.pointee.batch[frame.pointee.batchIndex] {
      frame.pointee.batchIndex &+= 1
      if admits(mode, entry) {
        frame.pointee.callout.setBlock(entry)
        return true
      }
      keep(entry, frame)
    }
    endDrain(frame)
    return false
  }

  /// The block that comes next in the drain, in the frame's callout, if it is the host's, which has completed the
  /// one before it. Owner.
  func handOnBlock(_ frame: UnsafeMutablePointer<Frame>, to host: Host) -> UnsafeMutablePointer<BlockNode>? {
    while let entry = frame.pointee.batch[frame.pointee.batchIndex] {
      if !admits(frame.pointee.mode, entry) {
        frame.pointee.batchIndex &+= 1
        keep(entry, frame)
        continue
      }
      guard let node = entry.node, node.pointee.isCalled(by: host) else { return nil }
      frame.pointee.batchIndex &+= 1
      let completed = frame.pointee.callout.block.node
      frame.pointee.callout.setBlock(entry)
      if let completed {
        completed.pointee.complete()
        BlockNode.free(completed)
      }
      return node
    }
    return nil
  }

  /// Detaches the queue: older blocks that no run was eligible for come first.
  private func takeBlocks(_ frame: UnsafeMutablePointer<Frame>) {
    frame.pointee.isDraining = true
    frame.pointee.batchIndex = 0
    state.pointee.gate.lock()
    noteTaken(state.pointee.incoming.count)
    if state.pointee.deferred.isEmpty {
      frame.pointee.batch = state.pointee.incoming
      state.pointee.incoming = state.pointee.spare
      state.pointee.spare = Buffer()
      state.pointee.incomingCount.store(0, ordering: .releasing)
    } else {
      frame.pointee.batch = state.pointee.deferred
      state.pointee.deferred = Buffer()
      // Without memory to join the two, the newer ones wait for the next drain.
      if frame.pointee.batch.reserve(frame.pointee.batch.count &+ state.pointee.incoming.count) {
        for entry in state.pointee.incoming.elements { _ = frame.pointee.batch.append(entry) }
        state.pointee.incoming.removeAll()
        state.pointee.incomingCount.store(0, ordering: .releasing)
      }
    }
    state.pointee.gate.unlock()
  }

  private func keep(_ entry: BlockEntry, _ frame: UnsafeMutablePointer<Frame>) {
    // Reuses the part of the batch that has been passed: it is always long enough.
    frame.pointee.batch.set(frame.pointee.keptCount, entry)
    frame.pointee.keptCount &+= 1
  }

  private func endDrain(_ frame: UnsafeMutablePointer<Frame>) {
    frame.pointee.isDraining = false
    var batch = frame.pointee.batch
    frame.pointee.batch = Buffer()
    frame.pointee.batchIndex = 0
    if frame.pointee.keptCount > 0 {
      batch.truncate(frame.pointee.keptCount)
      frame.pointee.keptCount = 0
      deferAhead(batch)
    } else {
      recycle(batch)
    }
  }

  /// The entries go ahead of what has been deferred meanwhile, by a nested run.
  private func deferAhead(_ entries: Buffer<BlockEntry>) {
    var entries = entries
    var newer = state.pointee.deferred
    for entry in newer.elements where !entries.append(entry) {
      // Out of memory: the block cannot be kept, but its info goes back.
      if let node = entry.node { BlockNode.free(node) }
    }
    newer.free()
    state.pointee.deferred = entries
  }

  private func recycle(_ buffer: Buffer<BlockEntry>) {
    var buffer = buffer
    buffer.removeAll()
    var old = state.pointee.spare
    old.free()
    state.pointee.spare = buffer
  }

  /// A run that ends in the middle of a drain: what it did not reach stays queued (host failure).
  func abandonDrain(_ frame: UnsafeMutablePointer<Frame>) {
    if !frame.pointee.isDraining { return }
    while let entry = frame.pointee.batch[frame.pointee.batchIndex] {
      frame.pointee.batchIndex &+= 1
      keep(entry, frame)
    }
    endDrain(frame)
  }
}
