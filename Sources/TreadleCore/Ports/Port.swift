// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Ports in a process (§13 of the rules): the object itself is the address. A port is an item; this is its queue, which
/// knows of no loop.
///
/// While messages are in the queue, every membership of the port is among the ready ones of its mode, or somebody is
/// about to put it there: whoever queued the first of them (`tellLoops`), whoever has just begun the membership, or the
/// loop itself, which takes it out only when it finds the queue empty, under the loop's gate. Whoever queues the first
/// exchanges the count, then looks for memberships; who begins one says so, then looks at the count. Nothing else is
/// ordered by the count, but by the queue's gate.
extension Item {
  /// A port. `code` is its plain callback, unless the context has another.
  package static func port(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, context: Context, capacity: UInt32
  ) throws(Failure) -> Item {
    try create(
      .port, traits: context.main.invoke != nil ? Trait.indirect : 0, code: code, info: info, context: context
    ) { $0.beginQueue(capacity) }
  }

  private func beginQueue(_ capacity: UInt32) {
    assert(!ready.isReady, "a cell that is in no mode is no ready one")
    queue.capacity = capacity
    queue.count.store(0, ordering: .relaxed)
    queue.first = 0
    queue.last = 0
    queue.firstWaiter = nil
    queue.lastWaiter = nil
  }

  @inline(__always)
  var ready: PortCell {
    unsafeAddress { UnsafePointer(slotMemory(.port, as: PortCell.self)) }
    nonmutating unsafeMutableAddress { slotMemory(.port, as: PortCell.self) }
  }
  @inline(__always)
  var queue: PortCell.Queue {
    unsafeAddress { UnsafePointer(queueAddress) }
    nonmutating unsafeMutableAddress { queueAddress }
  }
  @inline(__always)
  private var queueAddress: UnsafeMutablePointer<PortCell.Queue> { withUnsafeMutablePointer(to: &ready.queue) { $0 } }

  /// How many messages wait in it.
  package var messageCount: Int { Int(queue.count.load(ordering: .relaxed)) }
  package var messageCapacity: Int { Int(queue.capacity) }
  @inline(__always)
  var hasMessages: Bool { queue.count.load(ordering: .sequentiallyConsistent) != 0 }

  // MARK: Queueing

  /// Whether the port that a handle means takes messages, as of now.
  @inline(__always)
  func demandOpen(_ handle: Handle) throws(Failure) {
    if !cell.reference.isLive(handle.generation) { throw handle.failure("port") }
    if !isValid { throw Item.closedPort }
  }
  static var closedPort: Failure { Failure(Status.closed, "port", "is invalid, and takes no more messages") }

  /// Queues a message, whose reference is the queue's then. True: it is the first. Nil: there is no room.
  @inline(__always)
  func queue(_ message: Message, _ handle: Handle) throws(Failure) -> Bool? {
    message.cell.port = handle.bits
    queue.gate.lock()
    defer { queue.gate.unlock() }
    try demandOpen(handle)
    let count = queue.count.load(ordering: .relaxed)
    if count >= queue.capacity { return nil }
    link(message)
    if count == 0 { return queue.count.exchange(1, ordering: .sequentiallyConsistent) == 0 }
    queue.count.store(count &+ 1, ordering: .relaxed)
    return false
  }

  /// The gate is held.
  @inline(__always)
  private func link(_ message: Message) {
    if let last = Message(slot: queue.last) { last.cell.next = message.slot } else { queue.first = message.slot }
    queue.last = message.slot
  }

  /// Has a thread wait for room behind those that do already. False if there is room now.
  func wait(_ waiter: UnsafeMutablePointer<RoomWaiter>, _ handle: Handle) throws(Failure) -> Bool {
    queue.gate.lock()
    defer { queue.gate.unlock() }
    try demandOpen(handle)
    if queue.count.load(ordering: .relaxed) < queue.capacity { return false }
    waiter.pointee.before = queue.lastWaiter
    waiter.pointee.after = nil
    if let last = queue.lastWaiter { last.pointee.after = waiter } else { queue.firstWaiter = waiter }
    queue.lastWaiter = waiter
    return true
  }

