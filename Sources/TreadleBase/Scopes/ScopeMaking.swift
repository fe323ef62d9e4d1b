// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

extension Scope {
  /// Makes something, which belongs to the scopes that the calling thread is in. They may end it as soon as `make`
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

  /// Runs `body` inside of the scope that a client's handle means, or with 0 where the thread is. What a client has
  /// entered meanwhile and not left is left after it.
  @inline(__always)
  package static func within<Made>(_ named: UInt, _ body: () throws(Failure) -> Made) throws(Failure) -> Made {
    let entry = named == 0 ? nil : try push(named)
    defer { if let entry { popAll(to: entry) } }
    return try body()
  }

  /// Runs a client's function that belongs to the scope, and is waited for by a closing. What it makes is in the scope,
  /// unless `isWatched`.
  @inline(__always)
  package func calling(isWatched: Bool = false, evenClosing: Bool = false, _ body: () throws(Failure) -> Void)
    throws(Failure)
  {
    let entry = try beginCalling(isWatched: isWatched, evenClosing: evenClosing)
    defer { Scope.endCalling(entry) }
    try body()
  }

  @inline(never)
  package func beginCalling(isWatched: Bool = false, evenClosing: Bool = false) throws(Failure)
    -> UnsafeMutableRawPointer
  {
    let entry = try Scope.push(self, isWatched ? .watched : .code)
    do throws(Failure) {
      try promise(by: entry, evenClosing: evenClosing)
    } catch {
      Scope.popAll(to: entry)
      throw error
    }
    return UnsafeMutableRawPointer(entry)
  }
  package static func endCalling(_ entry: UnsafeMutableRawPointer) {
    popAll(to: entry.assumingMemoryBound(to: ScopeEntry.self))
  }

  /// Enters it for one call by code of the plugin that it is of.
  package func enterForCall() throws(Failure) -> UnsafeMutableRawPointer? {
    UnsafeMutableRawPointer(try Scope.push(self, .code))
  }

  /// From here on the entry alone holds the scope: who has entered it need not return.
  @inline(never)
  private static func push(_ named: UInt) throws(Failure) -> UnsafeMutablePointer<Entry> {
    let scope = try hold(named, "scope")
    defer { scope.letGo() }
    return try push(scope, .named)
  }

  /// What is being made has places in the scopes of entries, in a life of the process.
  private struct Making {
    let owners: Owners
    let tag: UInt32
  }

  @inline(never)
  private static func beginMaking() throws(Failure) -> Making? {
    guard let owners, let scope = owners.first.pointee.scope else {
      try demandCreation()
      return nil
    }
    try scope.promise(by: owners.first)
    if let second = owners.second {
      do throws(Failure) { try second.pointee.scope?.promise(by: second) } catch {
        scope.redeem(nil, by: owners.first)
        throw error
      }
    }
    return Making(owners: owners, tag: treadle_system_tag())
  }

  @inline(never)
  private static func endMaking(_ making: Making, _ made: Handle?) {
    // The child of a fork has entered nothing.
    if treadle_system_tag() != making.tag { return }
    // The first one may end it before the second one knows of it, whose member is stale then.
    if let second = making.owners.second { second.pointee.scope?.redeem(made, by: second) }
    making.owners.first.pointee.scope?.redeem(made, by: making.owners.first)
  }

  /// Whether the calling thread is making something that belongs to the scope.
  package var isMakingHere: Bool { isMaking(Scope.innermost) }

  /// The same of a thread whose innermost entry this is.
  package func isMaking(_ innermost: UnsafeMutableRawPointer?) -> Bool {
    isMaking(innermost?.assumingMemoryBound(to: Entry.self))
  }

  private func isMaking(_ innermost: UnsafeMutablePointer<Entry>?) -> Bool {
    var next = innermost
    while let entry = next {
      if entry.pointee.scope?.address == address && entry.pointee.promised != 0 { return true }
      next = entry.pointee.outer
    }
    return false
  }
}
