// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadle
import CTreadlePlugins
import CTreadleSystem
package import TreadleBase

/// What is known of a plugin from its load to its end. The lock is `PluginRegistry`'s.
package struct PluginState {
  package enum Phase {
    package static let loaded: UInt32 = 0
    package static let starting: UInt32 = 1
    package static let started: UInt32 = 2
    package static let stopping: UInt32 = 3
    package static let stopped: UInt32 = 4
  }

  /// Lock.
  var next: UnsafeMutablePointer<PluginState>?
  /// Constant; lives as long as this.
  let scope: Scope
  let image: UnsafeMutablePointer<libtreadle_image>?
  /// Of one in a process of its own, which has no image.
  let isolated: IsolatedPlugin?
  /// The description as it lies in the plugin's file, and a copy of the members that this version knows.
  let original: UnsafePointer<treadle_plugin_description>
  let description: treadle_plugin_description
  /// Its own copies; nil for none.
  let path: UnsafeMutablePointer<CChar>?
  let given: UnsafeMutablePointer<GivenHost>
  /// The program's.
  let getExtension: treadle_plugin_extension_fn?
  let extensions: ExtensionSource.List?
  let log: treadle_plugin_log_fn?
  let info: UnsafeMutableRawPointer?
  /// Lock. As many as the description has settings; each one's own copy.
  var values: Buffer<UnsafeMutablePointer<CChar>?>
  /// Lock.
  package var phase: UInt32
  /// Lock. The kernel's id of the thread that starts, stops or ends it.
  var worker: Int32
  /// Lock. It has said that its stop is over.
  var hasStopped: Bool
  /// Written by the thread that starts it, before the phase says so.
  var instance: UnsafeMutableRawPointer?
  /// Code of the plugin has been called that knows of its host.
  var isGiven: Bool
  var isInitialised: Bool
  /// Lock. Nobody may begin to use it.
  var isEnding: Bool
  /// Lock. The one whose place it takes has not ended: it is not started before, since both may be of one mapping.
  var isHeir: Bool
  /// Lock. Its own code has asked for its end, and may be on some stack.
  var isPinned: Bool
  /// Lock. The handles of the plugins that it uses.
  var uses: Buffer<UInt64>
  /// Lock. While it is looked for who uses whom.
  var isReached: Bool
  var foundBefore: UnsafeMutablePointer<PluginState>?
  /// Lock. Where its state goes at its end; nil: nobody wants it.
  var heir: UnsafeMutablePointer<SavedState>?
  /// Lock. What its code has said last of a failure.
  var reason: PluginReason
  /// In the process of an isolated plugin: what its host is reached by. Constant from the load on.
  var server: UnsafeMutablePointer<IsolatedServer>? = nil
}

/// What a plugin hands over to the one that takes its place. It has two owners, who know by the lock which is the last.
package struct SavedState {
  typealias Pointer = UnsafeMutablePointer<SavedState>
  var bytes = Buffer<UInt8>()
  /// Whether all that was written is there.
  var isWhole = true
  var isSaved = false
  /// Lock.
  private var owners = 2

  static func make() throws(Failure) -> Pointer {
    guard let memory = treadle_system_allocate(MemoryLayout<SavedState>.size) else { throw Failure.noMemory("state") }
    let saved = memory.bindMemory(to: SavedState.self, capacity: 1)
    saved.initialize(to: SavedState())
    return saved
  }

  /// Of the only owner.
  static let discard: ObjectCall.Abandon = { memory in
    let saved = memory.assumingMemoryBound(to: SavedState.self)
    saved.pointee.bytes.free()
    treadle_system_free(saved)
  }

  static func letGo(_ saved: Pointer) {
    let left = try? PluginRegistry.locked { () throws(Failure) in
      saved.pointee.owners &-= 1
      return saved.pointee.owners
    }
    if left != 0 { return }
    saved.pointee.bytes.free()
    treadle_system_free(saved)
  }
}

/// A plugin: a scope with a life of its own. A thin handle; valid while the scope is not closed, for which callers see
/// by a call inside (`Scope.calling`) or by the lock.
package struct Plugin {
  package let state: UnsafeMutablePointer<PluginState>

  package var scope: Scope { state.pointee.scope }
  package var handle: Handle { state.pointee.scope.handle }
  package var id: UnsafePointer<CChar>? { state.pointee.description.id }

  /// Tells the program.
  func tell(_ level: UInt32, _ text: UnsafePointer<CChar>) { teller.tell(level, text) }
  var teller: PluginTeller { PluginTeller(log: state.pointee.log, info: state.pointee.info, handle: handle.bits) }

  /// Whether its code creates by its table. One that is part of the program creates directly.
  var hasTable: Bool { state.pointee.image != nil }

  /// A failure that names the plugin.
  @inline(never)
  func failure(
    _ status: Int32, _ text: StaticString, _ more: UnsafePointer<CChar>? = nil, _ most: UnsafePointer<CChar>? = nil
  ) -> Failure {
    LastError.detail(id, more, most)
    return Failure(status, "plugin", text)
  }

  /// Whether one of the names in a list, which may be nil, is this one.
  @inline(never)
  static func lists(_ list: UnsafePointer<UnsafePointer<CChar>?>?, _ name: UnsafePointer<CChar>) -> Bool {
    guard var next = list else { return false }
    while let entry = next.pointee {
      if strcmp(entry, name) == 0 { return true }
      next += 1
    }
    return false
  }
}

