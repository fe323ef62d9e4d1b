// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// What a thread has entered and not left. Its thread's alone, but for what the scope's lock guards.
struct ScopeEntry {
  enum Kind {
    /// A client has entered it, and leaves it; without a scope: it has entered none.
    case byClient
    /// A call of ours makes something that names the scope (`within`).
    case named
    /// Code of the plugin that the scope is of makes something, or is called where it makes things directly.
    case code
    /// A function of the plugin that the scope is of is called, which is waited for. What is created meanwhile is not
    /// the plugin's: its code creates by its table, and it may call functions of its host, which creates for itself.
    case watched
    /// Other code is called, which has entered nothing.
    case aside
    /// Code is called that may create nothing: the constructors of a library, which know of no scope.
    case nothing
  }

  /// Held. Nil for none.
  let scope: Scope?
  let outer: UnsafeMutablePointer<ScopeEntry>?
  let kind: Kind
  let threadID: Int32
  /// How many places are promised to what the thread is making. Written under the lock, by the thread.
  fileprivate(set) var promised: Int
  /// Of the scope's list of those with a promise. Lock.
  fileprivate var previous: UnsafeMutablePointer<ScopeEntry>?
  fileprivate var next: UnsafeMutablePointer<ScopeEntry>?

  /// Whether what it says of the scope is that code of a plugin runs.
  fileprivate var isOfCode: Bool { kind == .code || kind == .byClient && scope?.isOfPlugin == true }
}

extension Scope {
  typealias Entry = ScopeEntry

  static var innermost: UnsafeMutablePointer<Entry>? {
    treadle_system_thread().pointee.scope?.assumingMemoryBound(to: Entry.self)
  }

  /// The entries of the scopes that what the calling thread creates now belongs to, none of which is inside of the
  /// other.
  struct Owners {
    var first: UnsafeMutablePointer<ScopeEntry>
    var second: UnsafeMutablePointer<ScopeEntry>?
  }

  /// Code of a plugin creates for the plugin, and for the scope that it names, or has entered, as well: whichever ends
  /// first.
  static var owners: Owners? {
    var next = innermost
    while let entry = next, entry.pointee.kind == .watched { next = entry.pointee.outer }
    guard let first = next, let scope = first.pointee.scope else { return nil }
    var second = first.pointee.outer
    if first.pointee.kind == .named {
      while let entry = second, entry.pointee.kind == .byClient, !entry.pointee.isOfCode {
        second = entry.pointee.outer
      }
      if second?.pointee.isOfCode != true { second = nil }
    } else if !first.pointee.isOfCode || second?.pointee.kind != .byClient {
      second = nil
    }
    guard let second, let other = second.pointee.scope, !scope.contains(other) else {
      // The inner one ends with the outer one.
      if let second, second.pointee.scope != nil { return Owners(first: second, second: nil) }
      return Owners(first: first, second: nil)
    }
    return Owners(first: first, second: other.contains(scope) ? nil : second)
  }

  /// The scope that the calling thread has entered last, if what it creates now belongs to that alone, and that is seen
  /// at once: a client has entered it, and it is no plugin's. Otherwise nil.
  @inline(__always)
  private static var enteredAlone: Scope? {
    guard let entry = innermost, entry.pointee.kind == .byClient, let scope = entry.pointee.scope else { return nil }
    return scope.isOfPlugin ? nil : scope
  }

  /// The scopes that what the calling thread creates now belongs to; nil for none. Refused where it may create nothing.
  @inline(__always)
  package static func demandOwners() throws(Failure) -> (first: Scope, second: Scope?)? {
    if let scope = enteredAlone { return (scope, nil) }
    return try demandOwnersOfAnyKind()
  }

  @inline(never)
  private static func demandOwnersOfAnyKind() throws(Failure) -> (first: Scope, second: Scope?)? {
    guard let owners, let scope = owners.first.pointee.scope else {
      try demandCreation()
      return nil
    }
    return (scope, owners.second?.pointee.scope)
  }

  /// The scope that what the calling thread creates now belongs to, before any other.
  package static var entered: Scope? { owners?.first.pointee.scope }

  /// What the calling thread creates belongs to the scope until it leaves it.
  package func enter() throws(Failure) {
    if isClosing { throw Scope.closedFailure }
    _ = try Scope.push(self, .byClient)
  }
  /// What the calling thread creates belongs to no scope until it leaves that.
  package static func enterNone() throws(Failure) { _ = try push(nil, .byClient) }

