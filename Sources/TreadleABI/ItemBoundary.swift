// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Treadle
import TreadleBase

// What the four kinds of items have in common at the boundary: each of these is there once, for all kinds. A call names
// the generation that the handle has, or holds the item: its slot may serve another one as soon as it is looked up.

/// Adds a reference of the client's, to an object of any kind.
@inline(never)
func retain(_ kind: Kind, _ handle: OpaquePointer?, _ subject: StaticString) throws(Failure) -> Int32 {
  try Slab(kind).retainForClient(bits(handle), subject)
  return Status.ok
}

@inline(never)
func release(_ kind: Kind, _ handle: OpaquePointer?, _ subject: StaticString) throws(Failure) -> Int32 {
  try Item.release(kind, bits(handle), subject)
  return Status.ok
}

/// Invalidates the item and waits until its callbacks have ended.
@inline(never)
func close(_ kind: Kind, _ handle: OpaquePointer?, _ timeout: Int64, _ subject: StaticString) throws(Failure) -> Int32 {
  try Item.hold(kind, bits(handle), subject).close(timeout: timeout, subject)
  return Status.ok
}

@inline(never)
func info(
  _ kind: Kind, _ handle: OpaquePointer?, _ subject: StaticString,
  _ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) throws(Failure) -> Int32 {
  let out = try need(out, nil, "out_info")
  out.pointee = try Item.holding(kind, bits(handle), subject) { $0.info }
  return Status.ok
}

@inline(never)
func order(
  _ kind: Kind, _ handle: OpaquePointer?, _ subject: StaticString, _ out: UnsafeMutablePointer<Int64>?
) throws(Failure) -> Int32 {
  let out = try need(out, 0, "out_order")
  out.pointee = try Item.holding(kind, bits(handle), subject) { $0.order }
  return Status.ok
}

@inline(never)
func describe(
  _ kind: Kind, _ handle: OpaquePointer?, _ subject: StaticString, _ buffer: UnsafeMutablePointer<CChar>?,
  _ capacity: Int, _ outLength: UnsafeMutablePointer<Int>?
) throws(Failure) -> Int32 {
  try writeText(buffer, capacity, outLength) { text throws(Failure) in
    try Item.holding(kind, bits(handle), subject) { item in
      text.append(subject)
      text.append((item.isValid ? ", valid" : ", invalid") as StaticString)
      text.append(", order ")
      text.append(item.order)
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
        guard let base = room.baseAddress, item.describeInfo(base, 256) else { return }
        base[255] = 0
        text.append(", ")
        text.append(base)
      }
    }
  }
}

@inline(never)
func add(
  _ kind: Kind, _ loop: OpaquePointer?, _ handle: OpaquePointer?, _ subject: StaticString,
  _ mode: UnsafePointer<CChar>?
) throws(Failure) -> Int32 {
  try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
    let item = try Item.hold(kind, bits(handle), subject)
    guard let mode else {
      item.letGo()
      throw Failure(Status.argument, "mode", "is NULL")
    }
    return try loop.add(taking: item, ModeName(mode))
  }
}

@inline(never)
func remove(
  _ kind: Kind, _ loop: OpaquePointer?, _ handle: OpaquePointer?, _ subject: StaticString,
  _ mode: UnsafePointer<CChar>?
) throws(Failure) -> Int32 {
  try holdingBoth(kind, loop, handle, subject) { loop, item throws(Failure) in loop.remove(item, try needMode(mode)) }
}

@inline(never)
func contains(
  _ kind: Kind, _ loop: OpaquePointer?, _ handle: OpaquePointer?, _ subject: StaticString,
  _ mode: UnsafePointer<CChar>?
) throws(Failure) -> Bool {
  try holdingBoth(kind, loop, handle, subject) { loop, item throws(Failure) in loop.contains(item, try needMode(mode)) }
}

@inline(__always)
private func holdingBoth<Result>(
  _ kind: Kind, _ loop: OpaquePointer?, _ handle: OpaquePointer?, _ subject: StaticString,
  _ body: (Loop, Item) throws(Failure) -> Result
) throws(Failure) -> Result {
  try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
    try Item.holding(kind, bits(handle), subject) { item throws(Failure) in try body(loop, item) }
  }
}

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

/// Invalidates, then returns a reference that the client owns.
@inline(never)
func discard(_ kind: Kind, _ handle: OpaquePointer?, _ subject: StaticString) throws(Failure) -> Int32 {
  try Item.invalidate(kind, bits(handle), subject)
  try Item.release(kind, bits(handle), subject)
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
