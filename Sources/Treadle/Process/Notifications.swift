// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// What Treadle tells the whole process (NOTE-1).
package enum Notifications {
  typealias Plain = @convention(c) (UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void

  package static let willBecomeMultiThreaded: UInt32 = 1
  package static let threadWillExit: UInt32 = 2

  /// Registers a handler, for one object or with 0 for all. `store` gets the token that ends it, before anybody
  /// is told of anything. Takes the handler over on success only.
  package static func add(
    _ name: UInt32, object: UInt, _ handler: Handler, store: (UInt64) -> Void
  ) throws(Failure) {
    try Runtime.start()
    if name != willBecomeMultiThreaded && name != threadWillExit {
      throw Failure(Status.argument, "name", "is not that of a notification")
    }
    guard let handler = handler.allocated() else { throw Failure.noMemory("notification") }
    // Before the registration is in the list, so that whoever can know of it looks.
    treadle_system_set_notified()
    let lock = NotificationList.lock
    lock.pointee.lock(.process)
    let token = NotificationList.shared.pointee.append(name, object, handler)
    if let token { store(token) }
    lock.pointee.unlock(.process)
    if token != nil { return }
    treadle_system_free(handler)
    throw Failure.noMemory("notification")
  }

  /// Ends a registration. Its handler goes when no call of it runs.
  package static func remove(_ token: UInt64) throws(Failure) {
    try Runtime.start()
    let lock = NotificationList.lock
    lock.pointee.lock(.process)
    let handler = NotificationList.shared.pointee.remove(token)
    let isLast = handler?.pointee.endUse() ?? false
    lock.pointee.unlock(.process)
    guard let handler else { throw Failure(Status.notFound, "token", "is not that of a registration") }
    if isLast { Handler.free(handler) }
  }

  /// Calls those that are registered for this, one after the other in the order of registration, here and now.
  /// Those that are added meanwhile are not called; those that are removed meanwhile neither.
  package static func post(_ name: UInt32, object: UInt) {
    // Every thread posts at its end: without a registration ever, none takes the lock that they all share.
    if !treadle_system_is_notified() { return }
    let lock = NotificationList.lock
    let list = NotificationList.shared
    let tag = treadle_system_tag()
    if tag == 0 { return }
    lock.pointee.lock(.process)
    let newest = list.pointee.latest
    var told: UInt64 = 0
    while let entry = list.pointee.next(after: told, upTo: newest, name, object), let handler = entry.handler {
      told = entry.token
      handler.pointee.use()
      lock.pointee.unlock(.process)
      call(handler, name, object)
      // It may have forked: in the child, the list and the lock are not what they were.
      if treadle_system_tag() != tag { return }
      lock.pointee.lock(.process)
      if handler.pointee.endUse() {
        lock.pointee.unlock(.process)
        Handler.free(handler)
        if treadle_system_tag() != tag { return }
        lock.pointee.lock(.process)
      }
    }
    lock.pointee.unlock(.process)
  }

  private static func call(_ handler: UnsafeMutablePointer<Handler>, _ name: UInt32, _ object: UInt) {
    _ = ClientCall.during {
      if let code = handler.pointee.code {
        unsafeBitCast(code, to: Plain.self)(name, UnsafeMutableRawPointer(bitPattern: object), handler.pointee.info)
      } else {
        handler.pointee.tellHost?(handler.pointee.host, name, object, handler.pointee.token)
      }
    }
  }
}

/// One registration for a notification. All-zero bytes are one that was removed.
struct NotificationEntry {
  var token: UInt64
  var name: UInt32
  var object: UInt
  /// Nil once the registration was removed.
  var handler: UnsafeMutablePointer<Handler>?
}

/// The process's registrations in their order, which is that of their tokens. Lies in static memory, where all-zero
/// bytes are an empty one; guarded by the lock beside it.
struct NotificationList {
  private var entries: Buffer<NotificationEntry>
  private var removedCount: Int
  /// The latest token; none is given twice.
  private(set) var latest: UInt64

  static var lock: UnsafeMutablePointer<Mutex> { Mutex.at(treadle_system_notification_lock()) }
  static var shared: UnsafeMutablePointer<NotificationList> {
    treadle_system_notification_list().assumingMemoryBound(to: NotificationList.self)
  }

  /// The new token; nil without memory.
  mutating func append(_ name: UInt32, _ object: UInt, _ handler: UnsafeMutablePointer<Handler>) -> UInt64? {
    let entry = NotificationEntry(token: latest &+ 1, name: name, object: object, handler: handler)
    if entries.isFull && !grow() { return nil }
    if !entries.append(entry) { return nil }
    latest &+= 1
    return latest
  }

  /// The handler of a registration, which ends.
  mutating func remove(_ token: UInt64) -> UnsafeMutablePointer<Handler>? {
    let index = firstIndex(after: token &- 1)
    guard token != 0, var entry = entries[index], entry.token == token, let handler = entry.handler else { return nil }
    entry.handler = nil
    entries.set(index, entry)
    removedCount &+= 1
    if removedCount > 16 && removedCount > entries.count / 2 { compact() }
    return handler
  }

  /// The first registration after the one with the token `told`, among those up to `newest`, that is for this.
  func next(after told: UInt64, upTo newest: UInt64, _ name: UInt32, _ object: UInt) -> NotificationEntry? {
    var index = firstIndex(after: told)
    while let entry = entries[index], entry.token <= newest {
      if entry.name == name && entry.handler != nil && (entry.object == 0 || entry.object == object) { return entry }
      index &+= 1
    }
    return nil
  }

  /// The place of the first entry whose token is greater.
  private func firstIndex(after token: UInt64) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = low &+ (high &- low) / 2
      if let entry = entries[middle], entry.token <= token { low = middle &+ 1 } else { high = middle }
    }
    return low
  }

  /// Moves the entries to a larger room. The old one is freed once the list knows it no more: the child of a
  /// fork on another thread sees the list as it is at that moment, and looks at its room (`forget`).
  private mutating func grow() -> Bool {
    var larger = Buffer<NotificationEntry>()
    if !larger.reserve(entries.count &* 2 &+ 16) { return false }
    for entry in entries.elements { _ = larger.append(entry) }
    var old = entries
    entries = larger
    old.free()
    return true
  }

  private mutating func compact() {
    var kept = 0
    for entry in entries.elements where entry.handler != nil {
      entries.set(kept, entry)
      kept &+= 1
    }
    entries.truncate(kept)
    removedCount = 0
    if kept == 0 { entries.free() }
  }

  /// In the child of a fork: an empty list with an open lock; the parent's handlers are left as they are.
  static func forget() {
    lock.pointee.forget()
    let latest = shared.pointee.latest
    if let base = shared.pointee.entries.elements.baseAddress { treadle_system_forget(base) }
    shared.pointee = NotificationList(entries: Buffer(), removedCount: 0, latest: latest)
  }
}
