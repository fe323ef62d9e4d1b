// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Finding modes, making them, and the common set. Modes live as long as their loop.
extension Loop {
  @inline(__always)
  func lock() { state.pointee.mutex.lock(.loop) }
  @inline(__always)
  func unlock() { state.pointee.mutex.unlock(.loop) }

  func withLock<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  var record: Mode? { Mode(slot: state.pointee.commonRecord) }
  @inline(__always)
  var defaultMode: Mode? { state.pointee.defaultMode.map { Mode($0) } }
  @inline(__always)
  var currentMode: Mode? { Mode(slot: state.pointee.currentMode.load(ordering: .acquiring)) }

  /// The default mode, if that is its name. Needs no lock: it is the same as long as the loop lives.
  @inline(__always)
  func defaultMode(_ name: ModeName) -> Mode? {
    guard let standard = defaultMode, let known = standard.name, name.equals(known) else { return nil }
    return standard
  }

  /// `findMode` for those who do not hold the lock.
  func lookUp(_ name: ModeName) -> Mode? {
    if let standard = defaultMode(name) { return standard }
    lock()
    defer { unlock() }
    return findMode(name)
  }

  /// The mode of `TREADLE_CALL_MODE` in the C header, in which a thread runs that waits for a call.
  static var callModeName: ModeName { ModeName(treadle_system_call_mode_name()) }

  func findOrMakeCallMode() throws(Failure) -> Mode {
    if let mode = Mode(slot: state.pointee.callMode.load(ordering: .acquiring)) { return mode }
    return try withLock { () throws(Failure) in try findOrMakeUnlistedMode(Loop.callModeName) }
  }

  /// The mode of a name; for the common modes, the record of common items. The lock is held.
  func findMode(_ name: ModeName) -> Mode? {
    if let standard = defaultMode(name) { return standard }
    if CommonModes.isCommon(name) { return record }
    let hash = name.hash
    for slot in state.pointee.modes.elements {
      guard let mode = Mode(slot: slot), mode.state.pointee.hash == hash, let known = mode.name else { continue }
      if name.equals(known) { return mode }
    }
    return nil
  }

  /// The mode of a name, which is made if there is none (RL-7). The lock is held.
  func findOrMakeMode(_ name: ModeName) throws(Failure) -> Mode {
    if let mode = findMode(name) { return mode }
    guard let mode = Mode.create(in: self, name: name) else { throw Failure.noMemory("mode") }
    return mode
  }

  /// Notes the modes that a block or a request names, and makes them if need be. The lock is held.
  func appendSlots(
    of names: ModeNames, to slots: inout Buffer<UInt32>, _ subject: StaticString
  ) throws(Failure) {
    for name in names {
      guard let name else { throw Failure(Status.argument, "modes", "contains NULL") }
      let mode = try findOrMakeMode(ModeName(name))
      mode.state.pointee.isUnlisted = false
      if !slots.append(mode.slot) { throw Failure.noMemory(subject) }
    }
  }

  /// Whether a mode is one of those noted; the record stands for the common ones.
  @inline(__always)
  func names(_ slots: Buffer<UInt32>, _ mode: Mode) -> Bool {
    for slot in slots.elements
    where slot == mode.slot || slot == state.pointee.commonRecord && mode.isCommon {
      return true
    }
    return false
  }

  /// A mode that has nothing of a client's does not exist for clients (RL-7), though it be common, or the call mode. The
  /// lock is held.
  func findOrMakeUnlistedMode(_ name: ModeName) throws(Failure) -> Mode {
    if let mode = findMode(name) { return mode }
    guard let mode = Mode.create(in: self, name: name) else { throw Failure.noMemory("mode") }
    mode.state.pointee.isUnlisted = true
    return mode
  }

  package func isCommonMode(_ name: ModeName) -> Bool {
    lock()
    defer { unlock() }
    guard let mode = findMode(name), !mode.isRecord else { return false }
    return mode.isCommon
  }

  /// Calls `body` with the name of each mode that exists (RL-7), under the lock.
  package func forEachModeName(_ body: (UnsafePointer<CChar>) -> Void) {
    lock()
    defer { unlock() }
    for slot in state.pointee.modes.elements {
      if let mode = Mode(slot: slot), !mode.state.pointee.isUnlisted, let name = mode.name { body(name) }
    }
  }

  /// The name of the mode that the innermost run runs, nil outside of runs (RL-6). Lives with the loop.
  package var currentModeName: UnsafePointer<CChar>? { currentMode?.name }
}

/// The two mode names that every loop knows (MODE-2).
enum CommonModes {
  static var defaultName: ModeName { ModeName(treadle_system_default_mode_name()) }
  static var name: ModeName { ModeName(treadle_system_common_modes_name()) }

  /// Whether a name means the common modes. Compared by text, never by pointer (MODE-1).
  static func isCommon(_ mode: ModeName) -> Bool { mode.equals(name.bytes) }
}