  static func push(_ scope: Scope?, _ kind: Entry.Kind) throws(Failure) -> UnsafeMutablePointer<Entry> {
    let threadID = try Runtime.watchThread()
    guard let memory = treadle_system_allocate(MemoryLayout<Entry>.size) else { throw Failure.noMemory("scope") }
    let entry = memory.bindMemory(to: Entry.self, capacity: 1)
    entry.initialize(
      to: Entry(scope: scope, outer: innermost, kind: kind, threadID: threadID, promised: 0, previous: nil, next: nil))
    scope?.holdAgain()
    treadle_system_thread().pointee.scope = memory
    return entry
  }

  package func leave() throws(Failure) { try Scope.leaveLast(self) }
  package static func leaveNone() throws(Failure) { try leaveLast(nil) }

  private static func leaveLast(_ scope: Scope?) throws(Failure) {
    guard let entry = innermost else { throw Failure(Status.state, "scope", "was not entered by this thread") }
    if entry.pointee.scope?.address != scope?.address {
      throw Failure(Status.state, "scope", "is not the one that this thread has entered last")
    }
    if entry.pointee.kind != .byClient || entry.pointee.promised != 0 {
      throw Failure(Status.state, "scope", "is the scope of a call that is creating an object")
    }
    pop(entry)
  }

  /// Leaves the innermost one. What it is making, if its thread ends meanwhile, is not made any more.
  static func pop(_ entry: UnsafeMutablePointer<Entry>) {
    let last = entry.pointee
    treadle_system_thread().pointee.scope = UnsafeMutableRawPointer(last.outer)
    for _ in 0..<last.promised { last.scope?.redeem(nil, by: entry) }
    treadle_system_free(entry)
    last.scope?.letGo()
  }

  /// Leaves what was entered since an entry, and that, if it is there still: the child of a fork has entered nothing.
  @inline(never)
  static func popAll(to entry: UnsafeMutablePointer<Entry>) {
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

  /// The thread ends, wherever it was.
  package static func leaveAll() {
    while let entry = innermost {
      if entry.pointee.promised > 0 { entry.pointee.scope?.tellThreadEnds() }
      pop(entry)
    }
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

  /// Runs code that has entered nothing: what it creates belongs to no scope of the calling thread. Without memory it
  /// creates where the thread is.
  @inline(__always)
  package static func aside(_ body: () -> Void) {
    let entry = treadle_system_thread().pointee.scope == nil ? nil : beginAside()
    body()
    if let entry { endCalling(entry) }
  }

  /// Runs code that may create nothing.
  package static func creatingNothing<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let entry = try push(nil, .nothing)
    defer { popAll(to: entry) }
    return try body()
  }
  static func demandCreation() throws(Failure) {
    if innermost?.pointee.kind == .nothing {
      throw Failure(Status.state, "plugin", "is being loaded: nothing is created before its init")
    }
  }

  @inline(never)
  package static func beginAside() -> UnsafeMutableRawPointer? {
    (try? push(nil, .aside)).map { UnsafeMutableRawPointer($0) }
  }
}

// MARK: Places that are promised

extension Scope {
  /// The lock is held.
  @inline(never)
  func addPromise(_ entry: UnsafeMutablePointer<ScopeEntry>) {
    entry.pointee.promised &+= 1
    if entry.pointee.promised > 1 { return }
    entry.pointee.next = state.makers
    state.makers?.pointee.previous = entry
    state.makers = entry
  }

  /// The lock is held.
  @inline(never)
  func dropPromise(_ entry: UnsafeMutablePointer<ScopeEntry>) {
    entry.pointee.promised &-= 1
    if entry.pointee.promised > 0 { return }
    let (previous, next) = (entry.pointee.previous, entry.pointee.next)
    if let previous { previous.pointee.next = next } else { state.makers = next }
    next?.pointee.previous = previous
    entry.pointee.previous = nil
    entry.pointee.next = nil
  }

  /// Calls `body`, under the lock, with the kernel's id of each thread that makes something in the scope, runs a
  /// function that belongs to it, or ends it.
  package func forEachMaker(_ body: (Int32) -> Void) {
    lock()
    defer { unlock() }
    var next = state.makers
    while let entry = next {
      body(entry.pointee.threadID)
      next = entry.pointee.next
    }
    if phase == Phase.finishing { body(state.finisher) }
  }
}
