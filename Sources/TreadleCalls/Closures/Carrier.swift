// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
import TreadleBase

/// What carries a closure's calls to a loop: its own memory, with a reference to the loop until the closure is drained.
struct Carrier: ~Copyable {
  /// First, where leak checkers find what is left in the child of a fork.
  var left: UnsafeMutableRawPointer?
  let loop: Loop
  let wait: CarriedCall.Wait
  /// Copies of the names, in memory of their own; nil: the common modes and the call mode.
  let modes: ModeNames?
  let timeout: Int64
  let whenFull: CarrierPlan.WhenFull
  /// Where the memory of calls comes from.
  let store: CallStore.Pointer
  /// Guards the rest.
  let gate: Gate
  var queue: HoppedQueue
  /// The closure's scope is closed: no other call is queued.
  var isEnded = false

  typealias Pointer = UnsafeMutablePointer<Carrier>

  static func make(_ plan: CarrierPlan, _ signature: Signature) throws(Failure) -> Pointer {
    let modes = try copy(plan.modes)
    guard let store = CallStore.make(blockSize: HoppedCall.size(signature)) else {
      treadle_system_free(UnsafeMutableRawPointer(mutating: modes?.baseAddress))
      throw Failure.noMemory("closure")
    }
    guard let memory = treadle_system_allocate(MemoryLayout<Carrier>.size) else {
      CallStore.close(store)
      treadle_system_free(UnsafeMutableRawPointer(mutating: modes?.baseAddress))
      throw Failure.noMemory("closure")
    }
    let carrier = memory.bindMemory(to: Carrier.self, capacity: 1)
    plan.loop.holdAgain()
    carrier.initialize(
      to: Carrier(
        left: nil, loop: plan.loop, wait: plan.wait, modes: modes, timeout: plan.timeout, whenFull: plan.whenFull,
        store: store, gate: Gate(), queue: HoppedQueue(limit: plan.limit)))
    return carrier
  }

  /// The names and the list of them, in one block.
  private static func copy(_ modes: ModeNames?) throws(Failure) -> ModeNames? {
    guard let modes else { return nil }
    var size = 0
    for name in modes {
      guard let name else { throw Failure(Status.argument, "modes", "contains NULL") }
      size &+= strlen(name) &+ 1
    }
    let listSize = modes.count &* MemoryLayout<UnsafePointer<CChar>?>.stride
    guard let memory = treadle_system_allocate(listSize &+ size) else { throw Failure.noMemory("modes") }
    let list = memory.bindMemory(to: UnsafePointer<CChar>?.self, capacity: modes.count)
    var text = memory + listSize
    var next = list
    for name in modes {
      guard let name else { continue }
      let length = strlen(name) &+ 1
      text.copyMemory(from: name, byteCount: length)
      next.initialize(to: UnsafePointer(text.assumingMemoryBound(to: CChar.self)))
      next += 1
      text += length
    }
    return ModeNames(start: list, count: modes.count)
  }

  /// Gives the loop up: no call will come.
  static func end(_ carrier: Pointer) { carrier.pointee.loop.letGo() }

  static func free(_ carrier: Pointer) {
    CallStore.close(carrier.pointee.store)
    treadle_system_free(UnsafeMutableRawPointer(mutating: carrier.pointee.modes?.baseAddress))
    treadle_system_free(carrier)
  }

  /// Ends all calls that have not begun; from here on none is queued.
  static func endWaiting(_ carrier: Pointer) {
    carrier.pointee.gate.lock()
    carrier.pointee.isEnded = true
    carrier.pointee.gate.unlock()
    var patience = Patience()
    while let call = holdFirst(carrier) {
      // One that is about to be queued, or to begin, is so on a thread that does nothing else meanwhile.
      if call.phase == CarriedCall.Phase.idle || !call.cancel() { patience.wait() }
      call.release()
    }
  }

  private static func holdFirst(_ carrier: Pointer) -> CarriedCall? {
    carrier.pointee.gate.lock()
    defer { carrier.pointee.gate.unlock() }
    guard let first = carrier.pointee.queue.first else { return nil }
    let call = HoppedCall.carried(first)
    call.retain()
    return call
  }

  static func waitingCount(_ carrier: Pointer) -> UInt32 {
    carrier.pointee.gate.lock()
    defer { carrier.pointee.gate.unlock() }
    return carrier.pointee.queue.waiting
  }
}
