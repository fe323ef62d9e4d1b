// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// The memory of a call that is carried to a loop, before that of its owner (`CarriedCall.room`).
struct CarriedCallState: ~Copyable {
  /// First: the loop's queue knows the call by it.
  var job: Job
  /// Over, and everybody told.
  let completion: Completion
  /// How many keep the memory: its owner, the queue, whoever waits.
  let references: Atomic<UInt32>
  /// The life of the process that it was made in: the child of a fork leaves its parent's calls alone.
  let tag: UInt32
  /// What the client's function is, and what belongs to it. Constant.
  let body: CarriedCall.Body
  let end: CarriedCall.End
  let free: CarriedCall.Free
  let abandon: CarriedCall.Abandon
  /// The loop in whose queue it is, or was. Written before it is queued. Loops' memory stays, and a loop that came after it
  /// does not know the call.
  var loop: UnsafeMutablePointer<LoopState>?
  /// What the wait graph knows of the wait. Written before it is queued.
  var token = WaitToken()
  /// Here, and not on the waiter's stack, since its thread may end inside of the run that waits. Wait gate.
  var edge = WaitEdge()
  /// The loop, with a reference, that its waiter runs meanwhile. Whoever takes it out drops the reference.
  let waitingLoop: Atomic<UnsafeMutablePointer<LoopState>?>

  init(
    tag: UInt32, body: @escaping CarriedCall.Body, end: @escaping CarriedCall.End, free: @escaping CarriedCall.Free,
    abandon: @escaping CarriedCall.Abandon
  ) {
    job = Job(perform: CarriedCall.performJob, finish: CarriedCall.finishJob, isForCallMode: true)
    completion = Completion()
    references = Atomic(1)
    self.tag = tag
    self.body = body
    self.end = end
    self.free = free
    self.abandon = abandon
    loop = nil
    waitingLoop = Atomic(nil)
  }
}
