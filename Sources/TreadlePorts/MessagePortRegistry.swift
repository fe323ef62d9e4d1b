// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase
import TreadleCore

/// The ports of this process that have a name: each is there once (MSG-1, MSG-3). The list keeps none alive.
enum MessagePortRegistry {
  private typealias State = UnsafeMutablePointer<MessagePortState>
  private static var first: UnsafeMutablePointer<State?> {
    treadle_system_message_port_words().assumingMemoryBound(to: State?.self)
  }
  private static var mutex: UnsafeMutablePointer<Mutex> { Mutex.at(treadle_system_message_port_lock()) }

  static func lock() { mutex.pointee.lock(.process) }
  static func unlock() { mutex.pointee.unlock(.process) }

  /// The handle of a valid port of that name, with a reference for the client; 0 for none. Waits for one that another thread makes.
  static func retainForClient(_ name: MessagePortName, of owner: UInt32, isRemote: Bool) throws(Failure) -> UInt {
    while true {
      let seen = Rest.epoch
      if let handle = try retainMade(name, of: owner, isRemote: isRemote) { return handle }
      Rest.wait(seen, until: Clock.forever)
    }
  }

  /// Nil for one that is not made yet.
  private static func retainMade(_ name: MessagePortName, of owner: UInt32, isRemote: Bool) throws(Failure) -> UInt? {
    lock()
    defer { unlock() }
    guard let port = find(name, of: owner, isRemote: isRemote) else { return 0 }
    let handle = port.handle
    if handle == 0 {
      if port.state.pointee.maker != treadle_system_thread_id() { return nil }
      throw Failure(Status.deadlock, "name", "is that of a port whose creation has called this function")
    }
    do throws(Failure) {
      try Slab(.descriptor).retainForClient(handle, "port")
    } catch {
      if error.status == Status.range { throw Failure(Status.range, "name", "is that of a port with as many references as it can have") }
      // Its last reference has just gone.
      return 0
    }
    return handle
  }

  /// Has this process's own port of the name accept those that have connected. A loop may not come to that, while this thread waits for it.
  static func accept(_ name: MessagePortName, of owner: UInt32) {
    lock()
    defer { unlock() }
    guard let port = find(name, of: owner, isRemote: false) else { return }
    port.lock()
    defer { port.unlock() }
    if !port.state.pointee.isOver && port.state.pointee.listener.number >= 0 { port.acceptAll() }
  }

  // MARK: Under the lock

  static func find(_ name: MessagePortName, of owner: UInt32, isRemote: Bool) -> MessagePort? {
    var next = first.pointee
    while let state = next {
      let port = MessagePort(UnsafeMutableRawPointer(state))
      if state.pointee.isRemote == isRemote && state.pointee.owner == owner && port.isNamed(name) && port.counts { return port }
      next = state.pointee.next
    }
    return nil
  }

  /// Has local ports of a name that are invalid, and end on another thread at this moment, serve it no longer.
  static func freeName(_ name: MessagePortName, of owner: UInt32) {
    var next = first.pointee
    while let state = next {
      let port = MessagePort(UnsafeMutableRawPointer(state))
      if !state.pointee.isRemote && state.pointee.owner == owner && !port.counts && port.isNamed(name) { port.stopServing() }
      next = state.pointee.next
    }
  }

  /// The port has not ended.
  static func add(_ port: MessagePort) {
    assert(!port.state.pointee.hasLeft, "a port that has ended gets no name any more")
    if port.state.pointee.isListed { return }
    port.state.pointee.isListed = true
    port.state.pointee.next = first.pointee
    first.pointee = port.state
  }

  /// For good: its end frees its memory.
  static func remove(_ port: MessagePort) {
    port.state.pointee.hasLeft = true
    if !port.state.pointee.isListed { return }
    port.state.pointee.isListed = false
    var at = first
    while let state = at.pointee, state != port.state { at = withUnsafeMutablePointer(to: &state.pointee.next) { $0 } }
    if at.pointee != nil { at.pointee = port.state.pointee.next }
  }
}

extension MessagePort {
  /// The registry's lock is held, without which no name changes.
  fileprivate func isNamed(_ name: MessagePortName) -> Bool { state.pointee.name.equals(name) }

  /// Whether it is valid, or being made.
  fileprivate var counts: Bool { handle == 0 || (try? Item.isValid(.descriptor, handle, "port")) == true }
}
