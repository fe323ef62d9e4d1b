// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore

/// One thread that waits for the reply to one message, running its loop. On the heap, since its thread may end inside
/// of that run.
struct ReplyWait: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<ReplyWait>

  /// What the wait came to. Atomic: whoever receives the reply says so, with the port's lock held; the waiting thread
  /// looks without it.
  enum Phase {
    static let waiting: UInt32 = 0
    static let answered: UInt32 = 1
    /// The other side has gone, or its thread has ended.
    static let lost: UInt32 = 2
  }

  /// Held, both.
  let port: MessagePort
  let loop: Loop
  let phase = Atomic<UInt32>(Phase.waiting)
  // The port's lock.
  var serial: UInt32
  var next: Pointer? = nil
  /// The reply. The port's lock.
  var payload = MessagePayload()

  init(port: MessagePort, loop: Loop, serial: UInt32) {
    self.port = port
    self.loop = loop
    self.serial = serial
  }

  /// The thread that waits has ended inside of a call.
  static let abandon: ObjectCall.Abandon = { memory in
    let wait = memory.assumingMemoryBound(to: ReplyWait.self)
    let port = wait.pointee.port
    if !port.isForked { port.dropWait(wait) }
  }

  static func isOngoing(_ wait: Pointer) -> Bool { wait.pointee.phase.load(ordering: .relaxed) == Phase.waiting }
}

extension MessagePort {
  /// A thread begins to wait, for the reply to a message with the serial that the wait is given.
  func beginWait(on loop: Loop) throws(Failure) -> ReplyWait.Pointer {
    guard let memory = treadle_system_allocate(MemoryLayout<ReplyWait>.size) else { throw Failure.noMemory("reply") }
    let wait = memory.bindMemory(to: ReplyWait.self, capacity: 1)
    lock()
    if state.isOver {
      unlock()
      treadle_system_free(memory)
      throw MessagePort.invalidFailure
    }
    repeat {
      state.lastSerial &+= 1
    } while state.lastSerial == 0 || state.lastSerial == MessageFrame.ringSerial || find(state.lastSerial) != nil
    wait.initialize(to: ReplyWait(port: self, loop: loop, serial: state.lastSerial))
    wait.pointee.next = state.waits
    state.waits = wait
    hold()
    loop.holdAgain()
    unlock()
    return wait
  }

  /// Nobody waits any more: a reply that comes later is dropped. Returns what the wait has come to, with a reply for
  /// the caller to free.
  func endWait(_ wait: ReplyWait.Pointer) -> (phase: UInt32, reply: MessagePayload) {
    lock()
    take(wait)
    let phase = wait.pointee.phase.load(ordering: .relaxed)
    let reply = wait.pointee.payload.take()
    unlock()
    wait.pointee.loop.letGo()
    treadle_system_free(wait)
    letGo()
    return (phase, reply)
  }

  /// The same of one whose reply nobody takes.
  func dropWait(_ wait: ReplyWait.Pointer) {
    var (_, reply) = endWait(wait)
    reply.free()
  }

  /// The lock is held.
  private func find(_ serial: UInt32) -> ReplyWait.Pointer? {
    var next = state.waits
    while let wait = next, wait.pointee.serial != serial { next = wait.pointee.next }
    return next
  }

  private func take(_ wait: ReplyWait.Pointer) {
    var at = withUnsafeMutablePointer(to: &state.waits) { $0 }
    while let other = at.pointee, other != wait { at = withUnsafeMutablePointer(to: &other.pointee.next) { $0 } }
    if at.pointee != nil { at.pointee = wait.pointee.next }
  }

  /// False if no thread waits for any other reply.
  @discardableResult
  func hand(_ received: inout MessageSocket.Received) -> Bool {
    lock()
    let wait = find(received.frame.serial)
    if let wait {
      take(wait)
      wait.pointee.next = nil
      wait.pointee.payload = received.payload.take()
    }
    let loop = wait?.pointee.loop
    loop?.holdAgain()
    // As soon as this is said the wait is its thread's, and may be gone.
    let isLost = received.frame.has(MessageFrame.Flag.abandoned)
    wait?.pointee.phase.store(isLost ? ReplyWait.Phase.lost : ReplyWait.Phase.answered, ordering: .relaxed)
    let isAwaited = state.waits != nil
    unlock()
    received.payload.free()
    if let loop { wake(loop) }
    return isAwaited
  }

  /// The port is over: none of those who wait gets a reply any more.
  func endWaits() {
    while true {
      lock()
      let wait = state.waits
      let loop = wait?.pointee.loop
      if let wait {
        state.waits = wait.pointee.next
        wait.pointee.next = nil
        loop?.holdAgain()
        wait.pointee.phase.store(ReplyWait.Phase.lost, ordering: .relaxed)
      }
      unlock()
      guard let loop else { return }
      wake(loop)
    }
  }

  private func wake(_ loop: Loop) {
    if !loop.isCurrent { loop.wake() }
    loop.letGo()
  }
}
