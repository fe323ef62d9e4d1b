// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Values by the text of their keys. Each entry is a piece of memory with its key behind it, and counted: one for the
/// table, one for each use in progress. All-zero bytes are an empty one. Its owner says what guards it, the counts too.
package struct ValueTable {
  package typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
  package typealias Pointer = UnsafeMutablePointer<Entry>

  package struct Entry {
    fileprivate var next: Pointer?
    fileprivate var previous: Pointer?
    fileprivate let hash: UInt64
    package var references: Int
    package let value: UnsafeMutableRawPointer?
    package let release: Release?
    /// What a scope knows of it, which gives the value back in place of `release`; nil outside of scopes.
    package let work: ScopeWork.Pointer?
  }

  private var first: Pointer?
  private var index: HashIndex

  package init() {
    first = nil
    index = HashIndex()
  }

  private static func key(_ entry: Pointer) -> UnsafeMutablePointer<CChar> {
    (UnsafeMutableRawPointer(entry) + MemoryLayout<Entry>.size).assumingMemoryBound(to: CChar.self)
  }

  /// An entry that is in no table, with its table's reference; nil without memory.
  package static func make(
    _ key: UnsafePointer<CChar>, _ value: UnsafeMutableRawPointer?, _ release: Release?, _ work: ScopeWork.Pointer?
  ) -> Pointer? {
    let size = strlen(key) &+ 1
    guard let memory = treadle_system_allocate(MemoryLayout<Entry>.size &+ size) else { return nil }
    let entry = memory.bindMemory(to: Entry.self, capacity: 1)
    entry.initialize(
      to: Entry(
        next: nil, previous: nil, hash: UInt64(ModeName(key).hash), references: 1, value: value, release: release,
        work: work))
    memcpy(ValueTable.key(entry), key, size)
    return entry
  }

  package func find(_ key: UnsafePointer<CChar>) -> Pointer? {
    let found = index.find(UInt64(ModeName(key).hash)) { number in
      Pointer(bitPattern: number).map { strcmp(ValueTable.key($0), key) == 0 } == true
    }
    return found.flatMap { Pointer(bitPattern: $0) }
  }

  package func find(_ work: ScopeWork.Pointer) -> Pointer? {
    var next = first
    while let entry = next, entry.pointee.work != work { next = entry.pointee.next }
    return next
  }

  /// Puts an entry into the table, in place of one of the same key, whose reference is the caller's then. False, with
  /// nothing changed, without memory.
  package mutating func put(_ entry: Pointer, replaced: inout Pointer?) -> Bool {
    if !index.reserve() { return false }
    replaced = find(ValueTable.key(entry))
    if let replaced { take(replaced) }
    entry.pointee.next = first
    first?.pointee.previous = entry
    first = entry
    return index.insert(entry.pointee.hash, UInt(bitPattern: entry))
  }

  /// Takes an entry of the table out: its reference is the caller's.
  package mutating func take(_ entry: Pointer) {
    index.remove(entry.pointee.hash, UInt(bitPattern: entry))
    let (previous, next) = (entry.pointee.previous, entry.pointee.next)
    next?.pointee.previous = previous
    if let previous { previous.pointee.next = next } else { first = next }
    // An empty table has no memory.
    if first == nil { index.free() }
  }

  /// Takes any entry out, if there is one.
  package mutating func takeAny() -> Pointer? {
    let entry = first
    if let entry { take(entry) }
    return entry
  }
}
