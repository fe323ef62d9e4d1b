// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A call of an item's schedule or cancel, or of the function that names a descriptor, which is on a thread's stack: these
/// run outside of any loop's run, on whichever thread adds or removes. The caller holds the item (OBJ-3).
struct ItemCall {
  private var tag: UInt32
  private var outer: UnsafeMutableRawPointer?

  static func during<Result>(_ item: Item, _ body: () -> Result) -> Result {
    let thread = treadle_system_thread()
    var call = ItemCall(tag: item.tag, outer: thread.pointee.item_call)
    return withUnsafeMutablePointer(to: &call) { record in
      thread.pointee.item_call = UnsafeMutableRawPointer(record)
      let result = body()
      thread.pointee.item_call = record.pointee.outer
      return result
    }
  }

  /// Whether such a call of this item is being made by the calling thread.
  static func isOnThisThread(_ item: Item) -> Bool {
    var next = treadle_system_thread().pointee.item_call
    while let call = next?.assumingMemoryBound(to: ItemCall.self) {
      if call.pointee.tag == item.tag { return true }
      next = call.pointee.outer
    }
    return false
  }
}
