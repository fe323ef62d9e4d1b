// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase
import TreadleCore

/// The ports of this process that have a name, found by it: each is there once (MSG-1, MSG-3). The registry keeps none
/// alive.
enum MessagePortRegistry {
  private typealias State = UnsafeMutablePointer<MessagePortState>
  private static var index: UnsafeMutablePointer<HashIndex> {
    treadle_system_message_port_words().assumingMemoryBound(to: HashIndex.self)
  }
  private static var mutex: UnsafeMutablePointer<Mutex> { Mutex.at(treadle_system_message_port_lock()) }

  static func lock() { mutex.pointee.lock(.process) }
  static func unlock() { mutex.pointee.unlock(.process) }

  /// A thread that waits for a port of a name which another one makes, on its stack; in a list under the lock.
  private struct Wait {
    let thread: Int32
    let name: MessagePortName
    let owner: UInt32
    let isRemote: Bool
    var isListed = false
    var next: UnsafeMutablePointer<Wait>?
  }
  private typealias WaitPointer = UnsafeMutablePointer<Wait>
  private static var waits: UnsafeMutablePointer<WaitPointer?> {
    (treadle_system_message_port_words() + MemoryLayout<HashIndex>.stride).assumingMemoryBound(to: WaitPointer?.self)
  }

  /// The handle of a valid port of that name, with a reference for the client; 0 for none. Waits for one that another
  /// thread makes.
  static func retainForClient(_ name: MessagePortName, of owner: UInt32, isRemote: Bool) throws(Failure) -> UInt {
    var wait = Wait(thread: treadle_system_thread_id(), name: name, owner: owner, isRemote: isRemote)
    return try withUnsafeMutablePointer(to: &wait) { wait throws(Failure) in
      while true {
        let seen = Rest.epoch
        var maker: Int32 = 0
        if let handle = try retainMade(wait, &maker) { return handle }
        try awaitMaker(maker, wait, seen)
      }
    }
  }

  /// Refused where the maker waits, in the retain function of its context, for something that this thread does.
  private static func awaitMaker(_ maker: Int32, _ wait: WaitPointer, _ seen: UInt32) throws(Failure) {
    let target = RestTarget(word: UInt(UInt32(bitPattern: maker))) { maker, stack in
      UInt(UInt32(bitPattern: ThreadStack.at(stack).threadID)) == maker
    }
    do throws(Failure) {
      try target.wait(seen, until: Clock.forever)
    } catch {
      lock()
      endWait(wait)
      unlock()
      throw Failure(Status.deadlock, "name", "is that of a port whose maker waits for the calling thread")
    }
  }

  /// Nil for one that is not made yet: then the wait is in the list, and the thread that makes it is known.
  private static func retainMade(_ wait: WaitPointer, _ maker: inout Int32) throws(Failure) -> UInt? {
    lock()
    defer { unlock() }
    endWait(wait)
    guard let port = find(wait.pointee) else { return 0 }
    let handle = port.handle
    if handle == 0 {
      maker = port.state.maker
      try beginWait(wait, for: maker)
      return nil
    }
    do throws(Failure) {
      try Slab(.descriptor).retainForClient(handle, "port")
    } catch {
      if error.status == Status.range {
        throw Failure(Status.range, "name", "is that of a port with as many references as it can have")
      }
      // Its last reference has just gone.
      return 0
    }
    return handle
  }

  // MARK: Waits for makers

  /// Refused for a port of the thread's own, and for one whose maker waits, by way of others or not, for one that this
  /// thread makes: their contexts' retain functions create each other's ports. The lock is held. No wait in the list
  /// leads back to itself: each was looked at when it began, and who begins to make a port does not wait.
  private static func beginWait(_ wait: WaitPointer, for maker: Int32) throws(Failure) {
    let thread = wait.pointee.thread
    if maker == thread {
      throw Failure(Status.deadlock, "name", "is that of a port whose creation has called this function")
    }
    var next: Int32? = maker
    while let other = next {
      next = whoMakes(for: other)
      if next == thread {
        throw Failure(Status.deadlock, "name", "is that of a port whose maker waits for one that this thread makes")
      }
    }
    wait.pointee.isListed = true
    wait.pointee.next = waits.pointee
    waits.pointee = wait
  }

