// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase
package import TreadleCore

/// The port that serves a name: being made, being renamed, its end.
extension MessagePort {
  /// The port of a name that this process serves already, with a reference for the client; 0 for none.
  package static func existing(_ name: UnsafePointer<CChar>?, of owner: UInt32? = nil, isRemote: Bool) throws(Failure)
    -> UInt
  {
    try Runtime.start()
    guard let name else { return 0 }
    var wanted = try MessagePortName(name)
    defer { wanted.free() }
    let owner = owner ?? treadle_system_user()
    let handle = try MessagePortRegistry.retainForClient(wanted, of: owner, isRemote: isRemote)
    if handle == 0 || !isRemote { return handle }
    // One whose other side has gone is as good as none.
    var isUsable = false
    try using(handle) { held in isUsable = held.port.look(held.item) }
    if !isUsable { try Item.release(.descriptor, handle, "port") }
    return isUsable ? handle : 0
  }

  /// Makes one. Fails with `Status.ignored` where another thread of this process has been quicker.
  package static func makeLocal(
    _ name: UnsafePointer<CChar>?, _ plan: Plan, _ context: Context, info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Item {
    let port = try make(plan, isRemote: false)
    // The source's, from its making on; until then this function's.
    do throws(Failure) {
      try port.open()
      if let name {
        port.state.name = try MessagePortName(name)
        try port.claim { () throws(Failure) in port.state.listener = try port.listen(port.state.name) }
      }
      return try port.makeItem(context, info: info, watching: port.state.set.number)
    } catch {
      port.giveUp()
      throw error
    }
  }

  /// What a new port has without a name.
  func open() throws(Failure) {
    let number = treadle_system_epoll()
    if number < 0 { throw Failure.system("epoll_create1", number) }
    lock()
    state.set = MessageSocket(number: number)
    makeReserve()
    // There now: it is of use when no descriptor is left.
    _ = needPauseTimer()
    unlock()
  }

  /// Takes the name of a new port: in this process, where another thread that wants it waits until the port is made,
  /// and by `open`. One step, or two threads would both find that there is none. Nobody else knows of the port yet.
  func claim(_ open: () throws(Failure) -> Void) throws(Failure) {
    MessagePortRegistry.lock()
    defer { MessagePortRegistry.unlock() }
    if MessagePortRegistry.find(state.name, of: state.owner, isRemote: isRemote) != nil {
      throw Failure(Status.ignored, "name", "is already that of another port")
    }
    try MessagePortRegistry.reserve()
    if !isRemote { MessagePortRegistry.freeName(state.name, of: state.owner) }
    lock()
    defer { unlock() }
    try open()
    state.maker = treadle_system_thread_id()
    MessagePortRegistry.add(self)
  }

  /// The port is not made.
  func giveUp() {
    leaveName()
    letGo()
    Rest.announce()
  }

  /// In one step: a thread of this process that finds no port of the name can serve it, and one that renames this port
  /// finds that it has left.
  private func leaveName() {
    MessagePortRegistry.lock()
    MessagePortRegistry.removeEnded(self)
    stopServing()
    MessagePortRegistry.unlock()
  }

  func stopServing() {
    lock()
    stopListening()
    unlock()
  }

  /// A socket that listens for a name, and is watched. The kernel knows each name once.
  private func listen(_ name: MessagePortName) throws(Failure) -> MessageSocket {
    let number = name.withAddress(of: state.owner) { treadle_system_socket_listen($0, $1) }
    if number == 0 &- treadle_system_eaddrinuse() {
      throw Failure(Status.exists, "name", "is already served by another port")
    }
    if number < 0 { throw Failure.system("bind", number) }
    let socket = MessageSocket(number: number)
    let result = watch(socket, MessagePort.wantsMessages, 0)
    if result < 0 {
      socket.close()
      throw Failure.system("epoll_ctl", result)
    }
    return socket
  }

  /// Gives it another name. False if that is its name.
  package static func rename(_ handle: UInt, _ text: UnsafePointer<CChar>?) throws(Failure) -> Bool {
    let held = try hold(handle)
    defer { held.letGo() }
    return try held.port.rename(text)
  }

  private func rename(_ text: UnsafePointer<CChar>?) throws(Failure) -> Bool {
    if isRemote { throw Failure(Status.state, "port", "is a remote one, and has the name of the other side") }
    guard let text else { throw Failure(Status.argument, "name", "is NULL") }
    var name = try MessagePortName(text)
    defer { name.free() }
    MessagePortRegistry.lock()
    defer { MessagePortRegistry.unlock() }
    // Not whether it is over, which its end says later.
    if state.hasLeft { throw MessagePort.invalidFailure }
    try MessagePortRegistry.reserve()
    MessagePortRegistry.freeName(name, of: state.owner)
    lock()
    defer { unlock() }
    if state.name.equals(name) { return false }
    let listener = try listen(name)
    // Whoever means the old name has lost his port.
    stopListening()
    disconnectAll()
    state.listener = listener
    MessagePortRegistry.remove(self)
    (state.name, name) = (name, state.name)
    MessagePortRegistry.add(self)
    return true
  }

  // MARK: Its end

  /// The source has become invalid, and left its loops; or nobody refers to it.
  func finish() {
    // Its sockets were closed in the child of a fork.
    if isForked { return }
    leaveName()
    endConnections()
    tell()
  }

  /// The sockets of a port that nobody knows of, or whose source ends.
  func closeAll() {
    if isForked { return forgetRings() }
    endConnections()
  }

  private func endConnections() {
    lock()
    state.isOver = true
    if isRemote {
      shutSocket()
      unlock()
      endWaits()
    } else {
      stopListening()
      disconnectAll()
      state.reserve.close()
      state.reserve = .none
      closePauseTimer()
      state.set.close()
      state.set = .none
      unlock()
    }
  }

  /// The end, told to whoever wants to know it.
  private struct Telling {
    let port: MessagePort
    let invalidated: Invalidated?
  }

  private func tell() {
    lock()
    var telling = Telling(port: self, invalidated: state.invalidated)
    let isTold = state.isTold || telling.invalidated == nil && state.host == nil
    if !isTold { state.isTold = true }
    unlock()
    if isTold { return }
    ObjectCall.recorded(handle) {
      _ = ClientCall.during(&telling) { memory in
        guard let telling = memory?.assumingMemoryBound(to: Telling.self).pointee else { return }
        telling.port.callInvalidated(telling.invalidated)
      }
    }
  }

  private func callInvalidated(_ invalidated: Invalidated?) {
    if let host = state.host {
      if !host.handleMessage(state.token, nil, port: handle) { Loop.existing?.failRun() }
    } else {
      invalidated?(OpaquePointer(bitPattern: handle), info)
    }
  }

  /// The client's, of a source that lives, or is about to end.
  var info: UnsafeMutableRawPointer? { Item(tag: Handle(bits: handle).tag)?.info }

  /// Who is told of the end from here on; told now, if it is past and nobody was.
  package static func setInvalidated(_ handle: UInt, _ invalidated: Invalidated?) throws(Failure) {
    try using(handle) { held throws(Failure) in try held.port.setInvalidated(invalidated) }
  }

  private func setInvalidated(_ invalidated: Invalidated?) throws(Failure) {
    if state.host != nil { throw Failure(Status.state, "port", "belongs to a host, which is notified by its token") }
    lock()
    state.invalidated = invalidated
    let isOver = state.isOver
    unlock()
    if isOver { tell() }
  }
}
