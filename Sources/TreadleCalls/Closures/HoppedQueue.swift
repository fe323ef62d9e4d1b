// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// The calls of a closure that wait for its loop, in the order in which they came. The first of them, up to the limit,
/// have room; callers of the others wait until they have it. Guarded by the carrier's gate.
struct HoppedQueue {
  private(set) var first: HoppedCall.Pointer?
  private var last: HoppedCall.Pointer?
  /// The first that has no room.
  private var firstOutside: HoppedCall.Pointer?
  /// Those that have room.
  private(set) var waiting: UInt32 = 0
  private let limit: UInt32

  init(limit: UInt32) { self.limit = limit }

  var isFull: Bool { waiting >= limit }

  mutating func append(_ call: HoppedCall.Pointer) {
    call.pointee.next = nil
    call.pointee.previous = last
    if let last { last.pointee.next = call } else { first = call }
    last = call
    call.pointee.isListed = true
    call.pointee.hasRoom = !isFull
    call.pointee.isAwaitingRoom = isFull
    if call.pointee.hasRoom {
      waiting &+= 1
    } else if firstOutside == nil {
      firstOutside = call
    }
  }

  /// Takes a call out that begins, or never will. The call that has its room now, if there is one.
  mutating func remove(_ call: HoppedCall.Pointer) -> HoppedCall.Pointer? {
    if !call.pointee.isListed { return nil }
    call.pointee.isListed = false
    let (previous, next) = (call.pointee.previous, call.pointee.next)
    if let previous { previous.pointee.next = next } else { first = next }
    if let next { next.pointee.previous = previous } else { last = previous }
    if firstOutside == call { firstOutside = next }
    guard call.pointee.hasRoom else { return nil }
    waiting &-= 1
    guard let admitted = firstOutside else { return nil }
    firstOutside = admitted.pointee.next
    admitted.pointee.hasRoom = true
    waiting &+= 1
    return admitted
  }
}
