// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// A registration for what Treadle tells the whole process (NOTE-1). It ends with this object, or with `remove`.
  /// Since 1.0.
  public final class RunLoopNotification: Sendable {
    /// What is told, with the C interface's numbers (NOTE-1). Since 1.0.
    public enum Name: UInt32, Sendable {
      /// The first thread is about to be started through Treadle: told once in a process, on the thread that
      /// starts it, before it runs; without a thread (THR-11). Since 1.0.
      case willBecomeMultiThreaded = 1
      /// A thread that has an object ends: told on that thread, with its object (THR-14). Since 1.0.
      case threadWillExit = 2
    }

    private let token: UInt64

    /// Registers for a notification. Those who registered first are called first; one that is added during a
    /// notification is not called for it (NOTE-1). [any]
    /// - Parameters:
    ///   - name: what to be told.
    ///   - thread: told of this thread alone; nil for all.
    ///   - notify: called on the thread that posts the notification; released when the registration was removed
    ///     and no call of it runs.
    /// - Throws: `Failure` when out of memory, or in the child of a fork. Since 1.0.
    public init(
      _ name: Name, of thread: RunLoopThread? = nil, notify: @escaping @Sendable (RunLoopThread?) -> Void
    ) throws(Failure) {
      let info = Unmanaged.passRetained(NotificationBody(notify)).toOpaque()
      let handler = Handler(
        code: unsafeBitCast(NotificationBody.call, to: UnsafeMutableRawPointer.self), info: info,
        destroy: NotificationBody.release)
      var token: UInt64 = 0
      do throws(Failure) {
        try Notifications.add(name.rawValue, object: thread?.thread.handle.bits ?? 0, handler) { token = $0 }
      } catch {
        NotificationBody.release(info)
        throw error
      }
      self.token = token
    }

    deinit { remove() }

    /// Ends the registration: it is not called any more, also not in a notification that is being told. A call that
    /// runs on another thread goes on (NOTE-1). Repeated calls have no effect. [any] Since 1.0.
    public func remove() { try? Notifications.remove(token) }
  }

  /// Who is told; carried through the core's `info`.
  private final class NotificationBody: Sendable {
    private let notify: @Sendable (RunLoopThread?) -> Void

    init(_ notify: @escaping @Sendable (RunLoopThread?) -> Void) { self.notify = notify }

    static let call: Notifications.Plain = { _, object, info in
      guard let info else { return }
      let body = Unmanaged<NotificationBody>.fromOpaque(info).takeUnretainedValue()
      body.notify(object.flatMap { try? RunLoopThread(handle: UInt(bitPattern: $0)) })
    }
    static let release: Handler.Destroy = { info in
      if let info { Unmanaged<NotificationBody>.fromOpaque(info).release() }
    }
  }
#endif
