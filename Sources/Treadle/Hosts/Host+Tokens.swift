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
    host.state.pointee.gate.lock()
    host.state.pointee.registrations = host.state.pointee.registrations &- 1
    host.state.pointee.gate.unlock()
  }

  private func retire(_ token: UInt64) {
    state.pointee.gate.lock()
    state.pointee.registrations = state.pointee.registrations &- 1
    _ = state.pointee.retired.append(token)
    state.pointee.retiredCount.store(UInt64(state.pointee.retired.count), ordering: .releasing)
    state.pointee.gate.unlock()
  }

  /// Moves retired tokens into `room`; how many.
  package func takeRetired(_ room: UnsafeMutableBufferPointer<UInt64>) -> Int {
    state.pointee.gate.lock()
    defer { state.pointee.gate.unlock() }
    let count = state.pointee.retired.count
    let taken = min(room.count, count)
    var index = 0
    while index < taken {
      room[index] = state.pointee.retired[count &- taken &+ index] ?? 0
      index &+= 1
    }
    state.pointee.retired.truncate(count &- taken)
    state.pointee.retiredCount.store(UInt64(count &- taken), ordering: .releasing)
    return taken
  }

  /// Where the number of retired tokens lies.
  package var retiredCountAddress: UnsafePointer<UInt64> {
    withUnsafePointer(to: state.pointee.retiredCount) { UnsafeRawPointer($0).assumingMemoryBound(to: UInt64.self) }
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
    state.pointee.gate.lock()
    let hasRoom = state.pointee.retired.reserve(state.pointee.retired.count &+ state.pointee.registrations &+ 1)
    if hasRoom { state.pointee.registrations = state.pointee.registrations &+ 1 }
    state.pointee.gate.unlock()
    if !hasRoom { throw Failure.noMemory("token") }
  }

  private func options(_ token: UInt64, order: Int64) -> ItemOptions {
    var options = ItemOptions()
    options.value.order = order
    options.value.main = callback
    options.value.token = token
    options.value.host = pointer
    options.value.retire = Host.retireToken
    return options
  }

  package func makeSource(_ token: UInt64, order: Int64, wantsSchedule: Bool, wantsCancel: Bool) throws(Failure) -> Item {
    var options = options(token, order: order)
    if wantsSchedule { options.setSchedule(schedule: nil, indirect: callback) }
    if wantsCancel { options.setCancel(cancel: nil, indirect: callback) }
    return try registering { () throws(Failure) in try Item.source(code: nil, info: nil, options: options) }
  }

  package func makeDescriptor(
    _ token: UInt64, number: Int32, events: UInt32, isAcknowledged: Bool
  ) throws(Failure) -> Item {
    try registering { () throws(Failure) in
      try Item.descriptor(
        code: nil, info: nil, options: options(token, order: 0), number: number, events: events,
        isAcknowledged: isAcknowledged)
    }
  }

  package func makeTimer(_ token: UInt64, date: Int64, interval: Int64, order: Int64) throws(Failure) -> Item {
    try registering { () throws(Failure) in
      try Item.timer(
        code: nil, info: nil, options: options(token, order: order), date: date, interval: interval, tolerance: 0)
    }
  }

  package func makeObserver(_ token: UInt64, activities: UInt32, once: Bool, order: Int64) throws(Failure) -> Item {
    try registering { () throws(Failure) in
      try Item.observer(
        code: nil, info: nil, options: options(token, order: order), activities: activities, once: once)
    }
  }

  package func perform(
    _ token: UInt64, on loop: Loop, modes: ModeNames
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      try loop.perform(block(token), modes: modes)
    }
  }
}