/// What the program is told by of a plugin.
struct PluginTeller {
  let log: treadle_plugin_log_fn?
  let info: UnsafeMutableRawPointer?
  let handle: UInt

  @inline(never)
  func tell(_ level: UInt32, _ text: UnsafePointer<CChar>) {
    guard let log else { return }
    Scope.aside {
      _ = ClientCall.guarded(
        log, info, UnsafeRawPointer(bitPattern: handle), UnsafeRawPointer(bitPattern: UInt(level)), text)
    }
  }
}

/// The plugins of this life of the process, in the order in which they were loaded.
package enum PluginRegistry {
  private struct State {
    var first: UnsafeMutablePointer<PluginState>?
    /// What plugins were given that stay mapped: it is theirs for ever, since threads of their own may look at it at
    /// any time.
    var retired: UnsafeMutablePointer<GivenHost>?
  }
  private static var shared: UnsafeMutablePointer<State> {
    treadle_system_plugin_words().assumingMemoryBound(to: State.self)
  }

  /// No client code is called in `body`.
  static func locked<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let lock = Mutex.at(treadle_system_plugin_lock())
    lock.pointee.lock(.process)
    defer { lock.pointee.unlock(.process) }
    return try body()
  }

  // MARK: Under the lock

  static func add(_ plugin: Plugin) {
    var last = withUnsafeMutablePointer(to: &shared.pointee.first) { $0 }
    while let state = last.pointee { last = withUnsafeMutablePointer(to: &state.pointee.next) { $0 } }
    last.pointee = plugin.state
  }

  static func remove(_ plugin: Plugin) {
    var at = withUnsafeMutablePointer(to: &shared.pointee.first) { $0 }
    while let state = at.pointee {
      if state == plugin.state {
        at.pointee = state.pointee.next
        return
      }
      at = withUnsafeMutablePointer(to: &state.pointee.next) { $0 }
    }
  }

  @inline(never)
  static func first(where test: (Plugin) -> Bool) -> Plugin? {
    var next = shared.pointee.first
    while let state = next {
      if test(Plugin(state: state)) { return Plugin(state: state) }
      next = state.pointee.next
    }
    return nil
  }

  /// The plugin that a scope is of.
  static func find(_ scope: Scope) -> Plugin? { first { $0.scope.address == scope.address } }

  static func retire(_ given: UnsafeMutablePointer<GivenHost>) {
    given.pointee.next = shared.pointee.retired
    shared.pointee.retired = given
  }

  // MARK: For clients

  /// Calls `body` with the plugin that a client's handle means, which does not end meanwhile.
  @inline(__always)
  package static func using(_ handle: UInt, _ body: (Plugin) throws(Failure) -> Void) throws(Failure) {
    let scope = try Scope.hold(handle, "plugin")
    defer { scope.letGo() }
    let (plugin, call) = try beginUse(scope)
    defer { Scope.endCalling(call) }
    try body(plugin)
  }

  @inline(never)
  private static func beginUse(_ scope: Scope) throws(Failure) -> (Plugin, UnsafeMutableRawPointer) {
    // `hasTable` is looked at under the lock: behind it the plugin may end at any time, until its end waits.
    guard let (plugin, hasTable) = try locked({ () throws(Failure) in find(scope).map { ($0, $0.hasTable) } }) else {
      if scope.isOfPlugin { throw Failure(Status.closed, "plugin", "has ended") }
      throw Failure(Status.kind, "plugin", "is a scope, not a plugin")
    }
    // From here on its end waits; it may have come since, then this is refused.
    return (plugin, try scope.beginCalling(isWatched: hasTable))
  }

  /// Calls `body` with the handle of each, until it throws, under the lock.
  package static func forEach(_ body: (Handle) throws(Failure) -> Void) throws(Failure) {
    try Runtime.start()
    try locked { () throws(Failure) in
      var failure: Failure?
      _ = first { plugin in
        do throws(Failure) { try body(plugin.handle) } catch { failure = error }
        return failure != nil
      }
      if let failure { throw failure }
    }
  }

  /// Whether its stop has returned, and is to be over later.
  package static func isStopping(_ scope: Scope) -> Bool {
    guard scope.isOfPlugin else { return false }
    let isStopping = try? locked { () throws(Failure) in
      guard let plugin = find(scope) else { return false }
      return plugin.state.pointee.phase == PluginState.Phase.stopping && plugin.state.pointee.worker == 0
    }
    return isStopping ?? false
  }

  /// Calls `body` with each plugin that uses this one.
  package static func forEachUser(of scope: Scope, _ body: (Handle, UnsafePointer<CChar>?) -> Void) {
    guard scope.isOfPlugin else { return }
    try? locked { () throws(Failure) in
      _ = first { plugin in
        if plugin.uses(scope) { body(plugin.handle, plugin.id) }
        return false
      }
    }
  }
}

extension Plugin {
  /// What is known of it. The caller is inside of it.
  package func tell(_ info: inout treadle_plugin_info) {
    info.state = min(phase, PluginState.Phase.started)
    info.abi = state.pointee.given.pointee.host.abi
    info.description = state.pointee.original
    info.path = UnsafePointer(state.pointee.path)
  }
}
