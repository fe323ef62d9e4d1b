// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// NULL for an object that has as many references as it can have; a bad one is returned as it is.
@_cdecl("CFRetain")
public func cfRetain(_ object: UInt) -> UInt {
  if isLoop(object) {
    let status = treadle_loop_retain(OpaquePointer(bitPattern: object))
    check(status, "CFRetain")
    return status == TREADLE_E_RANGE ? 0 : object
  }
  guard let slot = Slot.hold(object) else {
    complain("CFRetain")
    return object
  }
  // Treadle counts the references of its items too: theirs and ours end together.
  guard let status = Item(slot)?.retain(), status < 0 else { return object }
  check(status, "CFRetain")
  slot.drop()
  return status == TREADLE_E_RANGE ? 0 : object
}

@_cdecl("CFRelease")
public func cfRelease(_ object: UInt) {
  if isLoop(object) {
    if treadle_loop_release(OpaquePointer(bitPattern: object)) < 0 { complain("CFRelease") }
    return
  }
  guard let slot = Slot.hold(object) else { return complain("CFRelease") }
  if let item = Item(slot), !item.release() {
    complain("CFRelease")
  } else if slot.count > 1 {
    slot.drop()
  }
  slot.drop()
}

@_cdecl("CFGetRetainCount")
public func cfGetRetainCount(_ object: UInt) -> Int {
  if isLoop(object) { return isLivingLoop(object) ? 1 : 0 }
  guard let slot = Slot.hold(object) else {
    complain("CFGetRetainCount")
    return 0
  }
  let count = slot.count
  slot.drop()
  return count == Int.max ? count : count &- 1
}

@_cdecl("CFGetTypeID")
public func cfGetTypeID(_ object: UInt) -> UInt {
  if let kind = kind(of: object) { return kind.typeID }
  complain("CFGetTypeID")
  return 0
}

@_cdecl("CFGetAllocator")
public func cfGetAllocator(_ object: UInt) -> UInt { Constants.systemAllocator }

/// Whether a reference has the shape of Treadle's own handles, which stand for run loops.
@inline(__always)
func isLoop(_ object: UInt) -> Bool { object & 1 != 0 }

func isLivingLoop(_ object: UInt) -> Bool {
  var thread: Int32 = 0
  return treadle_loop_get_thread_id(OpaquePointer(bitPattern: object), &thread) >= 0
}

/// The type of a living object.
func kind(of object: UInt) -> Kind? {
  if isLoop(object) { return isLivingLoop(object) ? .runLoop : nil }
  guard let slot = Slot.hold(object) else { return nil }
  let kind = slot.kind
  slot.drop()
  return kind
}
