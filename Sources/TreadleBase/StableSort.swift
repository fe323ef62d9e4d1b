// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A sort by merging, which reports missing memory instead of ending the process.
package enum StableSort {
  package struct Keyed: BitwiseCopyable {
    package var key: Int64
    /// Decides where `key` is equal.
    package var second: UInt64
    package var value: UInt64

    package init(key: Int64, second: UInt64, value: UInt64) {
      self.key = key
      self.second = second
      self.value = value
    }

    @inline(__always)
    fileprivate func isAfter(_ other: Keyed) -> Bool {
      key != other.key ? key > other.key : second != other.second ? second > other.second : value > other.value
    }
  }

  /// Sorts by key, by merging runs of doubling length, with `other` as a second room, whose contents go. False,
  /// with nothing changed, without memory.
  package static func sort(_ array: inout Buffer<Keyed>, with other: inout Buffer<Keyed>) -> Bool {
    let count = array.count
    if count < 2 { return true }
    other.removeAll()
    guard other.reserve(count) else { return false }
    for element in array.elements { _ = other.append(element) }
    var width = 1
    while width < count {
      merge(array.elements, other.elements, width)
      swap(&array, &other)
      width = width &* 2
    }
    return true
  }

  private static func merge(
    _ source: UnsafeMutableBufferPointer<Keyed>, _ target: UnsafeMutableBufferPointer<Keyed>, _ width: Int
  ) {
    let count = source.count
    var start = 0
    while start < count {
      let middle = min(start &+ width, count)
      let end = min(middle &+ width, count)
      var left = start
      var right = middle
      var place = start
      while place < end {
        let takesLeft = left < middle && (right >= end || !source[left].isAfter(source[right]))
        target[place] = takesLeft ? source[left] : source[right]
        if takesLeft { left &+= 1 } else { right &+= 1 }
        place &+= 1
      }
      start = end
    }
  }
}
