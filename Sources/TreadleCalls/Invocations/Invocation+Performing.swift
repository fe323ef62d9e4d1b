// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleCore
package import TreadleBase

/// Calling the function, here or elsewhere.
extension Invocation {
  /// Where a call is performed.
  package enum Target {
    case caller
    case loop(Loop)
    case thread(Thread)
  }

  /// As `CarriedCall.perform`: what it returns, and what an error says. The completion is the call's unless this
  /// throws.
  package func perform(
    on target: Target, modes: ModeNames?, wait: CarriedCall.Wait, timeout: Int64, completion: LaterRequest?
  ) throws(Failure) -> Int32 {
    guard let call = InvocationCall.make(self, completion: completion, isWaited: wait != .none) else {
      throw Failure.noMemory("invocation")
    }
    defer { call.release() }
    try begin(call)
    do throws(Failure) {
      let result = try carry(call, to: target, modes, wait, timeout)
      // A time may have passed, and the function have returned since: then it was waited for.
      return wait != .none && finishWait(call) ? Status.ok : result
    } catch {
      takeBack(call)
      throw error
    }
  }

  private func carry(
    _ call: CarriedCall, to target: Target, _ modes: ModeNames?, _ wait: CarriedCall.Wait, _ timeout: Int64
  ) throws(Failure) -> Int32 {
    switch target {
    case .loop(let loop):
      return try call.perform(on: loop, modes: modes, wait: wait, timeout: timeout)
    case .thread(let thread) where wait == .none || !thread.isCurrent:
      let loop = try thread.holdLoopForCalls()
      defer { loop.letGo() }
      return try call.perform(on: loop, modes: modes, wait: wait, timeout: timeout)
    default:
      if wait != .none { return try call.performDirectly(on: nil) }
      return try call.perform(on: try Loop.current(), modes: modes, wait: wait, timeout: timeout)
    }
  }

  /// Makes the call the one that is on its way, with a reference.
  private func begin(_ call: CarriedCall) throws(Failure) {
    body.pointee.mutex.lock(.invocation)
    defer { body.pointee.mutex.unlock(.invocation) }
    if body.pointee.isEnded { throw Scope.closedFailure }
    if body.pointee.call != nil { throw Invocation.isBusy }
    call.retain()
    body.pointee.call = call
  }

  /// It was refused: the invocation is as before.
  private func takeBack(_ call: CarriedCall) {
    body.pointee.mutex.lock(.invocation)
    InvocationCall.of(call).pointee.completion = nil
    body.pointee.call = nil
    body.pointee.mutex.unlock(.invocation)
    call.release()
  }

  /// The call is over, and the invocation may be performed again. The lock is held; the call's reference passes to
  /// the caller.
  func settle(_ phase: UInt32) {
    body.pointee.phase = phase
    body.pointee.call = nil
  }

  /// Who waited takes what the call gave back, or leaves it to end by itself: whoever comes first under the lock, he or
  /// the call's end, decides. True if the function has returned.
  @discardableResult
  private func finishWait(_ call: CarriedCall, writesBack: Bool = true) -> Bool {
    let state = InvocationCall.of(call)
    body.pointee.mutex.lock(.invocation)
    let outcome = state.pointee.outcome
    state.pointee.isWaited = false
    body.pointee.mutex.unlock(.invocation)
    if outcome == CarriedCall.Phase.idle { return false }
    if outcome == CarriedCall.Phase.done && writesBack {
      for index in 0..<signature.argumentCount { body.pointee.buffers[index].writeBack() }
    }
    body.pointee.mutex.lock(.invocation)
    settle(outcome)
    body.pointee.mutex.unlock(.invocation)
    call.release()
    return outcome == CarriedCall.Phase.done
  }

  /// Who waited is gone, with his stack: what `perform` and its caller held is given back for them.
  func abandonWait(for call: CarriedCall) {
    finishWait(call, writesBack: false)
    call.release()
    drop()
  }

  /// The function is called, by whatever thread performs the call.
  func callFunction() {
    let body = self.body
    var call = InvocationFrame(body: body, outer: treadle_system_thread().pointee.invocation_call)
    withUnsafeMutablePointer(to: &call) { record in
      treadle_system_thread().pointee.invocation_call = UnsafeMutableRawPointer(record)
      body.pointee.signature.call(body.pointee.code, body.pointee.frame, result: body.pointee.result)
      body.pointee.errno = treadle_system_errno()
      treadle_system_thread().pointee.invocation_call = record.pointee.outer
    }
  }

  /// Its scope is closed: a call that has not begun never does, and no client owns it any more. True if its function is
  /// on the calling thread's stack.
  package static func endInScope(_ handle: Handle) throws(Failure) -> Bool {
    let invocation = try retained(handle.bits)
    defer { invocation.drop() }
    invocation.awaitEnd()
    invocation.droppedIfThreadEnds { invocation.endCalls() }
    invocation.abandonClients()
    return InvocationFrame.isOnThisThread(invocation.body)
  }

  /// From here on it is not performed.
  private func endCalls() {
    body.pointee.mutex.lock(.invocation)
    body.pointee.isEnded = true
    body.pointee.mutex.unlock(.invocation)
    var patience = Patience()
    while let call = holdCall() {
      defer { call.release() }
      if call.phase != CarriedCall.Phase.idle {
        _ = call.cancelHeld()
        return
      }
      // One that is about to be queued, or to begin, is so on a thread that does nothing else meanwhile.
      patience.wait()
    }
  }

  /// Whether its function is on the calling thread's stack.
  package static func isHere(_ handle: Handle) -> Bool {
    guard let memory = Slab(.invocation).find(handle) else { return false }
    return InvocationFrame.isOnThisThread(Invocation(pointer: memory).body)
  }
}

/// A call of an invocation's function that is on a thread's stack.
private struct InvocationFrame {
  let body: UnsafeMutablePointer<InvocationBody>
  let outer: UnsafeMutableRawPointer?

  static func isOnThisThread(_ body: UnsafeMutablePointer<InvocationBody>) -> Bool {
    var next = treadle_system_thread().pointee.invocation_call?.assumingMemoryBound(to: InvocationFrame.self)
    while let call = next {
      if call.pointee.body == body { return true }
      next = call.pointee.outer?.assumingMemoryBound(to: InvocationFrame.self)
    }
    return false
  }
}

extension Invocation {
  // MARK: The state

  /// False when no call is queued.
  package func cancel() -> Bool {
    guard let call = holdCall() else { return false }
    defer { call.release() }
    return call.cancelHeld()
  }

  /// The call that is on its way, held.
  private func holdCall() -> CarriedCall? {
    body.pointee.mutex.lock(.invocation)
    defer { body.pointee.mutex.unlock(.invocation) }
    body.pointee.call?.retain()
    return body.pointee.call
  }

  /// `CarriedCall.Phase`.
  package var phase: UInt32 {
    body.pointee.mutex.lock(.invocation)
    defer { body.pointee.mutex.unlock(.invocation) }
    return lockedPhase
  }

  /// The caller holds the lock.
  var lockedPhase: UInt32 {
    guard let call = body.pointee.call else { return body.pointee.phase }
    switch call.phase {
    // Not in the queue yet: nothing has happened so far.
    case CarriedCall.Phase.idle: return body.pointee.phase
    case CarriedCall.Phase.queued: return CarriedCall.Phase.queued
    default: return CarriedCall.Phase.running
    }
  }
}
