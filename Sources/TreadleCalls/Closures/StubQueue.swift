// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Stubs in the order in which their closures ended. Guarded by the pool's gate.
struct StubQueue {
  private var first: UnsafeMutablePointer<StubSlot>?
  private var last: UnsafeMutablePointer<StubSlot>?
  private(set) var count: UInt32 = 0

  mutating func append(_ stub: Stub) {
    stub.slot.pointee.next = nil
    if let last { last.pointee.next = stub.slot } else { first = stub.slot }
    last = stub.slot
    count &+= 1
  }

  /// The oldest one that nobody looks at, made blank; nil when there is none.
  mutating func take() -> Stub? {
    var before: UnsafeMutablePointer<StubSlot>?
    var next = first
    while let slot = next {
      if Stub(slot).clear() {
        if let before { before.pointee.next = slot.pointee.next } else { first = slot.pointee.next }
        if last == slot { last = before }
        count &-= 1
        return Stub(slot)
      }
      before = slot
      next = slot.pointee.next
    }
    return nil
  }
}
