// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
import TreadleBase

/// What a carried call of an invocation has in its room.
struct InvocationCall {
  /// With a reference.
  let invocation: UnsafeMutableRawPointer
  /// What the end of the call is told to; taken by who is first to end it.
  var completion: LaterRequest?
  /// Somebody waits, and finishes the call for the invocation. The invocation's lock.
  var isWaited: Bool
  /// What it came to, for who waits; idle before. The invocation's lock.
  var outcome = CarriedCall.Phase.idle

  static func make(_ invocation: Invocation, completion: LaterRequest?, isWaited: Bool) -> CarriedCall? {
    guard let memory = treadle_system_allocate(CarriedCall.size(room: MemoryLayout<InvocationCall>.size)) else {
      return nil
    }
    let call = CarriedCall.make(
      in: memory,
      body: { room, _ in
        InvocationCall.invocation(room).callFunction()
        return true
      }, end: { room, phase in InvocationCall.end(room, phase) },
      free: { room, memory in
        let invocation = InvocationCall.invocation(room)
        treadle_system_free(memory)
        // Last, since it may end the thread.
        invocation.drop()
      },
      abandon: { room in
        InvocationCall.invocation(room).abandonWait(for: CarriedCall.withRoom(room))
      })
    invocation.holdAgain()
    call.room.bindMemory(to: InvocationCall.self, capacity: 1).initialize(
      to: InvocationCall(invocation: invocation.pointer, completion: completion, isWaited: isWaited))
    return call
  }

  static func of(_ call: CarriedCall) -> UnsafeMutablePointer<InvocationCall> {
    call.room.assumingMemoryBound(to: InvocationCall.self)
  }

  private static func invocation(_ room: UnsafeMutableRawPointer) -> Invocation {
    Invocation(pointer: room.assumingMemoryBound(to: InvocationCall.self).pointee.invocation)
  }

  private static func end(_ room: UnsafeMutableRawPointer, _ phase: UInt32) {
    let state = room.assumingMemoryBound(to: InvocationCall.self)
    let invocation = invocation(room)
    let call = CarriedCall.withRoom(room)
    invocation.body.pointee.mutex.lock(.invocation)
    let completion = state.pointee.completion
    state.pointee.completion = nil
    state.pointee.outcome = phase
    let isFinal = !state.pointee.isWaited
    if isFinal { invocation.settle(phase) }
    invocation.body.pointee.mutex.unlock(.invocation)
    if isFinal { call.release() }
    completion?.post()
  }
}
