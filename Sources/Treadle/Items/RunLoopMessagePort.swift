// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A message port: one side serves a name, and any number of others send to that, from threads or other processes of
/// the same user (MSG-1, MSG-3). Messages are a number and some bytes. A loop's `items` have it by this class. Since
/// 1.0.
public final class RunLoopMessagePort: RunLoopItem, @unchecked Sendable {
  private typealias Receive = @Sendable (RunLoopMessagePort, Message) throws -> [UInt8]?
  private typealias Invalidated = @Sendable (RunLoopMessagePort) throws -> Void

  private final class Bodies: ItemBody, @unchecked Sendable {
    let receive: Receive?
    let invalidated: Invalidated?
    let functions: [ExportedFunction]
    init(_ receive: Receive?, _ invalidated: Invalidated?, _ functions: [ExportedFunction] = []) {
      self.receive = receive
      self.invalidated = invalidated
      self.functions = functions
    }
  }

  /// A message that has come in. Since 1.0.
  public struct Message: Sendable {
    /// As the sender gave it. Since 1.0.
    public let id: Int32
    /// A copy of its bytes. Since 1.0.
    public let bytes: [UInt8]
    /// The sender waits for a reply. Since 1.0.
    public let wantsReply: Bool
    /// The kernel's id of the process that made the remote port. Since 1.0.
    public let senderProcess: Int32
    /// The user of that process, as the kernel says (MSG-9). Since 1.0.
    public let senderUser: UInt32

    fileprivate init(_ message: treadle_message_port_message) {
      id = message.id
      bytes = [UInt8](UnsafeRawBufferPointer(start: message.data, count: message.data == nil ? 0 : message.size))
      wantsReply = Int(message.flags) & TREADLE_MESSAGE_PORT_WANTS_REPLY != 0
      senderProcess = message.sender_process
      senderUser = message.sender_user
    }
  }

  /// Makes a port that serves a name, in no mode yet. Any thread.
  /// - Parameters:
  ///   - name: of at most 255 bytes of UTF-8, what is longer is cut; nil: none yet, see `rename`.
  ///   - users: the ids of other users who may send to it, 1,024 at most.
  ///   - functions: what senders may call by `call`, 1,024 at most. They are called on the thread of a loop that has
  ///     the port, one in a pass, in their turn among the messages (MSG-11).
  ///   - label: what reports call it, of 255 bytes of UTF-8 at most; nil: its name.
  ///   - scope: what the port belongs to; nil: the scope that the thread has entered.
  ///   - invalidated: called once when the port has become invalid, on the thread that made it so or found out (MSG-7).
  ///   - receive: called with each message, one in a pass, on the thread of a loop that has the port. A sender that
  ///     waits gets its result as the reply; nil: an empty one (MSG-5). Its errors go to the last-resort handler
  ///     (THR-19).
  /// - Throws: `TreadleError`: `.exists` if the name is served already, by this process or another; `.argument` for an
  ///   empty name, or one with a NUL; `.range` for too many users or functions, or too long a label; `.signature` for a
  ///   function that cannot be called in another process; `.system`; when out of memory, or the scope is closed. Since
  ///   1.0.
  public convenience init(
    serving name: String?, users: [UInt32] = [], functions: [ExportedFunction] = [], label: String? = nil,
    scope: RunLoopScope? = nil,
    invalidated: (@Sendable (RunLoopMessagePort) throws -> Void)? = nil,
    receive: @escaping @Sendable (RunLoopMessagePort, Message) throws -> [UInt8]?
  ) throws(TreadleError) {
    let refusal: StaticString = "the name is served by another port of this process"
    for function in functions where function.name.utf8.contains(0) || function.signature.utf8.contains(0) {
      throw TreadleError(.argument, "functions contains a NUL")
    }
    let bodies = Bodies(receive, invalidated, functions)
    let handle = try RunLoopMessagePort.create(bodies, label, name, scope, refusal) { context, name, handle in
      context.receive = { port, message, info in
        ItemBody.lend(port, info) { (own: Bodies, port: RunLoopMessagePort) in
          guard let message, let reply = try own.receive?(port, Message(message.pointee)) else { return }
          try check(
            reply.withUnsafeBytes { treadle_message_port_reply(message.pointee.call, $0.baseAddress, $0.count) })
        }
      }
      return users.withUnsafeBufferPointer { users in
        context.users = users.isEmpty ? nil : users.baseAddress
        context.user_count = users.count
        return RunLoopMessagePort.withNative(functions) { functions, count in
          context.functions = functions
          context.function_count = count
          return treadle_message_port_create_local(name, &context, handle)
        }
      }
    }
    self.init(owning: handle)
  }

