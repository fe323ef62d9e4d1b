// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A scope: what is made inside of it belongs to it, and ends with it, whatever was forgotten (SCOPE-1 to SCOPE-5): items,
/// threads, posts, requests, notifications, releases that were deferred to a pool, further scopes. Since 1.0.
public final class RunLoopScope: Sendable {
  private let reference: Reference
  /// Its name in reports; empty without a label. Since 1.0.
  public let label: String

  /// Creates a scope. It belongs to the one that the thread has entered, if it has. Any thread.
  /// - Parameter label: its name in reports, at most 255 bytes of UTF-8.
  /// - Throws: `TreadleError` for a label that is too long, when the scope is closed that the thread has entered, or when out
  ///   of memory. Since 1.0.
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

  /// Calls `body` inside of the scope: what it makes on the calling thread belongs to the scope (SCOPE-1). Not what its
  /// callbacks make later. Scopes nest, and the innermost counts. Any thread.
  /// - Returns: what the body returns.
  /// - Throws: the body's own error; `TreadleError`, without a call of the body, when the scope is closed. Since 1.0.
  public func enter<Result>(_ body: () throws -> Result) throws -> Result {
    try check(treadle_scope_enter(handle))
    // Left already only where the body has forked: there nothing is entered any more.
    defer { _ = treadle_scope_leave(handle) }
    return try body()
  }

  /// Ends the scope and all that belongs to it: items and scopes are closed, posts and requests that wait never run,
  /// registrations end, threads are stopped and joined. Nothing more is taken. It waits until none of their callbacks
  /// runs; each body is released once. Otherwise idempotent; several threads may close a scope (SCOPE-2, SCOPE-3). Any thread.
  /// - Parameter timeout: nil waits for ever, zero or less only looks.
  /// - Returns: false from inside one of its own callbacks: the scope is closed then when those return that the thread is in.
  /// - Throws: `TreadleError` when the timeout passes, with the end begun: `holders` tells what goes on, and it can be closed
  ///   again. Since 1.0.
  @discardableResult
  public func close(timeout: Duration? = nil) throws(TreadleError) -> Bool {
    try check(treadle_close(reference.object, timeout.limit)) != TREADLE_DEFERRED
  }

  /// True until the scope's closing begins. Any thread. Since 1.0.
  public var isValid: Bool { treadle_is_valid(reference.object) }

  /// A holder, which keeps a scope from being closed (SCOPE-4). Since 1.0.
  public struct Holder: Sendable, CustomStringConvertible {
    /// Of which kind it is, such as "timer" or "post". Since 1.0.
    public let kind: String
    /// Its label; empty without one. Since 1.0.
    public let label: String
    /// The kernel's id of the thread that is inside of it; 0: of none, or not known. Since 1.0.
    public let threadID: Int32
    /// For how long, since the closing began; zero: it has not. Since 1.0.
    public let held: Duration
    /// The name of that thread, or the first 31 bytes of it; empty: none. Since 1.0.
    public let threadName: String
    /// The label of the item whose callback that thread runs just now; empty: none. Since 1.0.
    public let callback: String

    /// All of it in a line. Since 1.0.
    public var description: String {
      let name = label.isEmpty ? kind : "\(kind) “\(label)”"
      let thread = threadName.isEmpty ? "\(threadID)" : "\(threadID) “\(threadName)”"
      let inside = callback.isEmpty || callback == label ? "" : " in “\(callback)”"
      return (threadID == 0 ? name : "\(name) in thread \(thread)\(inside)") + (held == .zero ? "" : " for \(held)")
    }
  }

  /// The holders in the scope now; if it could not be closed in time, those that hold it up (SCOPE-4). Any thread. Since 1.0.
  public var holders: [Holder] { RunLoopScope.holders(of: handle) }

  static func holders(of handle: OpaquePointer) -> [Holder] {
    var room = 16
    while true {
      var count = 0
      let found = [treadle_scope_holder](unsafeUninitializedCapacity: room) { buffer, filled in
        guard treadle_scope_copy_holders(handle, buffer.baseAddress, MemoryLayout<treadle_scope_holder>.size, room, &count) >= 0 else { return count = 0 }
        filled = min(count, room)
      }
      if count <= room { return found.map(Holder.init) }
      room = count
    }
  }
}

extension RunLoopScope: CustomStringConvertible {
  /// The label, and how many things are in the scope, for debugging. Any thread. Since 1.0.
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
