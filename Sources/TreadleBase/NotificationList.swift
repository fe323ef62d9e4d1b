// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// One registration for a notification. All-zero bytes are one that was removed.
package struct NotificationEntry: BitwiseCopyable {
  package let token: UInt64
  fileprivate let name: UInt32
  fileprivate let object: UInt
  /// Nil once the registration was removed.
  package fileprivate(set) var handler: UnsafeMutablePointer<Handler>?
}

/// The process's registrations in their order, which is that of their tokens. Lies in static memory, where all-zero
/// bytes are an empty one; guarded by the lock beside it.
package struct NotificationList {
  private var entries: Buffer<NotificationEntry>
  private var removedCount: Int
  /// The latest token; none is given twice.
  package private(set) var latest: UInt64

  package static var lock: UnsafeMutablePointer<Mutex> { Mutex.at(treadle_system_notification_lock()) }
  package static var shared: UnsafeMutablePointer<NotificationList> {
    treadle_system_notification_list().assumingMemoryBound(to: NotificationList.self)
  }

  /// The new token; nil without memory.
  package mutating func append(_ name: UInt32, _ object: UInt, _ handler: UnsafeMutablePointer<Handler>) -> UInt64? {
    let entry = NotificationEntry(token: latest &+ 1, name: name, object: object, handler: handler)
    if entries.isFull && !grow() { return nil }
    if !entries.append(entry) { return nil }
    latest &+= 1
    return latest
  }

  /// The handler of a registration, which ends.
  package mutating func remove(_ token: UInt64) -> UnsafeMutablePointer<Handler>? {
    let index = firstIndex(after: token &- 1)
    guard token != 0, var entry = entries[index], entry.token == token, let handler = entry.handler else { return nil }
    entry.handler = nil
    entries.set(index, entry)
    removedCount &+= 1
    if removedCount > 16 && removedCount > entries.count / 2 { compact() }
    return handler
  }

  /// The first registration after the one with the token `told`, among those up to `newest`, that is for this.
  package func next(after told: UInt64, upTo newest: UInt64, _ name: UInt32, _ object: UInt) -> NotificationEntry? {
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
  package static func forget() {
    lock.pointee.forget()
    let latest = shared.pointee.latest
    if let base = shared.pointee.entries.elements.baseAddress { treadle_system_forget(base) }
    shared.pointee = NotificationList(entries: Buffer(), removedCount: 0, latest: latest)
  }
}