  /// Makes a port that sends to a name, connected to the server of that name. If this process has a valid port of the
  /// name, the new object is equal to it (MSG-3). In a loop it finds out by itself that the other side has gone. Any
  /// thread.
  /// - Parameters:
  ///   - name: as above.
  ///   - owner: the user whose name is meant; nil: the process's own.
  ///   - label: its label in reports, of 255 bytes of UTF-8 at most; nil: its name.
  ///   - scope: the port's scope; nil: the scope that the thread has entered.
  ///   - invalidated: called once when the port has become invalid, on the thread that made it so or found out (MSG-7).
  /// - Throws: `TreadleError`: `.notFound` if the name has no server, or one of another user; `.exists` if this process
  ///   has the port already, and there is a body for its end, for which there is no room then; the others as above.
  ///   Since 1.0.
  public convenience init(
    sendingTo name: String, owner: UInt32? = nil, label: String? = nil, scope: RunLoopScope? = nil,
    invalidated: (@Sendable (RunLoopMessagePort) throws -> Void)? = nil
  ) throws(TreadleError) {
    let refusal: StaticString? =
      invalidated == nil ? nil : "the name is connected to already, and its end is told to others"
    let handle = try RunLoopMessagePort.create(Bodies(nil, invalidated), label, name, scope, refusal) {
      context, name, handle in
      context.owner = owner ?? 0
      context.has_owner = owner == nil ? 0 : 1
      return treadle_message_port_create_remote(name, &context, handle)
    }
    self.init(owning: handle)
  }

  /// Makes a port of its bodies by `make`. If this process has it already nothing is taken of the bodies, and the port
  /// is what is returned unless there is a refusal.
  private static func create(
    _ bodies: Bodies, _ label: String?, _ name: String?, _ scope: RunLoopScope?, _ refusal: StaticString?,
    _ make: (inout treadle_message_port_context, UnsafePointer<CChar>?, UnsafeMutablePointer<OpaquePointer?>) ->
      treadle_status
  ) throws(TreadleError) -> OpaquePointer {
    if let name, name.utf8.contains(0) { throw TreadleError(.argument, "name contains a NUL") }
    var isKnown = false
    let handle = try makeItem(of: bodies, label: label) { info, label, handle in
      var context = treadle_message_port_context()
      context.struct_size = MemoryLayout<treadle_message_port_context>.size
      context.info = info
      context.release = releaseBody
      if bodies.invalidated != nil {
        context.invalidated = { port, info in
          ItemBody.lend(port, info) { (own: Bodies, port: RunLoopMessagePort) in try own.invalidated?(port) }
        }
      }
      context.label = label
      let status = withText(name) { name in
        scope.use {
          context.scope = $0
          return make(&context, name, handle)
        }
      }
      isKnown = status == TREADLE_IGNORED
      if isKnown { releaseBody(info) }
      return status
    }
    if isKnown, let refusal {
      _ = treadle_release(UnsafeMutableRawPointer(handle))
      throw TreadleError(.exists, "\(refusal)")
    }
    return handle
  }

  // MARK: What it is

  /// Whether it sends to a name. Any thread. Since 1.0.
  public var isRemote: Bool { treadle_message_port_is_remote(handle) }

  /// Its name; nil for none, and for a port that is gone. Any thread. Since 1.0.
  public var name: String? {
    let name = text { treadle_message_port_get_name(handle, $0, $1, $2) }
    return name == "" ? nil : name
  }

