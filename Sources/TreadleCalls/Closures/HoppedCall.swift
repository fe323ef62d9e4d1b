// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleCore
import TreadleBase

/// A call of a closure that is carried to its loop: what a `CarriedCall` has room for. Behind it lie the room for the
/// result and the copy of the arguments.
///
/// It is inside of the closure's stub from when it is made until it is over.
struct HoppedCall: ~Copyable {
  /// First: where a caller that does not wait for the result waits for room.
  var turnstile: Turnstile
  let body: ClosureBody.Pointer
  let carrier: Carrier.Pointer
  let result: UnsafeMutableRawPointer
  let arguments: UnsafeMutableRawPointer
  /// Where the memory comes from; nil: it is its own, since the texts need more than the store's blocks have.
  let store: CallStore.Pointer?
  /// It came when there was no room: somebody may wait at the turnstile. Constant once it is queued.
  var isAwaitingRoom: Bool
  /// It has left the closure's queue for its handler. The loop's thread's, or of whoever has taken it out before.
  var hasBegun: Bool
  // Guarded by the carrier's gate.
  var next: Pointer?
  var previous: Pointer?
  /// It has neither begun nor ended.
  var isListed: Bool
  var hasRoom: Bool
  /// Arguments of a later call, in memory of their own, that have taken the place of its own.
  var laterArguments: UnsafeMutableRawPointer?

  typealias Pointer = UnsafeMutablePointer<HoppedCall>

  private static var resultOffset: Int { TypeLayout.align(MemoryLayout<HoppedCall>.size, to: 16) }

  /// What a call of this signature needs, without texts.
  static func size(_ signature: Signature) -> Int {
    CarriedCall.size(
      room: resultOffset &+ ForeignResult.room(for: signature.result.layout) &+ ArgumentCopy.sizeWithoutTexts(signature)
    )
  }

  /// Nil when there is no memory. The caller is inside of the stub, and gives the call's reference up.
  static func make(_ body: ClosureBody.Pointer, _ carrier: Carrier.Pointer, _ copy: ArgumentCopy) -> Pointer? {
    let resultSize = ForeignResult.room(for: body.pointee.signature.result.layout)
    let size = CarriedCall.size(room: resultOffset &+ resultSize &+ copy.size)
    let store = CallStore.fits(carrier.pointee.store, size) ? carrier.pointee.store : nil
    guard let memory = store.map({ CallStore.take($0) }) ?? treadle_system_allocate(size) else { return nil }
    let room = CarriedCall.make(in: memory, body: perform, end: end, free: free, abandon: abandon).room
    let result = room + resultOffset
    let arguments = result + resultSize
    copy.fill(arguments)
    let pointer = room.bindMemory(to: HoppedCall.self, capacity: 1)
    pointer.initialize(
      to: HoppedCall(
        turnstile: Turnstile(), body: body, carrier: carrier, result: result, arguments: arguments, store: store,
        isAwaitingRoom: false, hasBegun: false, next: nil, previous: nil, isListed: false, hasRoom: false,
        laterArguments: nil))
    body.pointee.stub.enterAgain()
    return pointer
  }

  static func carried(_ call: Pointer) -> CarriedCall { CarriedCall.withRoom(UnsafeMutableRawPointer(call)) }
  static func turnstile(_ call: Pointer) -> Turnstile.Pointer {
    UnsafeMutableRawPointer(call).assumingMemoryBound(to: Turnstile.self)
  }

  // MARK: The loop's side

  /// On the loop's thread. A handler that fails ends no run: its caller has the default result.
  private static let perform: CarriedCall.Body = { room, loop in
    let call = room.assumingMemoryBound(to: HoppedCall.self)
    let arguments = leaveQueue(call) ?? call.pointee.arguments
    call.pointee.hasBegun = true
    ClosureCall.perform(
      call.pointee.body, loop: loop,
      arguments: UnsafePointer(arguments.assumingMemoryBound(to: UnsafeRawPointer?.self)),
      result: call.pointee.result)
    return true
  }

  /// It begins, or never will: whoever has its room now goes on. The arguments that have taken the place of its own.
  @discardableResult
  static func leaveQueue(_ call: Pointer) -> UnsafeMutableRawPointer? {
    let carrier = call.pointee.carrier
    carrier.pointee.gate.lock()
    let admitted = carrier.pointee.queue.remove(call)
    if let admitted { carried(admitted).retain() }
    let arguments = call.pointee.laterArguments
    carrier.pointee.gate.unlock()
    if let admitted {
      Turnstile.open(turnstile(admitted))
      carried(admitted).release()
    }
    return arguments
  }

  /// Once, before anybody who waits goes on.
  private static let end: CarriedCall.End = { room, phase in
    let call = room.assumingMemoryBound(to: HoppedCall.self)
    let body = call.pointee.body
    if !call.pointee.hasBegun { leaveQueue(call) }
    if call.pointee.isAwaitingRoom { Turnstile.open(turnstile(call)) }
    if phase == CarriedCall.Phase.dropped { body.pointee.dropped.add(1, ordering: .relaxed) }
    if body.pointee.stub.leave() { Closure.end(body) }
  }

  /// For one that was not sent after all. The caller is inside of the stub.
  static func discard(_ call: Pointer) {
    leaveQueue(call)
    _ = call.pointee.body.pointee.stub.leave()
  }

  /// The waiting thread has ended in the run of its wait, and its stack is gone: what was held there is given back.
  private static let abandon: CarriedCall.Abandon = { room in
    let body = room.assumingMemoryBound(to: HoppedCall.self).pointee.body
    if body.pointee.stub.leave() { Closure.end(body) }
    CarriedCall.withRoom(room).release()
  }

  private static let free: CarriedCall.Free = { room, memory in
    let call = room.assumingMemoryBound(to: HoppedCall.self)
    treadle_system_free(call.pointee.laterArguments)
    // In the child of a fork the store is the parent's, and its gate may be closed for ever.
    if let store = call.pointee.store, !carried(call).isForked {
      CallStore.give(memory, to: store)
    } else {
      treadle_system_free(memory)
    }
  }
}