  /// Who makes the port for which a thread waits; nil if it waits for none, or is about to see that it is made.
  private static func whoMakes(for thread: Int32) -> Int32? {
    var next = waits.pointee
    while let wait = next {
      if wait.pointee.thread == thread {
        guard let port = find(wait.pointee), port.handle == 0 else { return nil }
        return port.state.maker
      }
      next = wait.pointee.next
    }
    return nil
  }

  private static func find(_ wait: Wait) -> MessagePort? { find(wait.name, of: wait.owner, isRemote: wait.isRemote) }

  private static func endWait(_ wait: WaitPointer) {
    if !wait.pointee.isListed { return }
    wait.pointee.isListed = false
    if waits.pointee == wait { waits.pointee = wait.pointee.next }
    var next = waits.pointee
    while let other = next {
      if other.pointee.next == wait { other.pointee.next = wait.pointee.next }
      next = other.pointee.next
    }
  }

  /// Has this process's own port of the name accept those that have connected. A loop may not come to that, while this
  /// thread waits for it.
  static func accept(_ name: MessagePortName, of owner: UInt32) {
    lock()
    defer { unlock() }
    guard let port = find(name, of: owner, isRemote: false) else { return }
    port.lock()
    defer { port.unlock() }
    if !port.state.isOver && port.state.listener.number >= 0 { port.acceptAll() }
  }

  // MARK: Under the lock

  static func find(_ name: MessagePortName, of owner: UInt32, isRemote: Bool) -> MessagePort? {
    first(name, owner, isRemote: isRemote) { $0.counts }
  }

  /// Has local ports of a name that are invalid, and end on another thread at this moment, serve it no longer.
  static func freeName(_ name: MessagePortName, of owner: UInt32) {
    _ = first(name, owner, isRemote: false) { port in
      if !port.counts { port.stopServing() }
      return false
    }
  }

  /// The first port of a name of which `isMeant` is true. There may be some besides the valid one, which end.
  private static func first(
    _ name: MessagePortName, _ owner: UInt32, isRemote: Bool, where isMeant: (MessagePort) -> Bool
  ) -> MessagePort? {
    let found = index.pointee.find(hash(name, owner, isRemote: isRemote)) { number in
      guard let address = State(bitPattern: number) else { return false }
      let port = MessagePort(UnsafeMutableRawPointer(address))
      return port.isRemote == isRemote && port.state.owner == owner && port.state.name.equals(name) && isMeant(port)
    }
    return found.flatMap { State(bitPattern: $0) }.map { MessagePort(UnsafeMutableRawPointer($0)) }
  }

  private static func hash(_ name: MessagePortName, _ owner: UInt32, isRemote: Bool) -> UInt64 {
    name.digest(from: UInt64(owner) << 1 | (isRemote ? 1 : 0))
  }
  private static func hash(_ port: MessagePort) -> UInt64 {
    hash(port.state.name, port.state.owner, isRemote: port.isRemote)
  }

  /// Room for one more port.
  static func reserve() throws(Failure) {
    if !index.pointee.reserve() { throw Failure.noMemory("port") }
  }

  /// The port has its name, and has not ended. There is room.
  static func add(_ port: MessagePort) {
    assert(!port.state.hasLeft, "a port that has ended gets no name any more")
    port.state.isListed = index.pointee.insert(hash(port), UInt(bitPattern: port.address))
  }

  /// Before the port gets another name, if it has one.
  static func remove(_ port: MessagePort) {
    if !port.state.isListed { return }
    port.state.isListed = false
    index.pointee.remove(hash(port), UInt(bitPattern: port.address))
  }

  /// For good: its end frees its memory.
  static func removeEnded(_ port: MessagePort) {
    port.state.hasLeft = true
    remove(port)
    if index.pointee.isEmpty { index.pointee.free() }
  }
}

extension MessagePort {
  /// Whether it is valid, or being made.
  fileprivate var counts: Bool { handle == 0 || (try? Item.isValid(.descriptor, handle, "port")) == true }
}
