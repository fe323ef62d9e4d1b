// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Rings of links, one for each key, in the order in which the links entered: to enter, to leave and to find a key's
/// first link take a few steps, however many there are. All-zero bytes are none. Not thread-safe: its owner says what
/// guards it.
package struct KeyedRings {
  package typealias Pointer = UnsafeMutablePointer<Link>

  /// The beginning of whatever is in a ring.
  package struct Link {
    fileprivate let key: UInt64
    fileprivate var previous: Pointer?
    /// Free for other use where the link is in no ring.
    package var next: Pointer?
    /// Counts those that have entered.
    package fileprivate(set) var serial: UInt64
    package fileprivate(set) var isInRing: Bool

    package init(key: UInt64) {
      self.key = key
      serial = 0
      isInRing = false
    }
  }

  private var firsts: HashIndex
  /// How many there ever were.
  package private(set) var count: UInt64

  package init() {
    firsts = HashIndex()
    count = 0
  }

  package mutating func free() {
    firsts.free()
    count = 0
  }

  /// Room for one more, so that it can enter.
  package mutating func reserve() -> Bool { firsts.reserve() }

  package func first(_ key: UInt64) -> Pointer? { firsts.find(key) { _ in true }.flatMap { Pointer(bitPattern: $0) } }

  /// The one behind another, unless that is the last.
  package func following(_ link: Pointer) -> Pointer? {
    link.pointee.next.flatMap { $0.pointee.serial > link.pointee.serial ? $0 : nil }
  }

  /// The link becomes the last of its key. There is room.
  package mutating func enter(_ link: Pointer) {
    let first = first(link.pointee.key) ?? link
    let last = first.pointee.previous ?? link
    if first == link { _ = firsts.insert(link.pointee.key, UInt(bitPattern: link)) }
    count &+= 1
    link.pointee.serial = count
    link.pointee.isInRing = true
    link.pointee.next = first
    link.pointee.previous = last
    last.pointee.next = link
    first.pointee.previous = link
  }

  /// One that is in no ring stays as it is.
  package mutating func leave(_ link: Pointer) {
    guard link.pointee.isInRing, let next = link.pointee.next, let previous = link.pointee.previous else { return }
    link.pointee.isInRing = false
    next.pointee.previous = previous
    previous.pointee.next = next
    if next == link {
      firsts.remove(link.pointee.key, UInt(bitPattern: link))
    } else if previous.pointee.serial > link.pointee.serial {
      firsts.replace(link.pointee.key, UInt(bitPattern: link), by: UInt(bitPattern: next))
    }
    link.pointee.next = nil
  }
}
