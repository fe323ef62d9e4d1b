// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import TreadleCore
import TreadleBase

// What the makers of items have in common at the boundary.

/// Adds a new item, of which nobody knows yet, to the default mode of the calling thread's loop, and hands it out;
/// without `out` the mode has the only reference. If that fails there is no item. Ignored as the thread ends.
@inline(never)
func addToDefault(
  _ item: Item, of loop: Loop, _ out: UnsafeMutablePointer<OpaquePointer?>?
) throws(Failure) -> Int32 {
  var isAdded = false
  do throws(Failure) {
    let made = try Scope.making { () throws(Failure) in
      let handle = item.handle
      isAdded = try loop.addToDefaultMode(new: item, besidesClient: out != nil)
      if out == nil && !isAdded { item.giveUp() }
      return handle
    }
    out?.pointee = pointer(made)
  } catch {
    item.giveUp()
    throw error
  }
  return isAdded ? Status.ok : Status.ignored
}

/// The host that a struct names, whose token then stands for what `refuse` refuses; nil for none, which has no token.
@inline(__always)
func hostOf(_ host: OpaquePointer?, _ token: UInt64) throws(Failure) -> Host? {
  if host != nil { return try Host(bits(host), "host") }
  if token != 0 { throw Failure(Status.argument, "token", "is given without a host") }
  return nil
}

/// A member that a host's token takes the place of.
func refuse(_ isGiven: Bool, _ subject: StaticString) throws(Failure) {
  if isGiven { throw Failure(Status.argument, subject, "is given with a host, whose token replaces it") }
}

extension Context {
  /// The members that the contexts of all items have, with the main callback: a plain one, its routine, or a host's
  /// event.
  init(
    _ host: Host?, _ token: UInt64, wants: UInt32 = 0, info: UnsafeMutableRawPointer?, retain: treadle_retain_fn?,
    release: treadle_release_fn?, describe: treadle_describe_fn?, order: Int64, label: UnsafePointer<CChar>?,
    main: (isPlain: Bool, routine: OpaquePointer?), _ name: StaticString, _ routineName: StaticString
  ) throws(Failure) {
    try checkLabel(label)
    guard let host else {
      self.init(
        retain: retain, release: release, describe: describe, order: order,
        main: try mainCallback(hasPlain: main.isPlain, main.routine, routineName))
      self.label = label
      return
    }
    try refuse(info != nil, "info")
    try refuse(retain != nil, "retain")
    try refuse(release != nil, "release")
    try refuse(describe != nil, "describe")
    try refuse(main.isPlain, name)
    try refuse(main.routine != nil, routineName)
    try self.init(host, token: token, wants: wants, order: order)
    self.label = label
  }

  /// Whether two infos mean the same; the hash is asked once, now.
  mutating func setIdentity(_ equal: treadle_equal_fn?, _ hash: treadle_hash_fn?, _ info: UnsafeMutableRawPointer?) {
    guard let equal else { return }
    self.equal = equal
    self.hash = hash?(info) ?? 0
  }
}

/// A plain callback or its routine: not both.
func mainCallback(
  hasPlain: Bool, _ routine: OpaquePointer?, _ subject: StaticString
) throws(Failure) -> IndirectCallback {
  guard let routine else { return IndirectCallback(object: nil, invoke: nil, drop: nil) }
  if hasPlain { throw Failure(Status.argument, subject, "is given with the plain callback of the same name") }
  return try resolveRoutine(routine, subject)
}

/// Gives up a callback's reference when what was to own it could not be made.
func drop(_ callback: IndirectCallback) { callback.drop?(callback.object) }