  /// Runs `body` under the gate if the thread waits still; false if it does not.
  func whileWaiting(_ waiter: UnsafeMutablePointer<RoomWaiter>, _ body: () -> Void) -> Bool {
    queue.gate.lock()
    defer { queue.gate.unlock() }
    if waiter.pointee.word.load(ordering: .relaxed) & RoomWaiter.Outcome.all != RoomWaiter.Outcome.waits {
      return false
    }
    body()
    return true
  }

  /// The gate is held.
  func unlink(_ waiter: UnsafeMutablePointer<RoomWaiter>) {
    let (before, after) = (waiter.pointee.before, waiter.pointee.after)
    if let before { before.pointee.after = after } else { queue.firstWaiter = after }
    if let after { after.pointee.before = before } else { queue.lastWaiter = before }
  }

  // MARK: Taking

  /// The first message, whose reference is the caller's then. Its room goes to the first thread that waits for some.
  @inline(__always)
  func takeMessage() -> Message? {
    queue.gate.lock()
    guard let message = Message(slot: queue.first) else {
      queue.gate.unlock()
      return nil
    }
    queue.first = message.cell.next
    if queue.first == 0 { queue.last = 0 }
    if let waiter = queue.firstWaiter {
      admit(waiter)
    } else {
      queue.count.store(queue.count.load(ordering: .relaxed) &- 1, ordering: .relaxed)
      queue.gate.unlock()
    }
    return message
  }

  /// The gate is held, and opened here.
  @inline(never)
  private func admit(_ waiter: UnsafeMutablePointer<RoomWaiter>) {
    unlink(waiter)
    if let message = Message(slot: waiter.pointee.message) { link(message) }
    let address = Futex.address(of: waiter.pointee.word)
    waiter.pointee.end(RoomWaiter.Outcome.sent)
    queue.gate.unlock()
    Futex.wake(address, 1)
  }

  // MARK: The end

  /// The port has become invalid: its messages are dropped, and who waits for room is refused (PORT-2).
  func closeQueue() {
    queue.gate.lock()
    let first = queue.first
    queue.first = 0
    queue.last = 0
    queue.count.store(0, ordering: .relaxed)
    while let waiter = queue.firstWaiter {
      unlink(waiter)
      let address = Futex.address(of: waiter.pointee.word)
      waiter.pointee.end(RoomWaiter.Outcome.closed)
      queue.gate.unlock()
      Futex.wake(address, 1)
      queue.gate.lock()
    }
    queue.gate.unlock()
    Message.dropChain(first)
  }

  /// Tells all who want to know, on the calling thread (NOTE-1). It counts as a call of the port's: it ends after that.
  static func tellInvalidPort(_ handle: Handle) {
    ObjectCall.recorded(handle.bits) { Notifications.post(Notifications.portDidBecomeInvalid, object: handle.bits) }
  }

  /// Threads that wait for room look again: who receives has changed, or everything was shut down.
  func pokeWaiters() {
    queue.gate.lock()
    var next = queue.firstWaiter
    let isAny = next != nil
    while let waiter = next {
      waiter.pointee.poke()
      next = waiter.pointee.after
    }
    queue.gate.unlock()
    if isAny { wakePoked() }
  }

  /// One after the other, since nobody is woken under the gate; who has left the list in between was woken for that.
  private func wakePoked() {
    while true {
      queue.gate.lock()
      var next = queue.firstWaiter
      while let waiter = next, !waiter.pointee.takePoke() { next = waiter.pointee.after }
      let address = next.map { Futex.address(of: $0.pointee.word) }
      queue.gate.unlock()
      guard let address else { return }
      Futex.wake(address, 1)
    }
  }

  /// A message gives up its reference to a port.
  static func releaseForMessage(_ bits: UInt) {
    let handle = Handle(bits: bits)
    // A scope may have taken it.
    guard let port = try? locate(.port, handle, "port"),
      let left = port.cell.reference.releaseForClient(handle.generation),
      left.isGone
    else { return }
    _ = treadle_system_watch_thread()
    port.destroy()
  }
}
