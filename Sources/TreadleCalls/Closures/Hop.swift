// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleCore
import TreadleBase

/// The caller's side of a closure whose calls are carried to a loop: sends a call off, and waits as the closure says.
/// The caller is inside of the stub.
struct Hop {
  let body: ClosureBody.Pointer
  let carrier: Carrier.Pointer
  private let deadline: Int64

  @inline(never)
  init(_ body: ClosureBody.Pointer, _ carrier: Carrier.Pointer) {
    self.body = body
    self.carrier = carrier
    let timeout = carrier.pointee.timeout
    deadline = timeout == 0 || timeout == Clock.forever ? Clock.forever : Clock.after(timeout, from: Clock.now())
  }

  private var waits: Bool { carrier.pointee.wait != .none }

  /// The result is the handler's if the caller waits and gets it, and the default otherwise.
  func deliver(_ arguments: UnsafePointer<UnsafeRawPointer?>?, result: UnsafeMutableRawPointer) {
    if waits && carrier.pointee.loop.belongsToCaller {
      ClosureCall.perform(body, loop: nil, arguments: arguments, result: result)
      return
    }
    ClosureBody.copyDefault(body, to: result)
    let copy = ArgumentCopy(body.pointee.signature, arguments)
    guard let call = HoppedCall.make(body, carrier, copy) else {
      drop(Failure.noMemory("call"))
      return
    }
    let entry = enter(call, copy)
    if entry == .inside && !waits {
      sendAway(call)
      return
    }
    if entry == .refused {
      HoppedCall.discard(call)
    } else if send(call) {
      if waits {
        result.copyMemory(from: call.pointee.result, byteCount: body.pointee.signature.result.layout.size)
      } else if entry == .outside {
        waitForRoom(call)
      }
    }
    HoppedCall.carried(call).release()
  }

  /// Leaves the call to the loop.
  private func sendAway(_ call: HoppedCall.Pointer) {
    announceCall()
    do throws(Failure) {
      try HoppedCall.carried(call).performAway(on: carrier.pointee.loop, modes: carrier.pointee.modes)
    } catch {
      HoppedCall.discard(call)
      drop(error)
      HoppedCall.carried(call).release()
    }
  }

  /// True when the call is done, or queued if the caller does not wait.
  private func send(_ call: HoppedCall.Pointer) -> Bool {
    announceCall()
    let outcome: Int32
    do throws(Failure) {
      outcome = try HoppedCall.carried(call).perform(
        on: carrier.pointee.loop, modes: carrier.pointee.modes, wait: carrier.pointee.wait,
        timeout: carrier.pointee.timeout)
    } catch {
      HoppedCall.discard(call)
      drop(error)
      return false
    }
    switch outcome {
    case Status.ok: return true
    case Status.timeout: giveUp()
    case Status.closed:
      LastError.record(Failure(outcome, "loop", "has ended, or treadle_shutdown was called"), in: "closure")
    default: break
    }
    return false
  }

  /// Tells a thread that closes the closure of the call, which is in the queue by now. Relaxed: that thread says that
  /// it waits, and then looks at the queue under the carrier's gate, under which the call was queued. The later of the
  /// two sees the other.
  private func announceCall() {
    if body.pointee.isAwaited.load(ordering: .relaxed) != 0 { Rest.announce() }
  }

  /// For who would not wait for the result.
  private func waitForRoom(_ call: HoppedCall.Pointer) {
    let carried = HoppedCall.carried(call)
    do throws(Failure) {
      if try !Turnstile.pass(HoppedCall.turnstile(call), of: carried, until: deadline), carried.cancel() { giveUp() }
    } catch {
      if carried.cancel() { drop(error) }
    }
  }

  private func giveUp() {
    body.pointee.timedOut.add(1, ordering: .relaxed)
    LastError.record(Failure(Status.timeout, "timeout_ns", "passed while the call waited"), in: "closure")
  }

  /// The call does not reach the handler.
  func drop(_ failure: Failure) {
    body.pointee.dropped.add(1, ordering: .relaxed)
    LastError.record(failure, in: "closure")
  }
}
