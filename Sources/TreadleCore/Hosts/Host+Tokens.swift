// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// Tokens: what a host names its registrations, and gets back in a list when they are over, since it may
/// not be called on whatever thread that happens on (ABI-2).
extension Host {
  static let retireToken: @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void = { memory, token in
    guard let memory else { return }
    Host(memory).retire(token)
  }

  /// The end of a registration whose token the host has forgotten already.
  static let useToken: @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void = { memory, _ in
    guard let memory else { return }
    let host = Host(memory)
    host.state.gate.lock()
    host.state.registrations = host.state.registrations &- 1
    let isLast = host.state.registrations == 0
    host.state.gate.unlock()
    if isLast { host.letGo() }
  }

  private func retire(_ token: UInt64) {
    state.gate.lock()
    state.registrations = state.registrations &- 1
    let isLast = state.registrations == 0
    _ = state.retired.appendInRoom(token)
    state.retiredCount.store(UInt64(state.retired.count), ordering: .relaxed)
    state.gate.unlock()
    if isLast { letGo() }
  }

  /// Moves retired tokens into `room`; how many.
  package func takeRetired(_ room: UnsafeMutableBufferPointer<UInt64>) -> Int {
    state.gate.lock()
    defer { state.gate.unlock() }
    let count = state.retired.count
    let taken = min(room.count, count)
    var index = 0
    while index < taken {
      room[index] = state.retired[count &- taken &+ index] ?? 0
      index &+= 1
    }
    state.retired.truncate(count &- taken)
    state.retiredCount.store(UInt64(count &- taken), ordering: .relaxed)
    return taken
  }

  /// Where the number of retired tokens lies.
  package var retiredCountAddress: UnsafePointer<UInt64> {
    withUnsafePointer(to: state.retiredCount) { UnsafeRawPointer($0).assumingMemoryBound(to: UInt64.self) }
  }

  // MARK: Making things for a host

  /// Makes something of the host's, with room for its token at the end, so that none is ever lost.
  func registering<Made>(_ body: () throws(Failure) -> Made) throws(Failure) -> Made {
    try reserveToken()
    do throws(Failure) {
      return try body()
    } catch {
      Host.useToken(pointer, 0)
      throw error
    }
  }

  @inline(never)
  private func reserveToken() throws(Failure) {
    if isClosed { throw Failure(Status.closed, "host", "is quiet: it takes no more registrations") }
    var room = Buffer<UInt64>()
    defer { room.free() }
    while true {
      state.gate.lock()
      // All registrations have one reference. While there is one, nobody else gets the slot.
      let isFirst = state.registrations == 0
      let isLiving = isFirst ? state.reference.hold(generation) : state.reference.isLive(generation)
      let wanted = state.retired.count &+ state.registrations &+ 1
      if isLiving && state.retired.capacity < wanted { state.retired.move(into: &room) }
      let hasRoom = isLiving && state.retired.capacity >= wanted
      let larger = state.retired.capacity(for: wanted)
      if hasRoom { state.registrations = state.registrations &+ 1 }
      state.gate.unlock()
      if !isLiving { throw Failure(Status.stale, "host", "has ended with its scope") }
      if hasRoom { return }
      if isFirst { letGo() }
      if !room.reserve(larger) { throw Failure.noMemory("token") }
    }
  }
}

/// What an item is made of whose callouts are events of a host.
extension Context {
  /// `wants`: the bits of TREADLE_HOST_WANTS_... in the C header.
  package init(_ host: Host, token: UInt64, wants: UInt32, order: Int64) throws(Failure) {
    if wants != 0 { try host.demandDispatch() }
    self.init(retain: nil, release: nil, describe: nil, order: order, main: host.callback)
    self.token = token
    self.host = host.pointer
    hostGeneration = host.generation
    retire = Host.retireToken
    if wants & 1 != 0 { scheduleIndirect = host.callback }
    if wants & 2 != 0 { cancelIndirect = host.callback }
  }

  /// Has `body` complete it and make the item. After a failure, or if a retain ends the thread, what it refers to is
  /// given up, and no token is retired.
  package mutating func making(_ body: (inout Context) throws(Failure) -> Item) throws(Failure) -> Item {
    do throws(Failure) {
      guard let host else {
        return try withUnsafeMutablePointer(to: &self) { context throws(Failure) in
          try ObjectCall.recorded(0, context, { $0.assumingMemoryBound(to: Context.self).pointee.dropCallbacks() }) {
            () throws(Failure) in
            try body(&context.pointee)
          }
        }
      }
      // A host's context has no retain.
      return try Host(host, generation: hostGeneration).registering { () throws(Failure) in try body(&self) }
    } catch {
      dropCallbacks()
      throw error
    }
  }
}
