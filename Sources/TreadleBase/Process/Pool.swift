// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Releases that are put off until a pass, a thread or a client's pool ends (§20 of the rules). All of it
/// concerns the calling thread.
package enum Pool {
  private static var stack: UnsafeMutablePointer<PoolStack>? {
    treadle_system_thread().pointee.pools?.assumingMemoryBound(to: PoolStack.self)
  }

  // MARK: For the runtime's own pools

  /// Where a pool of the runtime begins, for `drain`. Usually the number of entries; while clients' pools are
  /// open, one of which may be closed inside, a pool of its own: its token, with the sign bit.
  @inline(__always)
  package static var mark: Int {
    guard let stack else { return 0 }
    return stack.pointee.hasOpenPools ? markAbove(stack) : stack.pointee.entries.count
  }

  private static let isToken: UInt64 = 1 << 63

  @inline(never)
  private static func markAbove(_ stack: UnsafeMutablePointer<PoolStack>) -> Int {
    guard let token = stack.pointee.open() else { return stack.pointee.entries.count }
    return Int(bitPattern: UInt(token | isToken))
  }

  /// Whether anything may have been added since the mark was taken.
  @inline(__always)
  package static func holdsMore(than mark: Int) -> Bool { stack.map { $0.pointee.entries.count > mark } ?? false }

  /// Releases what was added since the mark was taken, the latest first, and what that adds in turn (POOL-5).
  /// Clients' pools that were opened since and left open are closed.
  @inline(__always)
  package static func drain(to mark: Int) {
    if let stack, holdsMore(than: mark) { drain(stack, to: mark) }
  }

  @inline(never)
  private static func drain(_ stack: UnsafeMutablePointer<PoolStack>, to mark: Int) {
    if mark >= 0 {
      release(stack, above: mark, bottom: 0)
    } else {
      let token = UInt64(UInt(bitPattern: mark)) & ~isToken
      if let place = stack.pointee.find(token) { close(stack, place, token) }
    }
  }

  /// The thread ends: everything is released, and its memory goes. What is added later begins anew.
  package static func end() {
    guard let stack else { return }
    release(stack, above: 0, bottom: 0)
    guard isCurrent(stack) else { return }
    treadle_system_thread().pointee.pools = nil
    stack.pointee.free()
    treadle_system_free(stack)
  }

  /// In the child of a fork: what the parent put off is not released here.
  package static func forget() {
    let thread = treadle_system_thread()
    if let memory = thread.pointee.pools { treadle_system_forget(memory) }
    thread.pointee.pools = nil
  }

  // MARK: For clients

  /// Opens a pool; its token.
  package static func push() throws(Failure) -> UInt64 {
    guard let token = try needStack().pointee.open() else { throw Failure.noMemory("pool") }
    return token
  }

  /// Closes an open pool of this thread, and all that were opened since.
  package static func pop(_ token: UInt64) throws(Failure) {
    try Runtime.start()
    guard let stack, let place = stack.pointee.find(token) else {
      throw Failure(Status.argument, "token", "is not that of an open pool of this thread")
    }
    close(stack, place, token)
  }

  /// Puts a release off until the innermost pool is closed, or the thread ends.
  package static func add(
    _ code: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void, _ object: UnsafeMutableRawPointer?
  ) throws(Failure) {
    try add(PoolEntry(code: code, object: object))
  }

  package static func add(_ entry: PoolEntry) throws(Failure) {
    let stack = try needStack()
    guard let work = try ScopeWork.make(ScopeWork.Sort.release, entry, releaseContent) else {
      if !stack.pointee.entries.append(entry) { throw Failure.noMemory("object") }
      return
    }
    let carrier = PoolEntry(code: ScopeWork.endCarrier, object: UnsafeMutableRawPointer(work))
    // What the scope has ended meanwhile was released.
    if !stack.pointee.entries.append(carrier) && ScopeWork.takeBack(work) { throw Failure.noMemory("object") }
  }

  private static let releaseContent: ScopeWork.Dispose = {
    $0.assumingMemoryBound(to: PoolEntry.self).pointee.release()
  }

  // MARK: Inside

  private static func needStack() throws(Failure) -> UnsafeMutablePointer<PoolStack> {
    if let stack, Runtime.isStarted { return stack }
    return try makeStack()
  }

  @inline(never)
  private static func makeStack() throws(Failure) -> UnsafeMutablePointer<PoolStack> {
    _ = try Runtime.watchThread()
    guard let memory = treadle_system_allocate(MemoryLayout<PoolStack>.size) else { throw Failure.noMemory("pool") }
    let stack = memory.bindMemory(to: PoolStack.self, capacity: 1)
    stack.initialize(to: PoolStack())
    treadle_system_thread().pointee.pools = memory
    return stack
  }

  /// Releases what is above a pool's bottom, then takes the bottom away, unless a release has done so.
  private static func close(_ stack: UnsafeMutablePointer<PoolStack>, _ place: Int, _ token: UInt64) {
    release(stack, above: place &+ 1, bottom: token)
    if isCurrent(stack) && stack.pointee.isBottom(place, token) { _ = stack.pointee.takeLatest(above: place) }
  }

  /// Releases the latest entries until `count` are left, or, with the token of the pool whose bottom is the last of
  /// these, until it was closed by a release. A release may do everything: what is looked at after one is read anew.
  private static func release(_ stack: UnsafeMutablePointer<PoolStack>, above count: Int, bottom token: UInt64) {
    let tag = treadle_system_tag()
    let before = stack.pointee.entries.count
    while token == 0 || stack.pointee.isBottom(count &- 1, token) {
      guard let entry = stack.pointee.takeLatest(above: count) else { break }
      if entry.isBottom { continue }
      entry.release()
      // It may have forked: what the parent put off stays as it is in the child.
      if treadle_system_tag() != tag || !isCurrent(stack) { return }
    }
    stack.pointee.shrink(after: before)
  }

  private static func isCurrent(_ stack: UnsafeMutablePointer<PoolStack>) -> Bool { self.stack == stack }
}
