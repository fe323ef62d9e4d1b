// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Finding modes, making them, and giving up those that are not used.
extension Loop {
  @inline(__always)
  package func lock() { state.loopLock.lock(isOwner: isCurrent) }
  @inline(__always)
  package func unlock() { state.loopLock.unlock() }
  /// For what is done under the lock.
  @inline(__always)
  func assertHeld() { assert(state.loopLock.isHeld, "the loop's lock is held") }

  func withLock<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  var record: Mode? { Mode(slot: state.commonRecord) }
  @inline(__always)
  var defaultMode: Mode? { state.defaultMode.map { Mode($0) } }
  /// The mode that the innermost run runs. Owner, or with the lock held, which orders the mode's creation and its end.
  @inline(__always)
  package var currentMode: Mode? { Mode(slot: state.currentMode.load(ordering: .relaxed)) }

  /// The default mode, if that is its name. Needs no lock: it is the same as long as the loop lives.
  @inline(__always)
  func defaultMode(_ name: ModeName) -> Mode? {
    guard let standard = defaultMode, let known = standard.name, name.equals(known) else { return nil }
    return standard
  }

  /// The mode of a name, for one who does not hold the lock: kept until `letGo`.
  package func holdMode(_ name: ModeName) throws(Failure) -> Mode? {
    if let standard = defaultMode(name) { return standard }
    lock()
    defer { unlock() }
    let mode = try findMode(name)
    mode?.holdAgain()
    return mode
  }
  /// The mode of a name for the owner, who is about to run it.
  func ownMode(_ name: ModeName) throws(Failure) -> Mode? {
    if let standard = defaultMode(name) { return standard }
    lock()
    defer { unlock() }
    dropUnusedModes()
    return try findMode(name)
  }
  @inline(__always)
  package func letGo(_ mode: Mode) {
    if mode.address != state.defaultMode { mode.drop() }
  }

  /// The mode of `TREADLE_CALL_MODE` in the C header, in which a thread runs that waits for a call.
  static var callModeName: ModeName { ModeName(treadle_system_call_mode_name()) }

  func findOrMakeCallMode() throws(Failure) -> Mode {
    if let mode = Mode(slot: state.callMode.load(ordering: .acquiring)) { return mode }
    return try withLock { () throws(Failure) in try findOrMakeUnlistedMode(Loop.callModeName) }
  }

  /// The mode of a name; for the common modes, the record of common items. A name that is none yet, and never will be,
  /// is refused. The lock is held.
  func findMode(_ name: ModeName) throws(Failure) -> Mode? {
    assertHeld()
    if let standard = defaultMode(name) { return standard }
    if CommonModes.isCommon(name) { return record }
    let slot = state.modesByName.find(UInt64(name.hash)) { slot in
      Mode(slot: UInt32(truncatingIfNeeded: slot))?.name.map { name.equals($0) } == true
    }
    if slot == nil && !UTF8Text.isWellFormed(name.bytes) { throw Failure(Status.argument, "mode", "is not UTF-8") }
    return slot.flatMap { Mode(slot: UInt32(truncatingIfNeeded: $0)) }
  }

  /// The mode of a name, which is made if there is none (RL-7). The lock is held.
  func findOrMakeMode(_ name: ModeName) throws(Failure) -> Mode {
    assertHeld()
    if let mode = try findMode(name) { return mode }
    dropUnusedModes()
    guard let mode = Mode.create(in: self, name: name) else { throw Failure.noMemory("mode") }
    return mode
  }

  /// Puts a new mode among the loop's. False, with nothing changed, when there is no memory. The lock is held.
  func list(_ mode: Mode) -> Bool {
    let count = state.modes.count
    if !state.modes.append(mode.slot) { return false }
    if state.modesByName.insert(UInt64(mode.state.hash), UInt(mode.slot)) { return true }
    state.modes.truncate(count)
    return false
  }

