// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A host language: one function receives all its events, and proves with a ticket that it completed. A host without
/// one is not called, but fetches its events (`Pulling.swift`).
package struct Host {
  package typealias Dispatch = @convention(c) (UInt64, UnsafeRawPointer?) -> UInt64
  package typealias ThreadHook = @convention(c) (UnsafeMutableRawPointer?) -> Void

  let address: UnsafeMutablePointer<HostState>
  /// What the handle leads to.
  @inline(__always)
  var state: HostState {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }
  /// Of the life that is meant: the slot of one that has ended may serve another host.
  let generation: UInt32

  /// One bit each in a thread's state.
  package static let maximum: UInt32 = 63

  /// The one that lives there, which somebody holds.
  init(_ memory: UnsafeMutableRawPointer) {
    self.init(memory, generation: memory.assumingMemoryBound(to: HostState.self).pointee.reference.generation)
  }
  init(_ memory: UnsafeMutableRawPointer, generation: UInt32) {
    address = memory.assumingMemoryBound(to: HostState.self)
    self.generation = generation
  }

  /// The host that a handle means, not held: its memory stays that of a host for ever.
  package init(_ handle: UInt, _ subject: StaticString) throws(Failure) {
    let handle = Handle(bits: handle)
    guard let memory = Slab(.host).find(handle) else { throw handle.failure(subject) }
    self.init(memory, generation: handle.generation)
  }

  /// Calls `body` with the host that a handle means, which is not freed meanwhile.
  package static func using<Result>(
    _ handle: UInt, _ subject: StaticString, _ body: (Host) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let host = Host(try Slab(.host).hold(handle, subject))
    defer { host.letGo() }
    return try body(host)
  }

  package var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(address) }
  /// The host that `pointer` was asked of.
  package init(pointer: UnsafeMutableRawPointer) { self.init(pointer) }
  package var handle: Handle { Handle(kind: .host, slot: state.slot, generation: generation) }
  /// What the host's items and blocks call. The host lives as long as there is one of their tokens, so nothing is to be
  /// dropped.
  package var callback: IndirectCallback {
    if fetchesEvents {
      return IndirectCallback(object: pointer, invoke: Host.forget, drop: IndirectCallback.dropFetched)
    }
    return IndirectCallback(object: pointer, invoke: Host.invoke, drop: nil)
  }
  package var isClosed: Bool { state.closed.load(ordering: .sequentiallyConsistent) != 0 }

  package static func register(
    dispatch: Dispatch?, enter: ThreadHook?, exit: ThreadHook?, user: UnsafeMutableRawPointer?
  ) throws(Failure) -> Host {
    try Runtime.start()
    Slab(.host).checkRoom(for: HostState.self)
    guard let (slot, memory) = Slab(.host).take() else {
      throw Failure.noMemory("host")
    }
    if slot > maximum {
      Slab(.host).giveBack(slot, memory)
      throw Failure(Status.noMemory, "host", "cannot be registered: there are 63 already")
    }
    let host = Host(memory)
    // Of the one before that had the slot nobody knows any more but threads that were told of it (`forgetFormer`).
    var era: UInt32
    repeat {
      era = treadle_system_host_era() &+ 1
      host.state.era.store(era, ordering: .relaxed)
    } while !treadle_system_publish_host_era(era)
    host.state.slot = slot
    host.state.dispatch = dispatch
    host.state.enter = enter
    host.state.exit = exit
    host.state.user = user
    host.state.dropped.store(0, ordering: .relaxed)
    // For a thread that knew the former (`leaveThread`): with this it finds the number.
    host.state.closed.store(0, ordering: .releasing)
    host.state.reference.begin(forClient: true)
    return host
  }

  // MARK: Its end

  /// Keeps it from being freed. The caller has it by its handle, or knows that it is held.
  func holdAgain() { state.reference.holdAgain() }

  /// With the last reference, when its scope is closed and no token of it is left, its slot is another host's.
  func letGo() {
    if !state.reference.drop().isGone { return }
    state.gate.lock()
    var retired = state.retired
    state.retired = Buffer()
    state.retiredCount.store(0, ordering: .relaxed)
    state.gate.unlock()
    retired.free()
    Slab(.host).free(state.slot, pointer)
  }

  /// Its scope is closed: no client has it any more. It is quiet.
  package static func endInScope(_ handle: Handle) {
    guard let memory = try? Slab(.host).hold(handle.bits, "host") else { return }
    let host = Host(memory)
    host.state.reference.abandonClients()
    host.letGo()
  }

  // MARK: Calling

  /// One call into a host that is on this thread's stack.
  struct Call {
    /// First: what ends it where its stack goes (clients.c).
    let end: @convention(c) (UnsafeMutableRawPointer) -> Void
    var host: UnsafeMutableRawPointer
    var outer: UnsafeMutableRawPointer?
    /// What it is told, and the innermost run of this thread at that time, if it is an event of a run.
    var event: UnsafeMutableRawPointer?
    var frame: Frame.Pointer?
  }

  /// True if the host completed the event, or takes none any more.
  private static let invoke: IndirectCallback.Invoke = { object, event in
    guard let object else { return true }
    return Host(object).dispatch(event, whenClosed: true)
  }

  /// Whether there is no function to call.
  package var fetchesEvents: Bool { state.dispatch == nil }

  /// For what a host is told of wherever it happens.
  func demandDispatch() throws(Failure) { try callback.demandCall() }

  /// Of a host that is not called (`IndirectCallback.isFetched`).
  private static let forget: IndirectCallback.Invoke = { object, event in
    guard let object else { return true }
    return event == nil ? Host(object).isClosed : Host(object).dispatch(event, whenClosed: true)
  }

  /// True if the host completed the event.
  func dispatch(_ event: UnsafeRawPointer?, whenClosed: Bool) -> Bool {
    whileOpen(whenClosed, event) {
      enterThread()
      return tell(event)
    }
  }

  /// Calls the host's function.
  private func tell(_ event: UnsafeRawPointer?) -> Bool {
    guard let dispatch = state.dispatch else { return false }
    let ticket = UInt(Host.nextTicket())
    return ClientCall.guarded(dispatch, UnsafeRawPointer(bitPattern: ticket), event) == ~ticket
  }

  /// Runs the calling thread's loop; a signal that ends a sleep is an event, after which the run goes on.
  package func run(_ loop: Loop, _ name: ModeName?, timeout: Int64, flags: UInt32) throws(Failure) -> Int32 {
    try demandDispatch()
    return try loop.run(
      name, timeout: timeout, flags: flags | Frame.Flag.returnOnInterrupt, interrupt: interruptCallback)
  }

  /// What a signal leads to that ends a sleep; nil for a host that is not called.
  package var interruptCallback: IndirectCallback? {
    callback.isFetched ? nil : IndirectCallback(object: pointer, invoke: Host.interrupt, drop: nil)
  }

  /// A host that takes no events any more is told by the run's return.
  private static let interrupt: IndirectCallback.Invoke = { object, event in
    guard let object else { return true }
    if Host(object).isClosed { Loop.existing?.frame?.pointee.wasInterrupted = true }
    return Host(object).dispatch(event, whenClosed: true)
  }

  /// The entry of a thread. It lasts as long as the thread, so it is no event in flight: the host is told of the
  /// thread under the gate, and the rest is like a thread of the host's own.
  func runEntry(_ event: UnsafeRawPointer) {
    var isOpen = false
    _ = whileOpen(true) {
      enterThread()
      isOpen = true
      return true
    }
    if isOpen { _ = tell(event) }
  }

  /// Runs `body` unless the gate is closed; whoever closes it waits for this.
  func whileOpen(_ whenClosed: Bool, _ event: UnsafeRawPointer? = nil, _ body: () -> Bool) -> Bool {
    state.inFlight.add(1, ordering: .sequentiallyConsistent)
    var completed = whenClosed
    if isClosed {
      state.dropped.add(1, ordering: .relaxed)
    } else {
      let thread = treadle_system_thread()
      var call = Call(
        end: Host.endCall, host: pointer, outer: thread.pointee.host_call,
        event: UnsafeMutableRawPointer(mutating: event),
        frame: Loop.existing?.frame)
      completed = withUnsafeMutablePointer(to: &call) { record in
        thread.pointee.host_call = UnsafeMutableRawPointer(record)
        let completed = body()
        thread.pointee.host_call = record.pointee.outer
        return completed
      }
    }
    leaveFlight()
    return completed
  }

  private func leaveFlight() {
    state.inFlight.subtract(1, ordering: .sequentiallyConsistent)
    if isClosed { Rest.announce() }
  }

  /// The thread ends inside of a call.
  private static let endCall: @convention(c) (UnsafeMutableRawPointer) -> Void = { memory in
    let call = memory.assumingMemoryBound(to: Call.self).pointee
    treadle_system_thread().pointee.host_call = call.outer
    Host(call.host).leaveFlight()
  }

  /// Never the same twice in a process: a number of the thread's above a count of its own.
  static func nextTicket() -> UInt64 {
    let thread = treadle_system_thread()
    if thread.pointee.number == 0 { thread.pointee.number = treadle_system_next_thread_number() }
    thread.pointee.tickets &+= 1
    return UInt64(thread.pointee.number) << 40 | thread.pointee.tickets & 0xFF_FFFF_FFFF
  }

  /// Closes the gate, then waits for calls that run on other threads.
  package func quiesce(timeout: Int64) throws(Failure) {
    state.closed.store(1, ordering: .sequentiallyConsistent)
    let own = callsOnThisThread
    let until = Clock.after(timeout, from: Clock.now())
    while true {
      let seen = Rest.epoch
      if state.inFlight.load(ordering: .sequentiallyConsistent) <= own { return }
      if timeout <= 0 || Clock.now() >= until {
        throw Failure(Status.timeout, "timeout_ns", "passed while events of the host were in flight")
      }
      try restTarget.wait(seen, until: until)
    }
  }

  /// Its calls.
  package var restTarget: RestTarget {
    RestTarget(pointer) { host, stack in
      Host.count(ThreadStack.at(stack).hostCall, UnsafeMutableRawPointer(bitPattern: host)) != 0
    }
  }

  package var isOnThisThread: Bool { callsOnThisThread != 0 }

  private var callsOnThisThread: UInt32 { Host.count(treadle_system_thread().pointee.host_call, pointer) }

  /// How many of a thread's calls into hosts, from the innermost one on, are into this one.
  private static func count(_ innermost: UnsafeMutableRawPointer?, _ host: UnsafeMutableRawPointer?) -> UInt32 {
    var count: UInt32 = 0
    var call = innermost
    while let record = call?.assumingMemoryBound(to: Call.self) {
      if record.pointee.host == host { count &+= 1 }
      call = record.pointee.outer
    }
    return count
  }

  package var droppedCount: UInt64 { state.dropped.load(ordering: .relaxed) }
}

/// The memory of a host language that has registered itself. A slot that is free stays quiet.
struct HostState: ~Copyable {
  let reference: Reference
  let touched: Atomic<UInt64>
  /// Constant: which of the process's hosts it is, and its functions.
  var slot: UInt32
  let era: Atomic<UInt32>
  var dispatch: Host.Dispatch?
  var enter: Host.ThreadHook?
  var exit: Host.ThreadHook?
  var user: UnsafeMutableRawPointer?
  /// 1: no event starts any more.
  let closed: Atomic<UInt32>
  /// How many calls into the host run now, on all threads.
  let inFlight: Atomic<UInt32>
  let dropped: Atomic<UInt64>
  /// Guards `retired`.
  let gate: Gate
  var retired: Buffer<UInt64>
  /// Registrations whose tokens are not retired yet: `retired` has room for all of them. Gate.
  var registrations: Int
  /// `retired.count`, where the host may look without calling. Relaxed: the tokens themselves are taken under the gate.
  let retiredCount: Atomic<UInt64>
}
