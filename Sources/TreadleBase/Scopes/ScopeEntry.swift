// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// A scope that a thread has entered and not left. Its thread's alone, but for what the scope's lock guards.
struct ScopeEntry {
  /// Held.
  let scope: Scope
  let outer: UnsafeMutablePointer<ScopeEntry>?
  /// A call of ours has entered it, and leaves it (`within`).
  let isOfCall: Bool
  let threadID: Int32
  /// How many places are promised to what the thread is making. Written under the lock, by the thread.
  fileprivate(set) var promised: Int
  /// Of the scope's list of those with a promise. Lock.
  fileprivate var previous: UnsafeMutablePointer<ScopeEntry>?
  fileprivate var next: UnsafeMutablePointer<ScopeEntry>?
}

extension Scope {
  private typealias Entry = ScopeEntry

  private static var innermost: UnsafeMutablePointer<Entry>? {
    treadle_system_thread().pointee.scope?.assumingMemoryBound(to: Entry.self)
  }
  /// The one that the calling thread has entered last.
  package static var entered: Scope? { innermost?.pointee.scope }

  /// What the calling thread makes belongs to the scope until it leaves it.
  package func enter() throws(Failure) {
    if isClosing { throw Scope.closedFailure }
    _ = try push(isOfCall: false)
  }

  private func push(isOfCall: Bool) throws(Failure) -> UnsafeMutablePointer<Entry> {
    let threadID = try Runtime.watchThread()
    guard let memory = treadle_system_allocate(MemoryLayout<Entry>.size) else { throw Failure.noMemory("scope") }
    let entry = memory.bindMemory(to: Entry.self, capacity: 1)
    entry.initialize(
      to: Entry(
        scope: self, outer: Scope.innermost, isOfCall: isOfCall, threadID: threadID, promised: 0, previous: nil, next: nil))
    holdAgain()
    treadle_system_thread().pointee.scope = memory
    return entry
  }

  package func leave() throws(Failure) {
    guard let entry = Scope.innermost else { throw Failure(Status.state, "scope", "was not entered by this thread") }
    if entry.pointee.scope.state != state { throw Failure(Status.state, "scope", "is not the one that this thread has entered last") }
    if entry.pointee.isOfCall || entry.pointee.promised != 0 { throw Failure(Status.state, "scope", "is the scope of a call that is creating an object") }
    Scope.pop(entry)
  }

  /// Leaves the innermost one. What it is making, if its thread ends meanwhile, is not made any more.
  private static func pop(_ entry: UnsafeMutablePointer<Entry>) {
    let last = entry.pointee
    treadle_system_thread().pointee.scope = UnsafeMutableRawPointer(last.outer)
    for _ in 0..<last.promised { last.scope.redeem(nil, by: entry) }
    treadle_system_free(entry)
    last.scope.letGo()
  }

  /// The thread ends, wherever it was.
  package static func leaveAll() {
    while let entry = innermost { pop(entry) }
    if treadle_system_thread().pointee.finishing != 0 { abandonFinishing() }
  }

  /// Makes something of our own, which is in no scope.
  package static func outside<Made>(_ body: () throws(Failure) -> Made) throws(Failure) -> Made {
    let thread = treadle_system_thread()
    let scope = thread.pointee.scope
    thread.pointee.scope = nil
    defer { thread.pointee.scope = scope }
    return try body()
  }
}

// MARK: Making

extension Scope {
  /// Makes something, which belongs to the scope that the calling thread has entered. The scope may end it as soon as `make`
  /// has returned: nothing but its handle may be looked at after that.
  @inline(__always)
  package static func making(_ make: () throws(Failure) -> Handle) throws(Failure) -> Handle {
    let making = treadle_system_thread().pointee.scope == nil ? nil : try beginMaking()
    var made: Handle?
    defer { if let making { endMaking(making, made) } }
    let handle = try make()
    made = handle
    return handle
  }

  /// The same for what names its scope, by a client's handle; 0 for none: then the entered one counts.
  @inline(__always)
  package static func making(in named: UInt, _ make: () throws(Failure) -> Handle) throws(Failure) -> Handle {
    try within(named) { () throws(Failure) in try making(make) }
  }

  /// Runs `body` inside of the scope that a client's handle means, or with 0 where the thread is. What a client has entered
  /// meanwhile and not left is left after it.
  @inline(__always)
  package static func within<Made>(_ named: UInt, _ body: () throws(Failure) -> Made) throws(Failure) -> Made {
    let entry = named == 0 ? nil : try push(named)
    defer { if let entry { popAll(to: entry) } }
    return try body()
  }

