// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// Many small events of a host: quickly queued, and handed out at one call.
extension Host {
  /// Queues a block for the common modes and wakes the loop, as `Loop.post` does. Its token is retired only if it never runs, or the
  /// host does not complete it.
  @_optimize(size)
  package func post(_ token: UInt64, on handle: UInt) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      guard let memory = treadle_system_allocate(MemoryLayout<BlockNode>.size) else { throw Failure.noMemory("block") }
      let node = memory.bindMemory(to: BlockNode.self, capacity: 1)
      node.initialize(to: BlockNode(host: self, token: token))
      node.pointee.isUsedUp = true
      do throws(Failure) {
        return try Loop.post(handle, nil, memory)
      } catch {
        treadle_system_free(memory)
        throw error
      }
    }
  }

  /// The host has completed the calling thread's innermost event. If what the run would do next is to tell this host
  /// of another one of the same kind, that begins here, without a return to the run: nothing that the run does
  /// in between is left out, and nobody else is called. Its token, or 0.
  package static func next() -> UInt64 {
    guard let call = treadle_system_thread().pointee.host_call?.assumingMemoryBound(to: Call.self),
      let frame = call.pointee.frame, let memory = call.pointee.event,
      let loop = Loop.existing, loop.state.pointee.frame == frame
    else { return 0 }
    let host = Host(call.pointee.host)
    if host.isClosed || loop.mustEnd(frame) { return 0 }
    let event = memory.assumingMemoryBound(to: Event.self)
    switch (event.pointee.kind, frame.pointee.callout.kind) {
    case (Event.Kind.perform, .source), (Event.Kind.perform, .sourceInHand):
      guard let item = loop.handOnSource(frame, to: host), let context = item.context else { return 0 }
      event.pointee.subject = UnsafeMutableRawPointer(item.handlePointer)
      event.pointee.token = context.pointee.token
    case (Event.Kind.block, .block):
      guard let node = loop.handOnBlock(frame, to: host) else { return 0 }
      event.pointee.token = node.pointee.token
    default: return 0
    }
    return event.pointee.token
  }
}

extension Item {
  /// Whether its main callback is this very host's.
  func isCalled(by host: Host) -> Bool {
    guard hasFlag(Flag.indirect), let context else { return false }
    return context.pointee.main.object == host.pointer && context.pointee.main.direct == nil
  }
}
