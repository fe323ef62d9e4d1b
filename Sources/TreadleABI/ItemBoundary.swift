// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Treadle
import TreadleBase

// What the makers of items have in common at the boundary.

/// Adds a new item, of which nobody knows yet, to the default mode of the calling thread's loop, and hands it out; without
/// `out` the mode has the only reference. If that fails there is no item, and the info stays the caller's.
@inline(never)
func addToDefault(
  _ item: Item, of loop: Loop, _ out: UnsafeMutablePointer<OpaquePointer?>?
) throws(Failure) -> Int32 {
  do throws(Failure) {
    _ = try loop.addToDefaultMode(item)
  } catch {
    item.forgetInfo()
    item.giveUp()
    throw error
  }
  if let out { out.pointee = pointer(item.handle) } else { item.giveUp() }
  return Status.ok
}

/// A plain callback or its routine: not both.
func mainCallback(
  hasPlain: Bool, _ routine: OpaquePointer?, _ subject: StaticString
) throws(Failure) -> IndirectCallback {
  guard let routine else { return IndirectCallback(object: nil, invoke: nil, drop: nil) }
  if hasPlain { throw Failure(Status.argument, subject, "is given besides the plain callback of the same name") }
  return try resolveRoutine(routine, subject)
}

/// Gives up a callback's reference when what was to own it could not be made.
func drop(_ callback: IndirectCallback) { callback.drop?(callback.object) }
