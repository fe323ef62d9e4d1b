// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase
import TreadleCalls
package import TreadleCore

/// A message port (MSG-1 to MSG-9): what there is besides the descriptor source that it is. The source watches the
/// port's set of connections, or a remote port's connection; so modes, scopes, references and the end are those of
/// items. A thin handle.
///
/// *Lock*: the port's own. System calls that do not wait are made under it; no client is called.
package struct MessagePort {
  package typealias Receive = @convention(c) (OpaquePointer?, UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void
  package typealias Invalidated = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void

  let address: UnsafeMutablePointer<MessagePortState>
  /// What the handle leads to.
  @inline(__always)
  var state: MessagePortState {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  init(_ memory: UnsafeMutableRawPointer) { address = memory.assumingMemoryBound(to: MessagePortState.self) }

  /// What a client says of a new port, besides what all items have.
  package struct Plan {
    package var receive: Receive? = nil
    package var invalidated: Invalidated? = nil
    /// The port's, whether it is made or not.
    package var functions = Buffer<ExportedFunction>()
    package var users = UnsafeBufferPointer<UInt32>(start: nil, count: 0)
    /// Of a remote port: whose name is meant; nil: the process's own user's.
    package var owner: UInt32? = nil
    package var host: Host? = nil
    package var token: UInt64 = 0

    package init() {}
  }

  // MARK: Its life

  /// Memory for a port that has no source yet, with one reference.
  static func make(_ plan: Plan, isRemote: Bool) throws(Failure) -> MessagePort {
    let uncertain = uncertainUser(plan)
    guard uncertain == nil, let memory = treadle_system_allocate(MemoryLayout<MessagePortState>.size) else {
      var functions = plan.functions
      for function in functions.elements { function.free() }
      functions.free()
      throw uncertain ?? Failure.noMemory("port")
    }
    let port = MessagePort(memory)
    port.address.initialize(to: MessagePortState(isRemote: isRemote, plan))
    for user in plan.users {
      if !port.state.users.append(user) {
        port.letGo()
        throw Failure.noMemory("port")
      }
    }
    return port
  }

  /// A port trusts users by their numbers, so each number must mean one user.
  private static func uncertainUser(_ plan: Plan) -> Failure? {
    let text: StaticString = "cannot be distinguished from users that the process's user namespace does not map"
    for user in plan.users where !treadle_system_user_is_certain(user) {
      return Failure(Status.notSupported, "users", text)
    }
    if treadle_system_user_is_certain(plan.owner ?? treadle_system_user()) { return nil }
    return Failure(Status.notSupported, plan.owner == nil ? "process's user" : "owner", text)
  }

  func hold() { state.references.add(1, ordering: .relaxed) }

  /// Drops a reference; with the last one its memory goes.
  func letGo() {
    if state.references.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
    closeAll()
    state.users.free()
    for function in state.functions.elements { function.free() }
    state.functions.free()
    state.connections.free()
    state.name.free()
    treadle_system_free(address)
  }

  /// The source of a port: from here on it is the source's, which ends it.
  func makeItem(_ context: Context, info: UnsafeMutableRawPointer?, watching number: Int32) throws(Failure) -> Item {
    var context = context
    // Nobody else changes the name yet.
    if context.label == nil { context.label = UnsafePointer(state.name.text) }
    context.main = IndirectCallback(
      object: UnsafeMutableRawPointer(address), invoke: MessagePort.serve, drop: MessagePort.drop)
    context.ending = MessagePort.end
    context.joining = MessagePort.joining
    var made: Item?
    var failure: Failure?
    // The client's retain may end the thread.
    ObjectCall.recorded(0, UnsafeMutableRawPointer(address), { MessagePort($0).giveUp() }) {
      do throws(Failure) {
        made = try Item.descriptor(
          code: nil, info: info, context: context, number: number, events: Readiness.readable, isAcknowledged: false)
      } catch { failure = error }
    }
    guard let item = made else { throw failure ?? Failure.noMemory("port") }
    state.item.store(UInt64(item.handle.bits), ordering: .releasing)
    Rest.announce()
    return item
  }

  private static let drop: IndirectCallback.Drop = { memory in if let memory { MessagePort(memory).letGo() } }
  private static let end: IndirectCallback.Drop = { memory in if let memory { MessagePort(memory).finish() } }
  private static let serve: IndirectCallback.Invoke = { memory, event in
    guard let memory else { return true }
    let port = MessagePort(memory)
    return port.isRemote ? port.listen() : port.receive()
  }

  // MARK: What it is

  var isRemote: Bool { state.isRemote }
  package var handle: UInt { UInt(state.item.load(ordering: .acquiring)) }
  /// The life of the process that it was made in: the child of a fork leaves its parent's ports alone.
  var isForked: Bool { treadle_system_tag() != state.tag }

  func lock() { state.mutex.lock(.messagePort) }
  func unlock() { state.mutex.unlock(.messagePort) }

  /// The port that an item is; nil for any other item.
  private init?(_ item: Item) {
    guard let callback = item.indirect, let memory = callback.object, let invoke = callback.invoke,
      unsafeBitCast(invoke, to: UInt.self) == unsafeBitCast(MessagePort.serve, to: UInt.self)
    else { return nil }
    self.init(memory)
  }

  /// A port that a client's handle means, and its item, which is held until `letGo`.
  package struct Held {
    package let port: MessagePort
    package let item: Item

    package func letGo() { item.letGo() }
  }

  @inline(never)
  package static func hold(_ handle: UInt) throws(Failure) -> Held {
    let item = try Item.hold(.descriptor, handle, "port")
    if let port = MessagePort(item) { return Held(port: port, item: item) }
    item.letGo()
    throw Failure(Status.kind, "port", "is a descriptor source, not a message port")
  }

  /// Holds a port during `body`, which may run clients. A close of the port from inside knows by the record that it
  /// would wait for this call; if a client ends the thread, the port is let go all the same.
  static func using(_ handle: UInt, _ body: (Held) throws(Failure) -> Void) throws(Failure) {
    var held = try hold(handle)
    var failure: Failure?
    withUnsafeMutablePointer(to: &held) { held in
      ObjectCall.recorded(handle, held, { $0.assumingMemoryBound(to: Held.self).pointee.letGo() }) {
        do throws(Failure) { try body(held.pointee) } catch { failure = error }
      }
    }
    held.letGo()
    if let failure { throw failure }
  }

  static let invalidFailure = Failure(Status.state, "port", "is invalid")
  static let goneFailure = Failure(Status.closed, "port", "has lost its other side")

  /// Whether it sends to a name.
  package static func isRemote(_ handle: UInt) throws(Failure) -> Bool {
    let held = try hold(handle)
    defer { held.letGo() }
    return held.port.isRemote
  }

  package static func getName(_ handle: UInt, _ text: inout FixedText) throws(Failure) {
    let held = try hold(handle)
    defer { held.letGo() }
    held.port.lock()
    defer { held.port.unlock() }
    if let name = held.port.state.name.text { text.append(UnsafePointer(name)) }
  }
}

/// The memory of a port.
struct MessagePortState: ~Copyable {
  let references = Atomic<UInt32>(1)
  let isRemote: Bool
  let tag: UInt32
  /// The handle of its source; 0 until that is there.
  let item = Atomic<UInt64>(0)
  let mutex = Mutex()
  // Constant.
  let receive: MessagePort.Receive?
  let host: Host?
  let token: UInt64
  /// Whose name it is.
  let owner: UInt32
  // Lock of the registry of those with a name (`MessagePortRegistry`).
  var isListed = false
  /// Its end has removed it from there: it gets no name any more.
  var hasLeft = false
  /// The kernel's id of the thread that makes it, while there is no item.
  var maker: Int32 = 0

  // Lock; the name changes under the registry's as well.
  var name = MessagePortName()
  var invalidated: MessagePort.Invalidated?
  /// It is over: its sockets are closed, or will be by who still uses them.
  var isOver = false
  /// Somebody was told that, or nobody will be.
  var isTold = false

  /// The loop that looks for itself whether rings have frames, as an address (`MessagePort+Looking`); 0 for none. And
  /// how many times in a row such a ring had one.
  var lookingLoop: UInt = 0
  var looksInARow: UInt32 = 0

  /// A local port of one connection, with which it ends (`MessagePort+Inherited`). Constant.
  var isInherited = false

  // Of a local port; lock, but for `users` and `functions`, which are constant.
  var users = Buffer<UInt32>()
  var functions: Buffer<ExportedFunction>
  var listener = MessageSocket.none
  /// The set of all its sockets and bells, which the source watches; a remote port's, too.
  var set = MessageSocket.none
  /// A descriptor to give up when there is none left.
  var reserve = MessageSocket.none
  /// A timer in the set, whether it is set, and for how long it was set last; whether the listener, or a remote port's
  /// socket, rests until it goes off; whether the thread is to sleep for want of a timer (`MessagePort+Pausing`). A
  /// remote port's, too.
  var pauseTimer = MessageSocket.none
  var isPausing = false
  var pauseLength: Int64 = 0
  var isResting = false
  var mustSleep = false
  var connections = Buffer<MessageConnection>()
  /// The first of the places in `connections` that are free; -1 for none.
  var freePlace = -1
  /// Those that have not said yet what they want, from the oldest on; -1 for none.
  var firstSilent = -1
  var lastSilent = -1
  var connectionCount = 0
  /// How many of them have a ring.
  var ringCount = 0
  var looked = LookedConnections()

  // Of a remote port; lock.
  var socket = MessageSocket.none
  /// How many threads use the socket outside of the lock: the last one closes it.
  var socketUses = 0
  /// From the question for a ring on.
  var ringQuestion = MessagePort.RingQuestion.none
  var ring: MessageRing.Pointer? = nil
  /// Frames that were sent by the socket, or are about to be.
  var socketSent: UInt32 = 0
  var lastSerial: UInt32 = 0
  /// Those who wait for a reply.
  var waits: UnsafeMutablePointer<ReplyWait>? = nil

  init(isRemote: Bool, _ plan: MessagePort.Plan) {
    self.isRemote = isRemote
    tag = treadle_system_tag()
    receive = plan.receive
    invalidated = plan.invalidated
    host = plan.host
    token = plan.token
    functions = plan.functions
    owner = plan.owner ?? treadle_system_user()
  }
}
