// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A scope: objects created inside of it belong to it, and end with it, even those that were forgotten (SCOPE-1 to
/// SCOPE-7): items, threads, closures, invocations, posts, requests, notifications, values in thread dictionaries,
/// releases that were deferred to a pool, further scopes. When the last reference to this object is released the scope
/// is closed, without a wait. Since 1.0.
public final class RunLoopScope: Sendable {
  private let reference: Reference
  /// Its name in reports; empty without a label. Since 1.0.
  public let label: String

  /// Creates a scope. It belongs to the one that the thread has entered, if it has. Any thread.
  /// - Parameter label: its name in reports, at most 255 bytes of UTF-8.
  /// - Throws: `TreadleError` for a label that is too long, when the scope is closed that the thread has entered, or
  ///   when out of memory. Since 1.0.
  public init(label: String? = nil) throws(TreadleError) {
    if let label, label.utf8.contains(0) { throw TreadleError(.argument, "label contains a NUL") }
    self.label = label ?? ""
    reference = Reference(
      owning: try made { handle in
        withText(label) { label in
          var config = treadle_scope_config()
          config.struct_size = MemoryLayout<treadle_scope_config>.size
          config.label = label
          return treadle_scope_create(&config, handle)
        }
      })
  }

  var handle: OpaquePointer { reference.handle }

  /// Calls `body` inside of the scope: objects that it creates on the calling thread belong to the scope (SCOPE-1).
  /// Objects that its callbacks create later do not. Scopes nest: the last entered scope counts (SCOPE-5). Any thread.
  /// - Returns: what the body returns.
  /// - Throws: the body's own error; `TreadleError`, without a call of the body, when the scope is closed. Since 1.0.
  public func enter<Result>(_ body: () throws -> Result) throws -> Result {
    try check(treadle_scope_enter(handle))
    // Left already only where the body has forked: there nothing is entered any more.
    defer { _ = treadle_scope_leave(handle) }
    return try body()
  }

  /// Closes the scope and ends all its members, in the reverse order of their creation (SCOPE-7): items, closures and
  /// scopes are closed, queued posts and requests are not called, registrations are removed, threads are stopped and
  /// joined. New members are refused. Waits until none of their callbacks runs; each body is released once. May be
  /// called again, and by several threads (SCOPE-2, SCOPE-3). Any thread.
  /// - Parameter timeout: nil waits for ever, zero or less does not wait.
  /// - Returns: false from inside one of its own callbacks: the scope is closed when the calling thread's callbacks of
  ///   the scope have returned (SCOPE-4).
  /// - Throws: `TreadleError`, with the closing begun: `.timeout` when the timeout passes, see `holders`, and close it
  ///   again; `.deadlock` when a holder waits for the calling thread. Since 1.0.
  @discardableResult
  public func close(timeout: Duration? = nil) throws(TreadleError) -> Bool {
    try check(treadle_close(reference.object, timeout.limit)) != TREADLE_DEFERRED
  }

  /// True until the scope's closing begins. Any thread. Since 1.0.
  public var isValid: Bool { treadle_is_valid(reference.object) }

  /// A member of a scope that keeps it from being closed (SCOPE-3). Since 1.0.
  public struct Holder: Sendable, CustomStringConvertible {
    /// Its kind, such as "timer" or "post". Since 1.0.
    public let kind: String
    /// Its label, at most 63 bytes of it; empty if it has none. Since 1.0.
    public let label: String
    /// The kernel id of the thread inside of it; 0 if none, or unknown. Since 1.0.
    public let threadID: Int32
    /// The time since the closing began; zero before. Since 1.0.
    public let held: Duration
    /// The name of that thread, at most 31 bytes of it; empty if none. Since 1.0.
    public let threadName: String
    /// The label of the item whose callback that thread runs, at most 63 bytes of it; empty if none. Since 1.0.
    public let callback: String

    /// All of it in a line. Since 1.0.
    public var description: String {
      let name = label.isEmpty ? kind : "\(kind) “\(label)”"
      let thread = threadName.isEmpty ? "\(threadID)" : "\(threadID) “\(threadName)”"
      let inside = callback.isEmpty || callback == label ? "" : " in “\(callback)”"
      return (threadID == 0 ? name : "\(name) in thread \(thread)\(inside)") + (held == .zero ? "" : " for \(held)")
    }
  }

  /// The scope's holders; if it could not be closed in time, those that hold up the closing (SCOPE-3). Any thread.
  /// Since 1.0.
  public var holders: [Holder] { RunLoopScope.holders(of: handle) }

  static func holders(of handle: OpaquePointer) -> [Holder] {
    var room = 16
    while true {
      var count = 0
      let found = [treadle_scope_holder](unsafeUninitializedCapacity: room) { buffer, filled in
        guard
          treadle_scope_copy_holders(handle, buffer.baseAddress, MemoryLayout<treadle_scope_holder>.size, room, &count)
            >= 0
        else { return count = 0 }
        filled = min(count, room)
      }
      if count <= room { return found.map(Holder.init) }
      room = count
    }
  }
}

extension RunLoopScope: CustomStringConvertible {
  /// The label, the state and the number of holders, for debugging. Any thread. Since 1.0.
  public var description: String {
    let state = isValid ? "open" : holders.isEmpty ? "closed" : "closing"
    return "RunLoopScope(\(label.isEmpty ? "" : "“\(label)”, ")\(state), \(holders.count) inside)"
  }
}

extension RunLoopScope.Holder {
  fileprivate init(_ holder: treadle_scope_holder) {
    var (text, name, callback) = (holder.label, holder.thread_name, holder.callback)
    kind = RunLoopScope.Holder.names[Int(holder.kind)] ?? "object of kind \(holder.kind)"
    label = textOf(&text)
    threadID = holder.thread_id
    held = .nanoseconds(holder.held_ns)
    threadName = textOf(&name)
    self.callback = textOf(&callback)
  }

  private static let names: [Int: String] = [
    TREADLE_KIND_SOURCE: "source", TREADLE_KIND_TIMER: "timer", TREADLE_KIND_OBSERVER: "observer",
    TREADLE_KIND_DESCRIPTOR: "descriptor source", TREADLE_KIND_HOST: "host", TREADLE_KIND_THREAD: "thread",
    TREADLE_KIND_INVOCATION: "invocation", TREADLE_KIND_CLOSURE: "closure", TREADLE_KIND_SCOPE: "scope",
    TREADLE_KIND_PORT: "port", TREADLE_KIND_ROUTINE: "routine",
    TREADLE_HOLDER_POST: "post", TREADLE_HOLDER_REQUEST: "request", TREADLE_HOLDER_NOTIFICATION: "notification",
    TREADLE_HOLDER_POOLED: "pool entry", TREADLE_HOLDER_CALL: "call", TREADLE_HOLDER_VALUE: "value",
    TREADLE_HOLDER_PLUGIN: "plugin",
  ]
}

extension RunLoopScope? {
  /// Calls `body` with the scope's handle, which lives meanwhile; NULL for none.
  func use(_ body: (OpaquePointer?) -> treadle_status) -> treadle_status {
    guard let self else { return body(nil) }
    return withExtendedLifetime(self) { body(self.handle) }
  }
}
