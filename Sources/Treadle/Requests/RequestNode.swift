// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A request in the queue of a loop. Linked under the loop's gate while it is incoming, by the owner after.
/// The node of somebody who waits for the end lies on his stack, any other in memory of its own.
///
/// What every request needs comes first: of a plain one a loop on another processor gets one cache line.
struct RequestNode {
  var next: UnsafeMutablePointer<RequestNode>?
  /// Counts the requests of the loop; a pass performs none that came after its look (PERF-4).
  var sequence: UInt64 = 0
  /// The `SignalTime`, which decides on the turn among sources (PERF-5).
  var time: UInt64 = 0
  /// Who waits for the end, if anybody.
  var waiter: UnsafeMutablePointer<Waiter>?
  /// Without modes, the call mode admits it too.
  var isForCallMode = false
  /// It is the beginning of a carried call, which is performed and finished in its own way.
  var isCarried = false
  /// There is nothing but a function with its target and argument, for the common modes.
  var isPlain = false
  var request: Request
  /// Slots of the modes that admit it; the loop's record stands for the common modes. Empty: those.
  var modes = Buffer<UInt32>()

  static func make(_ request: Request) -> UnsafeMutablePointer<RequestNode>? {
    guard let memory = treadle_system_allocate(MemoryLayout<RequestNode>.size) else { return nil }
    let node = memory.bindMemory(to: RequestNode.self, capacity: 1)
    node.initialize(to: RequestNode(next: nil, waiter: nil, request: request))
    return node
  }

  /// Frees the memory of a request that was not taken.
  static func free(_ node: UnsafeMutablePointer<RequestNode>) {
    node.pointee.modes.free()
    if node.pointee.waiter == nil { treadle_system_free(node) }
  }

  /// Whether somebody waits for the end.
  static func isAwaited(_ node: UnsafeMutablePointer<RequestNode>) -> Bool {
    node.pointee.isCarried ? CarriedCall(node).hasWaiter : node.pointee.waiter != nil
  }

  /// On the thread that is to do it; false when a host's callback did not complete.
  static func perform(_ node: UnsafeMutablePointer<RequestNode>, on loop: Loop, mode: UnsafePointer<CChar>?) -> Bool {
    if node.pointee.isCarried { return CarriedCall(node).run(on: loop) }
    node.pointee.waiter?.pointee.edge.markBegun()
    let isComplete = node.pointee.request.perform(on: loop, mode: mode)
    if isComplete { node.pointee.request.complete() }
    return isComplete
  }

  /// The request is over: what it holds goes back, then whoever waits for it goes on, and the node with him.
  static func finish(_ node: UnsafeMutablePointer<RequestNode>, _ outcome: UInt32) {
    if node.pointee.isCarried {
      CarriedCall(node).finish(outcome == Waiter.Outcome.dropped ? CarriedCall.Phase.dropped : CarriedCall.Phase.done)
      return
    }
    let waiter = node.pointee.waiter
    if !node.pointee.isPlain {
      let request = node.pointee.request
      free(node)
      request.dispose()
    }
    if let waiter { Waiter.complete(waiter, outcome) }
  }
}
