// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A queued function. A plain post is the function and its info; anything else is a node on the heap, of
/// which `info` is the address and `code` is nil.
struct BlockEntry {
  var code: UnsafeMutableRawPointer?
  var info: UnsafeMutableRawPointer?

  var node: UnsafeMutablePointer<BlockNode>? {
    code == nil ? info?.assumingMemoryBound(to: BlockNode.self) : nil
  }
}

/// A block with modes of its own, or a destroy function, or a callback that is not a plain function.
package struct BlockNode {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

  var code: UnsafeMutableRawPointer?
  var indirect: IndirectCallback
  var info: UnsafeMutableRawPointer?
  var destroy: Function?
  var token: UInt64
  var retire: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)?
  var host: UnsafeMutableRawPointer?
  /// A host's event uses its token up: it is retired only if there was none, or the host did not complete it.
  var isUsedUp = false
  /// Slots of the modes that admit it; the loop's record stands for the common modes. Empty: those.
  var modes = Buffer<UInt32>()

  package init(
    code: UnsafeMutableRawPointer?, indirect: IndirectCallback, info: UnsafeMutableRawPointer?, destroy: Function?
  ) {
    self.code = code
    self.indirect = indirect
    self.info = info
    self.destroy = destroy
    token = 0
    retire = nil
    host = nil
  }

  /// A host's block: the events carry the token, which is retired at the end.
  init(host: Host, token: UInt64) {
    self.init(code: nil, indirect: host.callback, info: nil, destroy: nil)
    self.token = token
    self.host = host.pointer
    retire = Host.retireToken
  }

  /// Whether it is called through this very host.
  func isCalled(by host: Host) -> Bool { indirect.object == host.pointer && indirect.direct == nil }

  /// Its host has completed it.
  @inline(__always)
  mutating func complete() {
    if isUsedUp { retire = Host.useToken }
  }

  /// The end of a block that ran, or never will: its info goes back, once.
  mutating func dispose() {
    retire?(host, token)
    destroy?(info)
    indirect.drop?(indirect.object)
    modes.free()
  }

  static func free(_ node: UnsafeMutablePointer<BlockNode>) {
    var last = node.pointee
    treadle_system_free(node)
    last.dispose()
  }
}

/// Queueing blocks, from any thread (§9 of the rules).
extension Loop {
  /// Queues a plain function for the common modes, and wakes the loop; the handle is the client's, who need not hold
  /// the loop. Without a function, `info` is a node, which is taken over only on success.
  package static func post(
    _ handle: UInt, _ code: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Int32 {
    let loop = try Loop(handle, "loop")
    if loop.queue(handle, code, info) { return Status.ok }
    throw loop.isMeant(by: handle) ? Failure.noMemory("block") : Failure(Status.closed, "loop", "has lost its thread")
  }

  /// The same without a reason, where nothing is queued.
  @inline(__always)
  package static func postQuickly(
    _ handle: UInt, _ code: UnsafeMutableRawPointer, _ info: UnsafeMutableRawPointer?
  ) -> Bool {
    guard let memory = Slab(.loop).find(Handle(bits: handle)) else { return false }
    return Loop(memory).queue(handle, code, info)
  }

  @inline(__always)
  private func queue(_ handle: UInt, _ code: UnsafeMutableRawPointer?, _ info: UnsafeMutableRawPointer?) -> Bool {
    let isForeign = !isCurrent
    state.pointee.gate.lock()
    // Looked at here, since a thread that exits takes the gate for the last time after it said so.
    let isQueued = isMeant(by: handle) && state.pointee.incoming.append(BlockEntry(code: code, info: info))
    var sleep = Sleep.awake
    if isQueued {
      state.pointee.incomingCount.store(1, ordering: .releasing)
      if isForeign {
        state.pointee.incoming.prefetchForAppending()
        noteCaller()
      }
      sleep = markWoken()
    }
    state.pointee.gate.unlock()
    if sleep != Sleep.awake { endSleep(sleep) }
    return isQueued
  }

  /// Whether the handle's loop has its thread still. A loop that came after it in the same slot was given its number
  /// before its thread.
  @inline(__always)
  private func isMeant(by handle: UInt) -> Bool {
    isAlive && state.pointee.reference.generation == Handle(bits: handle).generation
  }

  /// Queues a block for some modes, without waking the loop (BLK-2). Takes the block over only on success.
  package func perform(_ block: BlockNode, modes: UnsafeBufferPointer<UnsafePointer<CChar>?>) throws(Failure) -> Int32 {
    var block = block
    do throws(Failure) {
      if !isAlive {
        block.dispose()
        return Status.ignored
      }
      if !modes.isEmpty {
        try withLock { () throws(Failure) in try appendSlots(of: modes, to: &block.modes, "block") }
      }
      guard let memory = treadle_system_allocate(MemoryLayout<BlockNode>.size) else { throw Failure.noMemory("block") }
      let node = memory.bindMemory(to: BlockNode.self, capacity: 1)
      node.initialize(to: block)
      state.pointee.gate.lock()
      let isAlive = self.isAlive
      let isQueued = isAlive && state.pointee.incoming.append(BlockEntry(code: nil, info: memory))
      if isQueued { state.pointee.incomingCount.store(1, ordering: .releasing) }
      state.pointee.gate.unlock()
      if isQueued { return Status.ok }
      if !isAlive {
        BlockNode.free(node)
        return Status.ignored
      }
      treadle_system_free(memory)
      throw Failure.noMemory("block")
    } catch {
      block.modes.free()
      throw error
    }
  }

  /// At the end of the thread: what is queued is discarded (RL-8).
  @_optimize(size)
  func discardBlocks() {
    while true {
      state.pointee.gate.lock()
      var discarded = state.pointee.incoming
      state.pointee.incoming = Buffer()
      state.pointee.incomingCount.store(0, ordering: .releasing)
      state.pointee.gate.unlock()
      var older = state.pointee.deferred
      state.pointee.deferred = Buffer()
      let isLast = discarded.isEmpty && older.isEmpty
      for entry in older.elements { if let node = entry.node { BlockNode.free(node) } }
      for entry in discarded.elements { if let node = entry.node { BlockNode.free(node) } }
      older.free()
      discarded.free()
      if isLast { return }
    }
  }

  /// Whether a mode admits a block now (BLK-4).
  @inline(__always)
  func admits(_ mode: Mode, _ entry: BlockEntry) -> Bool {
    guard let node = entry.node else { return mode.state.pointee.isCommon }
    return node.pointee.modes.isEmpty ? mode.state.pointee.isCommon : names(node.pointee.modes, mode)
  }

  /// Whether a queued block is eligible in the mode: such a mode is not empty (MODE-7, BLK-6). Owner.
  func hasEligibleBlock(_ mode: Mode) -> Bool {
    state.pointee.gate.lock()
    var found = false
    for entry in state.pointee.incoming.elements where admits(mode, entry) { found = true }
    state.pointee.gate.unlock()
    if found { return true }
    for entry in state.pointee.deferred.elements where admits(mode, entry) { return true }
    var frame = state.pointee.frame
    while let outer = frame {
      var index = outer.pointee.batchIndex
      while let entry = outer.pointee.batch[index] {
        if admits(mode, entry) { return true }
        index &+= 1
      }
      frame = outer.pointee.outer
    }
    return false
  }
}
