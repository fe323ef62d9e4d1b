// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A registration for what Treadle tells the whole process (NOTE-1). It ends with this object, or with `remove`.
/// Since 1.0.
public final class RunLoopNotification: Sendable {
  /// Names of notifications, with the C interface's numbers (NOTE-1). Since 1.0.
  public enum Name: UInt32, Sendable {
    /// The first thread is about to be started through Treadle: once in a process, on the thread that
    /// starts it, before it runs; without a thread (THR-11). Since 1.0.
    case willBecomeMultiThreaded = 1
    /// A thread that has an object ends: told on that thread, with its object (THR-14). Since 1.0.
    case threadWillExit = 2
  }

  /// Notifications of ports, with the C interface's numbers (NOTE-1). Since 1.0.
  public enum PortName: UInt32, Sendable {
    /// A port has become invalid, and has left all loops: told on the thread that made it so (PORT-2). Since 1.0.
    case portInvalid = 3
  }

  private typealias Notify = @Sendable (UnsafeMutableRawPointer?) throws -> Void

  private let token: UInt64
  private let name: String

  /// Registers for a notification. Those who registered first are called first; one that is added during a
  /// notification is not called for it (NOTE-1). Any thread.
  /// - Parameters:
  ///   - name: the name of the notification.
  ///   - thread: called for this thread alone; nil for all.
  ///   - scope: the registration's scope; nil: the scope that the thread has entered.
  ///   - notify: called on the thread that posts the notification; released when the registration was removed
  ///     and no call of it runs. An error that it throws is passed to the last-resort handler (THR-19).
  /// - Throws: `TreadleError` when out of memory, in the child of a fork, or when the scope is closed. Since 1.0.
  public convenience init(
    _ name: Name, of thread: RunLoopThread? = nil, scope: RunLoopScope? = nil,
    notify: @escaping @Sendable (RunLoopThread?) throws -> Void
  ) throws(TreadleError) {
    let object = thread.map { UnsafeMutableRawPointer($0.handle) }
    try self.init(name.rawValue, "\(name)", object: object, scope) { object in
      try notify(object.flatMap { try? RunLoopThread(retaining: OpaquePointer($0)) })
    }
  }

  /// Registers for a notification of ports. All else as above. Any thread.
  /// - Parameters:
  ///   - name: the notification.
  ///   - port: for this port alone, which the registration does not keep; nil for all.
  ///   - scope: what the registration belongs to; nil: the scope that the thread has entered.
  ///   - notify: called on the thread that posts the notification, with the port; nil where that is gone already, since
  ///     its last reference has made it invalid.
  /// - Throws: as above. Since 1.0.
  public convenience init(
    _ name: PortName, of port: RunLoopPort? = nil, scope: RunLoopScope? = nil,
    notify: @escaping @Sendable (RunLoopPort?) throws -> Void
  ) throws(TreadleError) {
    try self.init(name.rawValue, "\(name)", object: port?.object, scope) { object in
      try notify(RunLoopPort.keeping(object.map { OpaquePointer($0) }))
    }
  }

  private init(
    _ number: UInt32, _ name: String, object: UnsafeMutableRawPointer?, _ scope: RunLoopScope?,
    _ notify: @escaping Notify
  ) throws(TreadleError) {
    var config = treadle_notification_config()
    config.struct_size = MemoryLayout<treadle_notification_config>.size
    config.name = number
    config.object = object
    config.fn = { _, object, info in Body<Notify>.use(info) { notify in contain { try notify(object) } } }
    config.info = Body<Notify>.pass(notify)
    config.destroy = releaseBody
    var token: UInt64 = 0
    try check(
      scope.use {
        config.scope = $0
        return treadle_notification_add(&config, &token)
      })
    self.token = token
    self.name = name
  }

  deinit { remove() }

  /// Ends the registration: it is not called any more, also not in a notification that is being delivered. A call that
  /// runs on another thread goes on (NOTE-1). Repeated calls have no effect. Any thread. Since 1.0.
  public func remove() { _ = treadle_notification_remove(token) }
}

extension RunLoopNotification: CustomStringConvertible {
  /// A description, for debugging. Any thread. Since 1.0.
  public var description: String { "RunLoopNotification(\(name), \(token))" }
}
