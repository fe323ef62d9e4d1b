// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A port: any thread sends it messages, and the loops to which it was added receive them, one in a pass (PORT-4,
/// PORT-6). The object itself is the address (MPORT-1). While it is in no mode its messages wait. When it ends, a
/// waiter for room is refused, and its messages are dropped (PORT-2). Since 1.0.
public final class RunLoopPort: RunLoopItem, @unchecked Sendable {
  private typealias Receive = @Sendable (RunLoopPort, RunLoopMessage) throws -> Void

  private final class Bodies: ItemBody, @unchecked Sendable {
    let receive: Receive
    init(_ receive: @escaping Receive) { self.receive = receive }
  }

  /// Creates a port, in no mode yet. Any thread.
  /// - Parameters:
  ///   - capacity: how many messages may wait, at most 16,777,215; nil: 1,024.
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: the port's scope; nil: the scope that the thread has entered.
  ///   - receive: called on the loop's thread with the port and a message, which may be kept. An error that it throws
  ///     is passed to the last-resort handler (THR-19).
  /// - Throws: `TreadleError` for a capacity that is not from 1 to 16,777,215, a label that is too long, when out of
  ///   memory, or when the scope is closed. Since 1.0.
  public convenience init(
    capacity: Int? = nil, label: String? = nil, scope: RunLoopScope? = nil,
    receive: @escaping @Sendable (RunLoopPort, RunLoopMessage) throws -> Void
  ) throws(TreadleError) {
    let room = capacity.map { UInt32(exactly: $0) ?? 0 }
    if room == 0 { throw TreadleError(.range, "capacity is not from 1 to 16,777,215") }
    self.init(
      owning: try makeItem(of: Bodies(receive), label: label) { info, label, handle in
        var context = treadle_port_context()
        context.struct_size = MemoryLayout<treadle_port_context>.size
        context.info = info
        context.release = releaseBody
        context.receive = { port, message, info in
          ItemBody.lend(port, info) { (own: Bodies, port: RunLoopPort) in
            if let message { try own.receive(port, RunLoopMessage(retaining: message)) }
          }
        }
        context.capacity = room ?? 0
        context.label = label
        return scope.use {
          context.scope = $0
          return treadle_port_create(&context, handle)
        }
      })
  }

  /// Sends a message. All that is in it is copied before this returns: descriptors are duplicated, ports kept
  /// (MPORT-2). Messages of one thread arrive in their order. If the port has no room, this waits for some: an actor's
  /// or a task's thread is held up then. Any thread.
  /// - Parameters:
  ///   - components: what it carries, 65,535 at most.
  ///   - id: of whatever meaning.
  ///   - replyPort: where an answer goes; nil: none is expected.
  ///   - timeout: nil waits for ever, zero or less only tries.
  /// - Throws: `TreadleError`, with nothing sent: `.timeout` without room in time; `.deadlock` where only the calling
  ///   thread could make room, itself or through others that wait for it; `.closed` for a port that is invalid, or
  ///   becomes so meanwhile; `.argument` for a descriptor that is not open; `.range` for too many components; `.system`
  ///   for one that cannot be duplicated. Since 1.0.
  public func send(
    _ components: [RunLoopMessage.Component] = [], id: UInt32 = 0, replyPort: RunLoopPort? = nil,
    timeout: Duration? = nil
  ) throws(TreadleError) {
    let status = RunLoopMessage.Component.withArray(components) { array, count in
      var content = treadle_message_content()
      content.struct_size = MemoryLayout<treadle_message_content>.size
      content.id = id
      content.components = array
      content.component_count = count
      content.reply_port = replyPort?.handle
      return withExtendedLifetime(replyPort) { treadle_port_send(handle, &content, timeout.limit) }
    }
    try check(status)
  }

  /// The same for a message of bytes alone: the quickest way. Any thread.
  /// - Parameters:
  ///   - bytes: what it carries.
  ///   - id: of whatever meaning.
  ///   - timeout: nil waits for ever, zero or less only tries.
  /// - Throws: as above. Since 1.0.
  public func send(bytes: [UInt8], id: UInt32 = 0, timeout: Duration? = nil) throws(TreadleError) {
    try check(bytes.withUnsafeBytes { treadle_port_send_bytes(handle, id, $0.baseAddress, $0.count, timeout.limit) })
  }

  /// How many messages wait; 0 for a port that is gone. Any thread. Since 1.0.
  public var count: Int { counts.count }

  /// How many messages may wait; 0 for a port that is gone. Any thread. Since 1.0.
  public var capacity: Int { counts.capacity }

  private var counts: (count: Int, capacity: Int) {
    var count = 0, capacity = 0
    _ = treadle_port_get_count(handle, &count, &capacity)
    return (count, capacity)
  }

  /// Another reference to a port that a message has lent; nil where that is gone, or has no reference left, which is
  /// told of.
  static func keeping(_ handle: OpaquePointer?) -> RunLoopPort? {
    guard let handle, isRetained(UnsafeMutableRawPointer(handle)) else { return nil }
    return RunLoopPort(owning: handle)
  }
}
