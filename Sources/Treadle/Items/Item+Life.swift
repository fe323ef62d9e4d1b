// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Being made, counted, invalidated and freed.
extension Item {
  /// A new item with the client's one reference; published by handing out its handle.
  static func create(
    _ kind: Kind, flags: UInt32, code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, context: Context?
  ) throws(Failure) -> Item {
    try Loop.startRuntime()
    guard let slot = Slab(kind).allocate(), let item = Item(kind, slot: slot) else {
      throw Failure.noMemory("object")
    }
    let cell = item.cell
    item.beginOutside()
    cell.pointee.link.store(UInt(bitPattern: code) | Item.codeMark, ordering: .relaxed)
    cell.pointee.info = info
    if let context, !item.attach(context) {
      cell.pointee.flags.store(0, ordering: .relaxed)
      Slab(kind).free(slot)
      throw Failure.noMemory("object")
    }
    // What retain answers is what the callbacks receive (SRC0-2).
    if let retain = context?.retain { cell.pointee.info = retain(info) }
    cell.pointee.flags.store(flags | Flag.valid, ordering: .releasing)
    return item
  }

  /// A new cell is in no chain, and a membership in no mode; its serial goes on from the slot's last use.
  @inline(__always)
  func beginOutside() {
    cell.pointee.previous = 0
    cell.pointee.next = 0
    cell.pointee.mode.store(cell.pointee.mode.load(ordering: .relaxed) & ~Mention.slotMask, ordering: .relaxed)
  }

  /// Gives the item, which has none, its context. False when there is no memory.
  private func attach(_ context: Context) -> Bool {
    let size = kind == .observer ? ObserverPart.offset &+ MemoryLayout<ObserverPart>.size : MemoryLayout<Context>.size
    guard let memory = treadle_system_allocate(size) else { return false }
    memset(memory, 0, size)
    let attached = memory.bindMemory(to: Context.self, capacity: 1)
    attached.initialize(to: context)
    attached.pointee.code = code
    cell.pointee.link.store(UInt(bitPattern: memory), ordering: .releasing)
    return true
  }

  /// The context, made if the item had none. The caller holds the item's lock.
  func needContext() -> UnsafeMutablePointer<Context>? {
    if let context { return context }
    return attach(Context()) ? context : nil
  }

  package func retain() -> Int32 { cell.pointee.reference.retainForClient(generation: generation) }

  /// Returns a reference that the client owns.
  package func release(_ subject: StaticString) throws(Failure) {
    switch cell.pointee.reference.releaseForClient(generation: generation) {
    case .stale: throw Failure(Status.stale, subject, "was released more often than retained")
    case .notLast: break
    case .last: destroy()
    }
  }

  /// Drops one of our own references.
  @inline(__always)
  func drop() {
    if cell.pointee.reference.release() { destroy() } else { announceIfAwaited() }
  }

  /// After a reference of ours was dropped: whoever waits in `close` for the last one looks again.
  @inline(__always)
  func announceIfAwaited() {
    // Looked at after the release, as those who wait look at the count after they set the flag. Should
    // the slot serve another object by now, somebody looks once more for nothing.
    if cell.pointee.flags.load(ordering: .sequentiallyConsistent) & Flag.awaited != 0 { Rest.announce() }
  }

  /// The last reference is gone: no mode has the item, nobody else can reach it (OBJ-4).
  @inline(never)
  func destroy() {
    if isValid { clearFlag(Flag.valid) }
    if let context {
      releaseInfoOnce()
      cell.pointee.link.store(0, ordering: .relaxed)
      context.pointee.dropCallbacks()
      treadle_system_free(context)
    }
    Slab(kind).free(slot)
  }

  /// Releases the info, or retires the host's token, if that has not happened.
  func releaseInfoOnce() {
    if setFlag(Flag.releasing) & Flag.releasing == 0 { releaseInfo() }
  }

  /// The info stays the client's: no release of it any more, for an item that nobody else has seen.
  package func forgetInfo() { setFlag(Flag.releasing) }

  /// Lets the client describe its info; false if it does not.
  package func describeInfo(_ buffer: UnsafeMutablePointer<CChar>, _ capacity: Int) -> Bool {
    guard let describe = context?.pointee.describe, isValid || kind == .source || kind == .descriptor else {
      return false
    }
    buffer.pointee = 0
    describe(info, buffer, capacity)
    return true
  }

  /// The one release of the info, or the retirement of the host's token.
  func releaseInfo() {
    guard let context else { return }
    if let retire = context.pointee.retire { retire(context.pointee.host, context.pointee.token) }
    context.pointee.release?(cell.pointee.info)
  }

  /// Ends the item's activity: no callback starts any more on the loop's own thread, every mode lets it
  /// go, and a timer or observer gives up its info when its callback is at rest (OBJ-5, SRC0-4, OBS-8).
  /// The caller holds the item.
  package func invalidate() {
    if kind == .observer { return invalidateObserver() }
    let old = clearFlag(Flag.valid | Flag.signalled | Flag.wakeWanted | Flag.repeated)
    if old & Flag.valid == 0 { return }
    leaveEverything()
    if kind == .timer, context != nil {
      // Whoever finds the callback at rest releases: here, or the run when the callback returns.
      let flags = setFlag(Flag.releasing)
      if flags & (Flag.running | Flag.releasing) == 0 { releaseInfo() }
    }
  }

  /// A callback begins, on the loop's thread; false when the item became invalid, or its callback runs
  /// already.
  @inline(__always)
  func beginRunning() -> Bool {
    let old = setFlag(Flag.running)
    if old & (Flag.running | Flag.valid) == Flag.valid { return true }
    if old & Flag.running == 0 { endRunning(releasedBefore: old & Flag.releasing != 0) }
    return false
  }

  /// The callback returned. Releases the info if the item became invalid meanwhile.
  @inline(__always)
  func endRunning(releasedBefore: Bool = false) {
    let old = clearFlag(Flag.running)
    if old & Flag.releasing != 0 && !releasedBefore { releaseInfo() }
  }

  /// Invalidates, then waits until no callback of the item runs anywhere. The caller's reference counts as
  /// a client's, so that what is left of ours are the running callbacks.
  package func close(timeout: Int64, _ subject: StaticString) throws(Failure) {
    let result = retain()
    if result < 0 { throw Failure(result, subject, "cannot be referred to once more") }
    defer { try? release(subject) }
    setFlag(Flag.awaited)
    invalidate()
    if Loop.existing?.isInCallback(of: self) == true || ItemCall.isOnThisThread(self) {
      throw Failure(Status.deadlock, subject, "is in one of its callbacks: waiting for its end would never end")
    }
    let until = Clock.after(timeout, from: Clock.now())
    while true {
      let seen = Rest.epoch
      if cell.pointee.reference.internalCount == 0 { return }
      if timeout <= 0 || Clock.now() >= until {
        throw Failure(Status.timeout, "timeout_ns", "passed while a callback of the object still ran")
      }
      Rest.wait(seen, until: until)
    }
  }
}
