// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// Draining the queue of blocks (BLK-5): what is queued now is taken, and run in order as far as the mode admits it; what it
/// does not admit waits ahead of everything queued meanwhile.
extension Loop {
  @inline(__always)
  func openBlocks(_ frame: Frame.Pointer) -> Bool {
    state.pointee.pending.load(ordering: .acquiring) & LoopState.Pending.blocks != 0 && takeBlocks(frame)
  }

  /// Detaches the queue: older blocks that no run was eligible for come first.
  @inline(never)
  private func takeBlocks(_ frame: Frame.Pointer) -> Bool {
    state.pointee.gate.lock()
    noteTaken(state.pointee.incoming.count)
    var taken = state.pointee.deferred
    if taken.isEmpty {
      swap(&taken, &state.pointee.incoming)
      swap(&state.pointee.incoming, &state.pointee.spare)
    } else if taken.reserve(taken.count &+ state.pointee.incoming.count) {
      for entry in state.pointee.incoming.elements { _ = taken.appendInRoom(entry) }
      state.pointee.incoming.removeAll()
    }
    // Without memory to join the two, the newer ones wait for the next drain.
    if state.pointee.incoming.isEmpty { forgetPending(LoopState.Pending.blocks) }
    state.pointee.gate.unlock()
    state.pointee.deferred = Buffer()
    swap(&taken, &frame.pointee.batch.entries)
    recycle(taken)
    frame.pointee.batch.open(.blocks)
    return true
  }

  /// The next block of the drain, or its end.
  @inline(__always)
  func nextBlock(_ frame: Frame.Pointer) -> Bool {
    if frame.pointee.callout.kind == .block { settleBlock(frame) }
    while !mustEnd(frame), let entry = frame.pointee.batch.first {
      if admits(frame.pointee.mode, entry) {
        frame.pointee.batch.skip()
        frame.pointee.callout.set(entry)
        return true
      }
      frame.pointee.batch.keepFirst()
    }
    endDrain(frame)
    return closeBatch(frame)
  }

  @inline(__always)
  private func settleBlock(_ frame: Frame.Pointer) {
    frame.pointee.callout.clear()
    if let node = frame.pointee.callout.block.node { BlockNode.free(node) }
  }

  /// What the drain has not run goes ahead of what has been queued since, and of what a nested run has put off.
  func endDrain(_ frame: Frame.Pointer) {
    while !frame.pointee.batch.isEmpty { frame.pointee.batch.keepFirst() }
    frame.pointee.batch.entries.truncate(frame.pointee.batch.keptCount)
    if frame.pointee.batch.keptCount == 0 { return }
    var newer = state.pointee.deferred
    state.pointee.deferred = Buffer()
    swap(&state.pointee.deferred, &frame.pointee.batch.entries)
    for entry in newer.elements where !state.pointee.deferred.append(entry) {
      // Out of memory: the block cannot be kept, but its info goes back.
      if let node = entry.node { BlockNode.free(node) }
    }
    newer.free()
    state.pointee.gate.lock()
    notePending(LoopState.Pending.blocks)
    state.pointee.gate.unlock()
  }

  /// An empty room, for the next queue.
  private func recycle(_ buffer: Buffer<Entry>) {
    var buffer = buffer
    buffer.removeAll()
    if state.pointee.spare.capacity < buffer.capacity { swap(&buffer, &state.pointee.spare) }
    buffer.free()
  }

  /// Whether a queued block is eligible in the mode: such a mode is not empty (MODE-7, BLK-6).
  @inline(__always)
  func hasEligibleBlock(_ mode: Mode) -> Bool {
    if state.pointee.pending.load(ordering: .acquiring) & LoopState.Pending.blocks != 0 && findQueuedBlock(mode) { return true }
    var frame = self.frame
    while let run = frame {
      if run.pointee.batch.kind == .blocks {
        for entry in run.pointee.batch.entries.elements.dropFirst(run.pointee.batch.index) where admits(mode, entry) { return true }
      }
      frame = run.pointee.outer
    }
    return false
  }

  @inline(never)
  private func findQueuedBlock(_ mode: Mode) -> Bool {
    for entry in state.pointee.deferred.elements where admits(mode, entry) { return true }
    state.pointee.gate.lock()
    defer { state.pointee.gate.unlock() }
    for entry in state.pointee.incoming.elements where admits(mode, entry) { return true }
    return false
  }
}
