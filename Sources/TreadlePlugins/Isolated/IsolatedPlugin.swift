// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore
import TreadlePorts

/// A plugin in a process of its own, as its host knows it. The plugin's description has functions that ask that
/// process; so phases, uses, settings, saved states and the end are those of any plugin. A thin handle; what it refers
/// to is counted.
struct IsolatedPlugin {
  let state: UnsafeMutablePointer<IsolatedState>

  static let brokenFailure = Failure(Status.plugin, "plugin", "has a process that does not keep to the protocol")

  // MARK: Its life

  /// Starts the process, and has it load the plugin. The caller has one reference.
  static func load(_ config: treadle_plugin_config) throws(Failure) -> IsolatedPlugin {
    guard let memory = treadle_system_allocate(MemoryLayout<IsolatedState>.size) else {
      throw Failure.noMemory("plugin")
    }
    let plugin = IsolatedPlugin(state: memory.bindMemory(to: IsolatedState.self, capacity: 1))
    plugin.state.initialize(
      to: IsolatedState(PluginTeller(log: config.log, info: config.info, handle: 0), config.ended))
    do throws(Failure) {
      if config.timeout_ns < 0 { throw Failure(Status.argument, "timeout_ns", "is negative") }
      if config.timeout_ns != 0 { plugin.state.pointee.timeout = config.timeout_ns }
      if let id = config.id { try plugin.state.pointee.description.name(id) }
      if let restart = config.restart { plugin.state.pointee.restart.plan = try RestartPlan.read(restart) }
      try plugin.writeLoad(config)
      try plugin.begin(config.loop.map { UInt(bitPattern: $0) })
      try plugin.askToLoad()
      return plugin
    } catch {
      plugin.close()
      plugin.letGo()
      throw error
    }
  }

  func hold() { state.pointee.references.add(1, ordering: .relaxed) }
  func letGo() {
    if state.pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
    state.pointee.description.free()
    state.pointee.saved.free()
    state.pointee.restored.free()
    state.pointee.loading.free()
    state.pointee.restart.free()
    state.pointee.link?.free()
    state.pointee.scope?.letGo()
    treadle_system_free(state)
  }

  /// The main loop receives from the process in its common modes, or another loop that is given.
  private func begin(_ given: UInt?) throws(Failure) {
    let loop = if let given { try Loop.hold(given, "loop") } else { try Loop.holdMain() }
    let link = try IsolatedLink.make(
      home: loop, owner: self, info: UnsafeMutableRawPointer(state), IsolatedPlugin.serve)
    state.pointee.link = link
    let process = try IsolatedProcess.make(of: self, on: loop)
    link.locking {
      state.pointee.process = process
      link.state.pointee.peer = process.peer
    }
    state.pointee.serial.store(process.state.pointee.serial, ordering: .relaxed)
  }

  /// It is a plugin of the host's, with a scope: its messages have a handle from here on.
  func begin(_ scope: Scope) {
    scope.holdAgain()
    state.pointee.teller = PluginTeller(
      log: state.pointee.teller.log, info: state.pointee.teller.info, handle: scope.handle.bits)
    state.pointee.scope = scope
    state.pointee.link?.state.pointee.scope = scope
  }

  static func of(_ info: UnsafeMutableRawPointer?) -> IsolatedPlugin? {
    info.map { IsolatedPlugin(state: $0.assumingMemoryBound(to: IsolatedState.self)) }
  }

  /// Ends the process, if it has not ended, and all that is known of it; nothing is received from it any more. The
  /// process is killed, unless it ends before a date.
  func close(until: Int64 = 0) {
    endRestarts()
    guard let link = state.pointee.link else { return }
    let process = link.locking {
      defer {
        state.pointee.process = nil
        link.state.pointee.peer = LinkPeer()
      }
      return state.pointee.process
    }
    if until != 0 { process?.awaitEnd(until: until) }
    link.end()
    process?.end()
    process?.letGo()
  }

  func kill() { try? withProcess { process throws(Failure) in process?.kill() } }

  /// Calls `body` with the process as it is now; nil if the plugin is closed.
  func withProcess<Result>(_ body: (IsolatedProcess?) throws(Failure) -> Result) throws(Failure) -> Result {
    let process = state.pointee.link?.locking {
      state.pointee.process?.hold()
      return state.pointee.process
    }
    defer { process?.letGo() }
    return try body(process)
  }

  /// Whether a process of this serial is that of a plugin.
  static func isLive(_ serial: UInt32) -> Bool {
    let found = try? PluginRegistry.locked { () throws(Failure) in
      PluginRegistry.first { $0.state.pointee.isolated?.state.pointee.serial.load(ordering: .relaxed) == serial }
    }
    return (found ?? nil) != nil
  }
}

/// The memory of an isolated plugin. The lock is the link's.
struct IsolatedState: ~Copyable {
  let references = Atomic<UInt32>(1)
  /// Constant from the load on.
  var link: IsolatedLink? = nil
  /// Lock. Held; nil when the plugin is closed.
  var process: IsolatedProcess?
  /// Of that one.
  let serial = Atomic<UInt32>(0)
  /// Constant from the load on.
  var description = IsolatedDescription()
  var scope: Scope? = nil
  var teller: PluginTeller
  /// The state that it has saved at its end.
  var saved = Buffer<UInt8>()
  var hasSaved = false
  /// The process has answered to its close, so what it has not saved is not to be kept.
  var hasAnsweredClose = false
  /// Lock. What is given to the next start: of the one whose place it takes, or what it has saved while it runs.
  var restored = Buffer<UInt8>()
  var hasRestored = false
  /// Lock. That is its own.
  var hasCheckpoint = false
  /// What a process is told to load. Constant from the load on.
  var loading = FrameWriter()
  var restart = RestartState()
  /// How long the program waits for the answers to its load and its start. Constant from the load on.
  var timeout = Clock.forever
  let ended: treadle_plugin_ended_fn?
  /// 1: the end of the process is the host's doing.
  let isClosing = Atomic<UInt32>(0)

  init(_ teller: PluginTeller, _ ended: treadle_plugin_ended_fn?) {
    self.teller = teller
    self.ended = ended
  }
}
