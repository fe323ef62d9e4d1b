// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A client's buffer with room for `capacity` elements. Every function that fills one takes it so.
package struct ClientBuffer<Element> {
  package let start: UnsafeMutablePointer<Element>?
  package let capacity: Int

  /// `subject` and `capacitySubject` are the names of the parameters. A `size_t` above the largest signed integer
  /// arrives as a negative number: no memory is that large, so it is refused, as is a capacity whose bytes would be
  /// that many.
  @inline(__always)
  package init(
    _ start: UnsafeMutablePointer<Element>?, _ capacity: Int, _ subject: StaticString = "buffer",
    capacity capacitySubject: StaticString = "capacity"
  ) throws(Failure) {
    if start == nil && capacity != 0 { throw Failure(Status.argument, subject, "is NULL, but capacity is not 0") }
    if capacity < 0 || capacity > Int.max / MemoryLayout<Element>.stride {
      throw Failure(Status.argument, capacitySubject, "is larger than memory")
    }
    self.start = start
    self.capacity = capacity
  }

  /// Stores an element if there is room for it.
  @inline(__always)
  package func store(_ element: @autoclosure () -> Element, at index: Int) {
    if let place = place(index) { place.pointee = element() }
  }

  /// Where the element of this index goes; nil if there is no room for it.
  @inline(__always)
  package func place(_ index: Int) -> UnsafeMutablePointer<Element>? {
    guard let start, index < capacity else { return nil }
    return start + index
  }

  @inline(__always)
  package var elements: UnsafeMutableBufferPointer<Element> {
    UnsafeMutableBufferPointer(start: start, count: capacity)
  }
}

extension ClientBuffer<CChar> {
  /// Text that is written into the buffer.
  @inline(__always)
  package var text: FixedText { FixedText(UnsafeMutableRawBufferPointer(elements)) }
}
