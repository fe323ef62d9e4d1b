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
      var block = block(token)
      block.retireUsed = Host.useToken
      guard let node = BlockNode.allocate(block) else { throw Failure.noMemory("block") }
      do throws(Failure) {
        return try Loop.post(handle, node)
      } catch {
        treadle_system_free(node)
        throw error
      }
    }
  }

  /// A block that is an event of the host, with the token that is retired at its end.
  func block(_ token: UInt64) -> BlockNode {
    var block = BlockNode(code: nil, indirect: callback, info: nil, destroy: nil)
    block.token = token
    block.host = pointer
    block.retire = Host.retireToken
    return block
  }

  /// The host has completed the calling thread's innermost event. If what the run would do next is to tell this host
  /// of another one of the same kind, that begins here, without a return to the run: nothing that the run does
  /// in between is left out, and nobody else is called. Its token, or 0.
  package static func next() -> UInt64 {
    guard let call = treadle_system_thread().pointee.host_call?.assumingMemoryBound(to: Call.self),
      let frame = call.pointee.frame, let memory = call.pointee.event,
      let loop = Loop.existing, loop.frame == frame
    else { return 0 }
    if Host(call.pointee.host).isClosed || loop.mustEnd(frame) { return 0 }
    let event = memory.assumingMemoryBound(to: Event.self)
    guard loop.nextOfHost(frame, call.pointee.host) else { return 0 }
    if let item = frame.pointee.callout.item, let context = item.context {
      event.pointee.subject = UnsafeMutableRawPointer(item.handlePointer)
      event.pointee.token = context.pointee.token
    } else if let node = frame.pointee.callout.block.node {
      event.pointee.token = node.pointee.token
    }
    return event.pointee.token
  }
}
