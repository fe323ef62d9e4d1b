// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
package import TreadleBase

/// Finding modes, making them, and the common set. Modes live as long as their loop.
extension Loop {
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
    mutex.lock()
    defer { mutex.unlock() }
    return findMode(name)
  }

  /// The mode of a name; for the common modes, the record of common items. The caller holds the lock.
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

  /// The same, and made if there is none (RL-7). The caller holds the lock.
  func findOrMakeMode(_ name: ModeName) throws(Failure) -> Mode {
    if let mode = findMode(name) { return mode }
    guard let mode = Mode.create(in: self, name: name) else { throw Failure.noMemory("mode") }
    return mode
  }

  /// Notes the modes that a block or a request names, and makes them if need be. The caller holds the lock.
  func appendSlots(
    of names: Thread.Modes, to slots: inout Buffer<UInt32>, _ subject: StaticString
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
    where slot == mode.slot || slot == state.pointee.commonRecord && mode.state.pointee.isCommon {
      return true
    }
    return false
  }

  func withLock<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let mutex = self.mutex
    mutex.lock()
    defer { mutex.unlock() }
    return try body()
  }

  /// Puts a mode into the common set: it gets every recorded item, in the order of recording (MODE-8).
  package func addCommonMode(_ name: ModeName) throws(Failure) -> Int32 {
    if CommonModes.isCommon(name) {
      throw Failure(Status.argument, "mode", "is the name of the common modes themselves")
    }
    if !isAlive { return Status.ignored }
    var isNew = false
    try withLock { () throws(Failure) in
      let mode = try findOrMakeUnlistedMode(name)
      isNew = !mode.state.pointee.isCommon
      mode.state.pointee.isCommon = true
    }
    if !isNew { return Status.ignored }
    try Kind.forEachItemKind { kind throws(Failure) in try addRecorded(kind, to: name) }
    return Status.ok
  }

  /// A mode that has nothing of a client's does not exist for clients (RL-7), though it be common, or the call mode. The
  /// caller holds the lock.
  @_optimize(size)
  func findOrMakeUnlistedMode(_ name: ModeName) throws(Failure) -> Mode {
    if let mode = findMode(name) { return mode }
    guard let mode = Mode.create(in: self, name: name) else { throw Failure.noMemory("mode") }
    mode.state.pointee.isUnlisted = true
    return mode
  }

  /// Adds the recorded items of one kind to a mode that joined the set. They are taken down first, with a
  /// reference each, since adding calls the client.
  @_optimize(size)
  private func addRecorded(_ kind: Kind, to name: ModeName) throws(Failure) {
    var recorded = Buffer<UInt32>()
    defer { recorded.free() }
    let complete = try withLock { () throws(Failure) -> Bool in
      guard let record else { return true }
      var next = record.list(kind).first
      while let member = Item(kind, slot: next) {
        let item = member.primary
        if !recorded.append(item.slot) { return false }
        item.cell.pointee.reference.retainHeld()
        next = member.cell.pointee.next
      }
      return true
    }
    var failure: Failure?
    for slot in recorded.elements {
      guard let item = Item(kind, slot: slot) else { continue }
      do throws(Failure) { try follow(item, into: name) } catch { failure = error }
      item.drop()
    }
    if let failure { throw failure }
    if !complete { throw Failure.noMemory("mode") }
  }

  package func isCommonMode(_ name: ModeName) -> Bool {
    let mutex = self.mutex
    mutex.lock()
    defer { mutex.unlock() }
    guard let mode = findMode(name), !mode.state.pointee.isRecord else { return false }
    return mode.state.pointee.isCommon
  }

  /// Calls `body` with the name of each mode that exists (RL-7), under the lock.
  package func forEachModeName(_ body: (UnsafePointer<CChar>) -> Void) {
    let mutex = self.mutex
    mutex.lock()
    defer { mutex.unlock() }
    for slot in state.pointee.modes.elements {
      if let mode = Mode(slot: slot), !mode.state.pointee.isUnlisted, let name = mode.name { body(name) }
    }
  }

  /// The name of the mode that the innermost run runs, nil outside of runs (RL-6). Lives with the loop.
  package var currentModeName: UnsafePointer<CChar>? { currentMode?.name }
}
