// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// What a post or request is called by: its label, or else its function. One word, which any thread may read at any
/// time, since labels are never freed. No address in a program has the bits that tell them apart. 0: nothing.
package struct CallName: BitwiseCopyable {
  package let bits: UInt

  private static let requestBit: UInt = 1 << 62
  private static let labelBit: UInt = 1 << 63

  @inline(__always)
  package init(bits: UInt) { self.bits = bits }

  package static let none = CallName(bits: 0)
  /// A post, or a request, without a label whose callback is no plain function.
  package static let post = CallName(bits: 1)
  package static let request = CallName(bits: requestBit)

  /// The function of a post.
  @inline(__always)
  package init(post code: UnsafeMutableRawPointer) { bits = UInt(bitPattern: code) }

  @inline(__always)
  package init(postCode code: UnsafeMutableRawPointer?, label: UnsafePointer<CChar>?) {
    bits =
      label.map { UInt(bitPattern: $0) | CallName.labelBit } ?? code.map { UInt(bitPattern: $0) } ?? CallName.post.bits
  }

  @inline(__always)
  package init(requestCode code: UInt, label: UnsafePointer<CChar>?) {
    bits = (label.map { UInt(bitPattern: $0) | CallName.labelBit } ?? code) | CallName.requestBit
  }

  package var isRequest: Bool { bits & CallName.requestBit != 0 }
  package var label: UnsafePointer<CChar>? {
    bits & CallName.labelBit == 0 ? nil : UnsafePointer(bitPattern: bits & ~(CallName.labelBit | CallName.requestBit))
  }
  /// The function's address; 0 for none.
  package var code: UInt {
    bits & CallName.labelBit != 0 || bits == CallName.post.bits ? 0 : bits & ~CallName.requestBit
  }
}

/// The labels of posts and requests: each text is kept once, and never freed. An item keeps its own label, since it is
/// held while somebody reads that; a post is gone as soon as it was called.
///
/// The table is a hash table of pointers with linear probing. An entry is written once, by a compare and exchange, so
/// it needs no lock and survives a fork.
package enum Labels {
  /// What further labels read as when there are too many different ones.
  private static let others: StaticString = "(one of more than 1024 labels)"

  /// The kept copy of a label; nil without memory.
  package static func keep(_ label: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
    let table = treadle_system_labels().assumingMemoryBound(to: Atomic<UInt>.self)
    let name = ModeName(label)
    let first = Int(name.hash)
    for step in 0..<Int(TREADLE_SYSTEM_LABELS) {
      let place = (first &+ step) & (Int(TREADLE_SYSTEM_LABELS) &- 1)
      var known = table[place].load(ordering: .acquiring)
      if known == 0 {
        guard let copy = name.copy() else { return nil }
        let (isExchanged, other) = table[place].compareExchange(
          expected: 0, desired: UInt(bitPattern: copy), ordering: .acquiringAndReleasing)
        if isExchanged { return UnsafePointer(copy) }
        treadle_system_free(copy)
        known = other
      }
      if let text = UnsafePointer<CChar>(bitPattern: known), name.equals(text) { return text }
    }
    return others.cText
  }
}
