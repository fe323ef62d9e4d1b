// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// A growable array of trivial elements that tells when memory is out instead of ending the process.
/// All-zero bytes are an empty one. Not thread-safe: its owner says what guards it.
package struct Buffer<Element: BitwiseCopyable> {
  package private(set) var capacity: Int
  private var base: UnsafeMutablePointer<Element>?
  package private(set) var count: Int

  package init() {
    count = 0
    capacity = 0
    base = nil
  }

  @inline(__always)
  package var isEmpty: Bool { count == 0 }

  /// The element at an index that the caller knows to be in range; nil when it is not.
  @inline(__always)
  package subscript(index: Int) -> Element? {
    isIn(index) ? base.unsafelyUnwrapped[index] : nil
  }

  @inline(__always)
  package func set(_ index: Int, _ element: Element) {
    if isIn(index) { base.unsafelyUnwrapped[index] = element }
  }

  /// One comparison, which a negative index fails as well. There is memory where there is an element.
  @inline(__always)
  private func isIn(_ index: Int) -> Bool { UInt(bitPattern: index) < UInt(bitPattern: count) }

  /// False when there is no memory: nothing changed then.
  @inline(__always)
  package mutating func append(_ element: Element) -> Bool {
    if count == capacity && !reserve(count &+ 1) { return false }
    return put(element)
  }

  /// Fetches the memory a few elements ahead of the next one into the cache, where somebody else has read the old ones.
  @inline(__always)
  package func prefetchForAppending() {
    if let base { treadle_system_prefetch_for_writing(base + (count &+ 8)) }
  }

  /// Puts an element behind the last one without taking memory: false when there is no room.
  @inline(__always)
  package mutating func appendInRoom(_ element: Element) -> Bool {
    count < capacity && put(element)
  }

  /// Behind the last one, where there is room.
  @inline(__always)
  private mutating func put(_ element: Element) -> Bool {
    base.unsafelyUnwrapped[count] = element
    count &+= 1
    return true
  }

  @inline(__always)
  package func hasRoom(_ more: Int) -> Bool { capacity &- count >= more }

  @inline(never)
  package mutating func reserve(_ wanted: Int) -> Bool {
    if wanted <= capacity { return true }
    let room = max(wanted, capacity &* 2, 16)
    let (bytes, overflow) = room.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
    guard !overflow, let memory = treadle_system_reallocate(base, bytes) else { return false }
    base = memory.assumingMemoryBound(to: Element.self)
    capacity = room
    return true
  }

  /// The capacity to ask for where `wanted` elements do not fit: by reserving it elsewhere, memory is taken while no
  /// gate is held.
  package func capacity(for wanted: Int) -> Int { max(wanted, capacity &* 2, 16) }

  /// Uses the first half of its room alone, until `open`. The elements that it has are there.
  @inline(__always)
  package mutating func holdHalf() { capacity /= 2 }

  @inline(__always)
  package mutating func open() { capacity &*= 2 }

  /// Moves the elements into a larger room, which was reserved elsewhere and is empty; `room` is the smaller one behind
  /// that.
  package mutating func move(into room: inout Buffer) {
    if room.capacity <= capacity { return }
    for element in elements { _ = room.appendInRoom(element) }
    swap(&self, &room)
  }

  @inline(__always)
  package mutating func removeAll() { count = 0 }

  /// Takes the elements of another array in place of one's own, and leaves it the room for new ones. Piece by piece:
  /// the count was written just now, and a copy of more than the count would have to wait for the processor's store
  /// buffer.
  @inline(__always)
  package mutating func takeAll(of other: inout Buffer) {
    let room = (capacity, base)
    (capacity, base) = (other.capacity, other.base)
    (other.capacity, other.base) = room
    count = other.count
    other.count = 0
  }

  /// Shortens the array to its first `count` elements.
  @inline(__always)
  package mutating func truncate(_ count: Int) {
    if count >= 0 && count < self.count { self.count = count }
  }

  /// Takes out one element; those behind it move up.
  package mutating func remove(_ index: Int) {
    guard index >= 0, index < count, let base else { return }
    (base + index).update(from: base + (index &+ 1), count: count &- index &- 1)
    count &-= 1
  }

  /// Replaces the contents by up to `room` elements that `body` writes; `body` answers how many. False,
  /// with `body` not called, when there is no memory.
  package mutating func refill(_ room: Int, _ body: (UnsafeMutablePointer<Element>) -> Int) -> Bool {
    count = 0
    guard capacity >= room || reserve(room), let base else { return false }
    count = min(max(body(base), 0), room)
    return true
  }

  /// Puts so many elements, which `body` writes, behind the last one without taking memory: false when there is no
  /// room.
  package mutating func extendInRoom(_ more: Int, _ body: (UnsafeMutableRawPointer) -> Void) -> Bool {
    guard more >= 0, hasRoom(more), let base else { return false }
    body(UnsafeMutableRawPointer(base + count))
    count &+= more
    return true
  }

  /// Whether the next element needs more memory, which may lie elsewhere.
  package var isFull: Bool { count == capacity }

  /// At no moment does the array know memory that is free: a fork may happen at any, on another thread.
  package mutating func free() {
    let memory = base
    self = Buffer()
    treadle_system_free(memory)
  }

  /// The elements, for code that has checked its indices.
  @inline(__always)
  package var elements: UnsafeMutableBufferPointer<Element> { UnsafeMutableBufferPointer(start: base, count: count) }
}