  /// Gives up the modes that nothing is in, once there are twice as many modes as it left the last time, so that a mode
  /// of its own for each wait does not make the loop grow. The owner alone does that, since he has modes in hand that
  /// he does not keep; between that and their use he names no other. The lock is held.
  func dropUnusedModes() {
    assertHeld()
    if state.modes.count < max(Int(state.modesToLookAt), Loop.fewModes) || !isCurrent || !isAlive { return }
    var kept = 0
    for slot in state.modes.elements {
      guard let mode = Mode(slot: slot) else { continue }
      if mode.isUnused {
        state.modesByName.remove(UInt64(mode.state.hash), UInt(slot))
        mode.close()
      } else {
        state.modes.set(kept, slot)
        kept &+= 1
      }
    }
    state.modes.truncate(kept)
    state.modesToLookAt = UInt32(truncatingIfNeeded: kept &* 2)
  }
  private static let fewModes = 16

  /// A mode that has nothing of a client's does not exist for clients (RL-7), though it be common, or the call mode.
  /// The lock is held.
  func findOrMakeUnlistedMode(_ name: ModeName) throws(Failure) -> Mode {
    assertHeld()
    if let mode = try findMode(name) { return mode }
    let mode = try findOrMakeMode(name)
    mode.state.isUnlisted = true
    return mode
  }

  package func isCommonMode(_ name: ModeName) throws(Failure) -> Bool {
    lock()
    defer { unlock() }
    guard let mode = try findMode(name), !mode.isRecord else { return false }
    return mode.isCommon
  }

  /// Calls `body` with each mode that exists (RL-7), in the order in which they were made, under the lock.
  package func forEachMode(_ body: (Mode) -> Void) {
    lock()
    defer { unlock() }
    for slot in state.modes.elements {
      if let mode = Mode(slot: slot), !mode.state.isUnlisted { body(mode) }
    }
  }

  /// Calls `body` with the name of the mode that the innermost run runs, nil outside of runs (RL-6): under the lock,
  /// without which the owner may go on.
  package func withCurrentModeName<Result>(
    _ body: (UnsafePointer<CChar>?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withLock { () throws(Failure) in try body(currentMode?.name) }
  }
}

/// The modes that a block or a request names, each of which is kept; the record of common items stands for the common
/// ones. They are kept by their memory, which in the child of a fork is still that of the parent's modes.
struct ModeSet {
  private var modes = Buffer<UnsafeMutablePointer<ModeState>>()

  var isEmpty: Bool { modes.isEmpty }

  @inline(__always)
  func contains(_ mode: Mode) -> Bool {
    for other in modes.elements where other == mode.address || Mode(other).isRecord && mode.isCommon { return true }
    return false
  }

  /// Finds the modes of a list of names, and makes them if need be. The loop's lock is held.
  mutating func append(_ names: ModeNames, of loop: Loop, _ subject: StaticString) throws(Failure) {
    loop.assertHeld()
    for name in names {
      guard let name else { throw Failure(Status.argument, "modes", "contains NULL") }
      let mode = try ModeName.amongOthers { () throws(Failure) in try loop.findOrMakeMode(ModeName(name)) }
      mode.state.isUnlisted = false
      if !modes.append(mode.address) { throw Failure.noMemory(subject) }
      mode.holdAgain()
    }
  }

  mutating func free() {
    for mode in modes.elements { Mode(mode).drop() }
    modes.free()
  }
}

extension ModeName {
  /// Runs `body` with a name of a list: a failure names the list.
  @inline(__always)
  static func amongOthers<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    do throws(Failure) {
      return try body()
    } catch {
      throw error.status == Status.argument
        ? Failure(error.status, "modes", "contains a name that is not UTF-8") : error
    }
  }
}

/// The two mode names that every loop knows (MODE-2).
package enum CommonModes {
  package static var defaultName: ModeName { ModeName(treadle_system_default_mode_name()) }
  package static var name: ModeName { ModeName(treadle_system_common_modes_name()) }

  /// Whether a name means the common modes. Compared by text, never by pointer (MODE-1).
  static func isCommon(_ mode: ModeName) -> Bool { mode.equals(name.bytes) }
}
