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
      try plugin.spawn()
      try plugin.connect(config.loop.map { UInt(bitPattern: $0) })
      try plugin.askToLoad(config)
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
    treadle_system_close_channels(&state.pointee.channels, 0)
    _ = treadle_system_socket_close(state.pointee.process)
    state.pointee.description.free()
    state.pointee.saved.free()
    state.pointee.restored.free()
    state.pointee.link?.free()
    state.pointee.scope?.letGo()
    treadle_system_free(state)
  }

  private func spawn() throws(Failure) {
    var result = treadle_system_open_channels(&state.pointee.channels)
    if result < 0 { throw Failure.system("plugin", result) }
    defer { treadle_system_close_channels(&state.pointee.channels, 1) }
    guard let path = treadle_system_allocate(4096)?.assumingMemoryBound(to: CChar.self) else {
      throw Failure.noMemory("plugin")
    }
    defer { treadle_system_free(path) }
    if !treadle_system_find_plugin_process(path, 4096) {
      throw Failure(
        Status.notFound, "plugin",
        "needs the program treadle-plugin-process, which is not beside the library: set TREADLE_PLUGIN_PROCESS")
    }
    result = treadle_system_spawn_plugin_process(path, &state.pointee.channels, &state.pointee.process)
    if result < 0 {
      LastError.detail(path)
      throw Failure.system("plugin", result)
    }
    state.pointee.process = treadle_system_socket_note(state.pointee.process)
  }

  /// The ports of the two pairs of sockets, and the source of the process's output. The main loop receives from them in
  /// its common modes, or another one that is given.
  private func connect(_ given: UInt?) throws(Failure) {
    let loop = if let given { try Loop.hold(given, "loop") } else { try Loop.holdMain() }
    let link = try IsolatedLink.make(
      home: loop, owner: self, info: UnsafeMutableRawPointer(state), IsolatedPlugin.serve)
    state.pointee.link = link
    var plan = MessagePort.Plan()
    plan.invalidated = { _, info in IsolatedPlugin.of(info)?.noticeEnd() }
    state.pointee.asking = try make { context, info throws(Failure) in
      try MessagePort.makeAsking(take(&state.pointee.channels.asking.0), plan, context, info: info)
    }
    plan = MessagePort.Plan()
    plan.receive = { _, message, info in
      guard let message else { return }
      IsolatedPlugin.of(info)?.receive(message.assumingMemoryBound(to: MessageView.self).pointee)
    }
    state.pointee.serving = try make { context, info throws(Failure) in
      try MessagePort.makeServing(take(&state.pointee.channels.serving.0), plan, context, info: info)
    }
    let read: @convention(c) (OpaquePointer?, UInt32, UnsafeMutableRawPointer?) -> Void = { source, _, info in
      IsolatedPlugin.of(info)?.readOutput(source)
    }
    state.pointee.output = try make { context, info throws(Failure) in
      try Item.descriptor(
        code: unsafeBitCast(read, to: UnsafeMutableRawPointer.self), info: info, context: context,
        number: state.pointee.channels.output.0, events: 1, isAcknowledged: false)
    }
    link.state.pointee.asking = state.pointee.asking
    link.state.pointee.serving = state.pointee.serving
    try add(state.pointee.asking, to: loop)
    try add(state.pointee.serving, to: loop)
    try add(state.pointee.output, to: loop)
  }

  private func add(_ handle: UInt, to loop: Loop) throws(Failure) {
    let item = try Item.hold(.descriptor, handle, "plugin")
    defer { item.letGo() }
    _ = try loop.add(item, CommonModes.name)
  }

  /// It is a plugin of the host's, with a scope: its messages have a handle from here on.
  func begin(_ scope: Scope) {
    scope.holdAgain()
    state.pointee.teller = PluginTeller(
      log: state.pointee.teller.log, info: state.pointee.teller.info, handle: scope.handle.bits)
    state.pointee.scope = scope
    state.pointee.link?.state.pointee.scope = scope
  }

  private func take(_ number: inout Int32) -> Int32 {
    defer { number = -1 }
    return number
  }

  /// An item whose info is this, with a reference that its end drops. Its handle's reference is ours.
  private func make(_ body: (Context, UnsafeMutableRawPointer) throws(Failure) -> Item) throws(Failure) -> UInt {
    let drop: Context.Release = { info in IsolatedPlugin.of(info)?.letGo() }
    hold()
    do throws(Failure) {
      return try Scope.outside { () throws(Failure) in
        try body(Context(retain: nil, release: drop, describe: nil, order: 0), UnsafeMutableRawPointer(state)).handle
          .bits
      }
    } catch {
      letGo()
      throw error
    }
  }

  static func of(_ info: UnsafeMutableRawPointer?) -> IsolatedPlugin? {
    info.map { IsolatedPlugin(state: $0.assumingMemoryBound(to: IsolatedState.self)) }
  }

  /// Ends the process, if it has not ended, and all that is known of it; nothing is received from it any more. The
  /// process is killed, unless it ends before a date.
  func close(until: Int64 = 0) {
    state.pointee.isClosing.store(1, ordering: .releasing)
    if until != 0 { _ = treadle_system_wait_readable(state.pointee.process, until) }
    treadle_system_close_life(&state.pointee.channels)
    state.pointee.link?.end()
    end(&state.pointee.asking)
    end(&state.pointee.serving)
    end(&state.pointee.output)
  }

  private func end(_ handle: inout UInt) {
    if handle == 0 { return }
    let ended = handle
    handle = 0
    try? Item.invalidate(.descriptor, ended, "plugin")
    _ = try? Item.release(.descriptor, ended, "plugin")
  }
}

/// The memory of an isolated plugin.
struct IsolatedState: ~Copyable {
  let references = Atomic<UInt32>(1)
  /// A descriptor of the process that watches the plugin's.
  var process: Int32 = -1
  /// The host's sides.
  var channels = treadle_system_channels()
  /// The handles of its ports and of the source of its output; 0: none. Constant while the plugin is loaded.
  var asking: UInt = 0
  var serving: UInt = 0
  var output: UInt = 0
  /// Constant from the connection on.
  var link: IsolatedLink? = nil
  /// Constant from the load on.
  var description = IsolatedDescription()
  var scope: Scope? = nil
  var teller: PluginTeller
  /// The state that it has saved at its end.
  var saved = Buffer<UInt8>()
  var hasSaved = false
  /// What is given to the next start: of the one whose place it takes.
  var restored = Buffer<UInt8>()
  let ended: treadle_plugin_ended_fn?
  /// How the process has ended, once a thread has read that. The link's lock.
  var ending = treadle_system_ending()
  var hasEnding = false
  /// 1: the end of the process is the host's doing.
  let isClosing = Atomic<UInt32>(0)

  init(_ teller: PluginTeller, _ ended: treadle_plugin_ended_fn?) {
    self.teller = teller
    self.ended = ended
    treadle_system_no_channels(&channels)
  }
}