  /// Runs a client's function that belongs to the scope, and is waited for by a closing. What it makes is in the scope.
  @inline(__always)
  package func calling(evenClosing: Bool = false, _ body: () throws(Failure) -> Void) throws(Failure) {
    let entry = try beginCalling(evenClosing: evenClosing)
    defer { Scope.endCalling(entry) }
    try body()
  }

  @inline(never)
  package func beginCalling(evenClosing: Bool = false) throws(Failure) -> UnsafeMutableRawPointer {
    let entry = try push(isOfCall: true)
    do throws(Failure) {
      try promise(by: entry, evenClosing: evenClosing)
    } catch {
      Scope.popAll(to: entry)
      throw error
    }
    return UnsafeMutableRawPointer(entry)
  }
  package static func endCalling(_ entry: UnsafeMutableRawPointer) { popAll(to: entry.assumingMemoryBound(to: ScopeEntry.self)) }

  /// Enters it for one call of a client's that the scope is in charge of; nil if the thread is inside already.
  package func enterForCall() throws(Failure) -> UnsafeMutableRawPointer? {
    if let entered = Scope.entered, contains(entered) { return nil }
    return UnsafeMutableRawPointer(try push(isOfCall: true))
  }

  /// Leaves what was entered since an entry, and that, if it is there still: the child of a fork has entered nothing.
  @inline(never)
  private static func popAll(to entry: UnsafeMutablePointer<Entry>) {
    var isThere = false
    var next = innermost
    while let found = next, !isThere {
      isThere = found == entry
      next = found.pointee.outer
    }
    if !isThere { return }
    while let last = innermost {
      pop(last)
      if last == entry { return }
    }
  }

  /// From here on the entry alone holds the scope: who has entered it need not return.
  @inline(never)
  private static func push(_ named: UInt) throws(Failure) -> UnsafeMutablePointer<Entry> {
    let scope = try hold(named, "scope")
    defer { scope.letGo() }
    return try scope.push(isOfCall: true)
  }

  /// What is being made has a place in the scope of an entry, in a life of the process.
  private struct Making {
    let entry: UnsafeMutablePointer<ScopeEntry>
    let tag: UInt32
  }

  @inline(never)
  private static func beginMaking() throws(Failure) -> Making? {
    guard let entry = innermost else { return nil }
    try entry.pointee.scope.promise(by: entry)
    return Making(entry: entry, tag: treadle_system_tag())
  }

  @inline(never)
  private static func endMaking(_ making: Making, _ made: Handle?) {
    // The child of a fork has entered nothing.
    if treadle_system_tag() == making.tag { making.entry.pointee.scope.redeem(made, by: making.entry) }
  }

  /// Whether the calling thread is making something that belongs to the scope.
  package var isMakingHere: Bool {
    var next = Scope.innermost
    while let entry = next {
      if entry.pointee.scope.state == state && entry.pointee.promised != 0 { return true }
      next = entry.pointee.outer
    }
    return false
  }

  // MARK: Who does

  /// The lock is held.
  @inline(never)
  func addPromise(_ entry: UnsafeMutablePointer<ScopeEntry>) {
    entry.pointee.promised &+= 1
    if entry.pointee.promised > 1 { return }
    entry.pointee.next = state.pointee.makers
    state.pointee.makers?.pointee.previous = entry
    state.pointee.makers = entry
  }

  /// The lock is held.
  @inline(never)
  func dropPromise(_ entry: UnsafeMutablePointer<ScopeEntry>) {
    entry.pointee.promised &-= 1
    if entry.pointee.promised > 0 { return }
    let (previous, next) = (entry.pointee.previous, entry.pointee.next)
    if let previous { previous.pointee.next = next } else { state.pointee.makers = next }
    next?.pointee.previous = previous
    entry.pointee.previous = nil
    entry.pointee.next = nil
  }

  /// Calls `body`, under the lock, with the kernel's id of each thread that makes something in the scope, runs a function that
  /// belongs to it, or ends it.
  package func forEachMaker(_ body: (Int32) -> Void) {
    lock()
    defer { unlock() }
    var next = state.pointee.makers
    while let entry = next {
      body(entry.pointee.threadID)
      next = entry.pointee.next
    }
    if phase == Phase.finishing { body(finisher) }
  }
}