  /// Gives a local port another name, or its first one. It stays in its loops; remote ports by the old name become
  /// invalid (MSG-2). Any thread.
  /// - Throws: `TreadleError`, with the port as it was: `.exists` if the name is taken; `.state` for a remote or an
  ///   invalid port; `.argument` for an empty name, or one with a NUL; `.system`; when out of memory. Since 1.0.
  public func rename(_ name: String) throws(TreadleError) {
    if name.utf8.contains(0) { throw TreadleError(.argument, "name contains a NUL") }
    try check(name.withCString { treadle_message_port_set_name(handle, $0) })
  }

  /// Whether the port can be used now: of a remote one, whether the other side is still there, without waiting for a
  /// loop to find out. It becomes invalid here if not (MSG-7). Any thread. Since 1.0.
  public func isUsable() -> Bool { treadle_message_port_check(handle) == TREADLE_OK }

  /// Receives nothing until `resume`; the port stays in its modes. Any thread.
  /// - Throws: `TreadleError` when it is invalid. Since 1.0.
  public func pause() throws(TreadleError) { try check(treadle_descriptor_set_events(handle, 0)) }

  /// Receives messages again. Any thread.
  /// - Throws: `TreadleError` when it is invalid. Since 1.0.
  public func resume() throws(TreadleError) {
    try check(treadle_descriptor_set_events(handle, UInt32(TREADLE_READABLE)))
  }

  // MARK: Sending

  /// Sends a message that wants no reply: it is over when the other side's queue has it (MSG-6). If that has no room,
  /// this waits for some, without running a loop: an actor's or a task's thread is held up then. Any thread.
  /// - Parameters:
  ///   - bytes: 0x60000000 at most.
  ///   - id: of whatever meaning.
  ///   - timeout: nil waits for ever, zero or less only tries.
  /// - Throws: `TreadleError`, with nothing sent: `.timeout` without room in time; `.closed` if the other side has gone
  ///   by now; `.state` for a local or an invalid port; `.range` for too many bytes; `.system`; when out of memory.
  ///   Since 1.0.
  public func send(_ bytes: [UInt8] = [], id: Int32 = 0, timeout: Duration? = nil) throws(TreadleError) {
    try check(bytes.withUnsafeBytes { treadle_message_port_send(handle, id, $0.baseAddress, $0.count, timeout.limit) })
  }

  /// Sends a message and returns its reply, for which the calling thread's loop is run in the mode: what else is in it
  /// is served meanwhile. A port that this very loop serves replies only if it is in the mode (MSG-6). Any thread; it
  /// holds that up, so not in tasks of Swift's own threads.
  /// - Parameters:
  ///   - bytes: the content.
  ///   - id: a number for the receiver.
  ///   - mode: `.replies`, or another one of your own, to which you add what must go on.
  ///   - timeout: limits the wait for room, and the wait for the reply, each; nil waits for ever, zero or less only
  ///     looks. A reply that comes later is dropped.
  /// - Returns: the reply's bytes; none where the other side has given none.
  /// - Throws: `TreadleError`: `.timeout` without room in time, with nothing sent; `.noReply` without a reply in time;
  ///   `.closed` if the other side has gone, or has ended its thread in place of an answer; `.argument` for the common
  ///   modes; the others as above. Since 1.0.
  public func request(
    _ bytes: [UInt8] = [], id: Int32 = 0, in mode: RunLoopMode = .replies, timeout: Duration? = nil
  ) throws(TreadleError) -> [UInt8] {
    var reply: [UInt8] = []
    let status = withUnsafeMutablePointer(to: &reply) { reply in
      mode.withName { mode in
        bytes.withUnsafeBytes { bytes in
          treadle_message_port_request(
            handle, id, bytes.baseAddress, bytes.count, timeout.limit, timeout.limit, mode,
            { data, size, info in
              guard let data, let info else { return }
              info.assumingMemoryBound(to: [UInt8].self).pointee = [UInt8](
                UnsafeRawBufferPointer(start: data, count: size))
            }, reply)
        }
      }
    }
    try check(status)
    return reply
  }
}
