// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// The objects that exist from the beginning, in places that the exported constants name.
enum Constants {
  /// Fills them in on first use, in whichever thread comes first.
  @inline(__always)
  static func prepare() {
    if treadle_cf_begin() { fill() }
  }

  /// For a look-up that found no memory: it may be the first of all, and of a constant.
  @inline(never)
  static func slot(_ number: UInt32) -> UnsafeMutablePointer<treadle_cf_slot>? {
    prepare()
    return treadle_cf_slot(number)
  }

  static var defaultMode: UInt { 0xCF << 56 | UInt(TREADLE_CF_DEFAULT_MODE) << 4 }
  static var true_: UInt { 0xCF << 56 | UInt(TREADLE_CF_TRUE) << 4 }
  static var systemAllocator: UInt { 0xCF << 56 | UInt(TREADLE_CF_ALLOCATOR_SYSTEM) << 4 }
  static var nullAllocator: UInt { 0xCF << 56 | UInt(TREADLE_CF_ALLOCATOR_NULL) << 4 }

  @inline(never)
  private static func fill() {
    if Slot.makeRoom(1) != nil {
      treadle_cf_shared().pointee.used = UInt32(TREADLE_CF_FIRST_FREE) &- 1
      Slot.pin(Int(TREADLE_CF_ALLOCATOR_SYSTEM), .allocator, nil)
      Slot.pin(Int(TREADLE_CF_ALLOCATOR_MALLOC), .allocator, nil)
      Slot.pin(Int(TREADLE_CF_ALLOCATOR_MALLOC_ZONE), .allocator, nil)
      Slot.pin(Int(TREADLE_CF_ALLOCATOR_NULL), .allocator, nil)
      Slot.pin(Int(TREADLE_CF_NULL), .null, nil)
      Slot.pin(Int(TREADLE_CF_TRUE), .boolean, nil)
      Slot.pin(Int(TREADLE_CF_FALSE), .boolean, nil)
      Slot.pin(Int(TREADLE_CF_DEFAULT_MODE), .string, StringBody.make("kCFRunLoopDefaultMode"))
      Slot.pin(Int(TREADLE_CF_COMMON_MODES), .string, StringBody.make("kCFRunLoopCommonModes"))
      Slot.pin(Int(TREADLE_CF_SOCKET_COMMAND), .string, StringBody.make("Command"))
      Slot.pin(Int(TREADLE_CF_SOCKET_NAME), .string, StringBody.make("Name"))
      Slot.pin(Int(TREADLE_CF_SOCKET_VALUE), .string, StringBody.make("Value"))
      Slot.pin(Int(TREADLE_CF_SOCKET_RESULT), .string, StringBody.make("Result"))
      Slot.pin(Int(TREADLE_CF_SOCKET_ERROR), .string, StringBody.make("Error"))
      Slot.pin(Int(TREADLE_CF_SOCKET_REGISTER), .string, StringBody.make("Register"))
      Slot.pin(Int(TREADLE_CF_SOCKET_RETRIEVE), .string, StringBody.make("Retrieve"))
    }
    treadle_cf_began()
  }
}
