// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Sending to a port, from any thread (PORT-4, MPORT-2).
extension Item {
  /// Has `make` make the message, unless it is clear that nobody will take it, and queues it. Waits for room, if there
  /// is none, for as long as `timeout` says; not positive: not at all.
  @inline(__always)
  package static func send(
    to port: OpaquePointer?, timeout: Int64, _ make: () throws(Failure) -> Message
  ) throws(Failure) {
    let handle = Handle(bits: UInt(bitPattern: port))
    let port = try locate(.port, handle, "port")
    try port.demandOpen(handle)
    if treadle_system_is_closed() { throw Shutdown.failure }
    let message = try make()
    do throws(Failure) {
      if let isFirst = try port.queue(message, handle) {
        if isFirst { port.tellLoops(handle) }
        return
      }
      try port.sendLater(message, handle, timeout: timeout)
    } catch {
      message.drop()
      throw error
    }
  }

  private static var noRoom: Failure {
    Failure(Status.timeout, "timeout_ns", "passed while there was no room in the port")
  }

  @inline(never)
  private func sendLater(_ message: Message, _ handle: Handle, timeout: Int64) throws(Failure) {
    if timeout <= 0 { throw Item.noRoom }
    let until = Clock.after(timeout, from: Clock.now())
    while true {
      var waiter = RoomWaiter(message: message.slot)
      let isSent = try withUnsafeMutablePointer(to: &waiter) { waiter throws(Failure) -> Bool in
        if try !wait(waiter, handle) { return false }
        try awaitRoom(waiter, until)
        return true
      }
      if isSent { return }
      // There is room by now.
      if let isFirst = try queue(message, handle) {
        if isFirst { tellLoops(handle) }
        return
      }
    }
  }

  /// Until somebody has queued the message for this thread. Otherwise it is not queued, and never will be.
  private func awaitRoom(_ waiter: UnsafeMutablePointer<RoomWaiter>, _ until: Int64) throws(Failure) {
    var failure: Failure?
    while failure == nil {
      let seen = waiter.pointee.word.load(ordering: .acquiring)
      switch seen & RoomWaiter.Outcome.all {
      case RoomWaiter.Outcome.sent: return
      case RoomWaiter.Outcome.waits: break
      default: throw Item.closedPort
      }
      // Behind the gate's update: a shutdown that is not seen finds the port, also a new one, and where the kernel has
      // no barriers.
      treadle_system_fence_after_exchange()
      if treadle_system_is_closed_now() {
        failure = Shutdown.failure
      } else if until != Clock.forever && Clock.now() >= until {
        failure = Item.noRoom
      } else {
        do throws(Failure) { try sleep(waiter, seen, until) } catch { failure = error }
      }
    }
    // Whoever gives it room, or ends the port, may have been quicker, and has said so under the gate.
    if whileWaiting(waiter, { unlink(waiter) }) { throw failure ?? Item.noRoom }
    if waiter.pointee.word.load(ordering: .relaxed) & RoomWaiter.Outcome.all == RoomWaiter.Outcome.closed {
      throw Item.closedPort
    }
  }

  /// Sleeps once. Refused, if only one loop receives and its thread is the calling one, or waits for it.
  private func sleep(_ waiter: UnsafeMutablePointer<RoomWaiter>, _ seen: UInt32, _ until: Int64) throws(Failure) {
    guard let loop = onlyReceiver(), let caller = try? Thread.current() else {
      Futex.wait(waiter.pointee.word, while: seen, until: until)
      return
    }
    defer { loop.letGo() }
    if loop.isCurrent {
      throw Failure(Status.deadlock, "port", "has no room, and only the calling thread's loop receives from it")
    }
    var edge = WaitEdge(for: loop, isAdmitted: false, runsLoop: false)
    try withUnsafeMutablePointer(to: &edge) { edge throws(Failure) in
      // Before others can find the wait: who ends it says so before this thread can know.
      let isWaiting = whileWaiting(waiter) {
        waiter.pointee.edge = UnsafeMutableRawPointer(edge)
        waiter.pointee.markOver = { $0?.assumingMemoryBound(to: WaitEdge.self).pointee.markOver() }
      }
      if !isWaiting { return }
      defer {
        _ = whileWaiting(waiter) {
          waiter.pointee.edge = nil
          waiter.pointee.markOver = nil
        }
      }
      let token = try WaitGraph.begin(edge, of: caller)
      defer { WaitGraph.end(token) }
      Futex.wait(waiter.pointee.word, while: seen, until: until)
    }
  }

  /// Everything was shut down: whoever waits for room waits no longer.
  static func endWaitsForRoom() {
    Slab(.port).forEachLive { slot, _ in
      Item(.port, slot: slot)?.pokeWaiters()
      return true
    }
  }
}
