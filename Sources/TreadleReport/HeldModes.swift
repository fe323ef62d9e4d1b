// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
import TreadleBase

/// Modes that were found under a lock, and are told of without one: each is held until `free`.
struct HeldModes {
  private var slots = Buffer<UInt32>()

  /// Those of a loop, in the order in which they were made.
  init(of loop: Loop) throws(Failure) {
    var hasMemory = true
    loop.forEachMode { hasMemory = hasMemory && hold($0) }
    if hasMemory { return }
    free()
    throw Failure.noMemory("modes")
  }

  /// Those that an item is in, the records of common items among them.
  init(of item: Item) throws(Failure) {
    var hasMemory = true
    item.lock()
    var next: Item? = item
    while let member = next {
      item.withLoopLocked(member) { mode in
        if let mode { hasMemory = hasMemory && hold(mode) }
      }
      next = item.following(member)
    }
    item.unlock()
    if hasMemory { return }
    free()
    throw Failure.noMemory("modes")
  }

  private mutating func hold(_ mode: Mode) -> Bool {
    if !slots.append(mode.slot) { return false }
    mode.holdAgain()
    return true
  }

  func forEach(_ body: (Mode) -> Void) {
    for slot in slots.elements { if let mode = Mode(slot: slot) { body(mode) } }
  }

  mutating func free() {
    forEach { $0.drop() }
    slots.free()
  }
}
