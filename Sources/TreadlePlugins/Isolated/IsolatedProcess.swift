// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore
import TreadlePorts

/// A process of an isolated plugin's, as its host knows it: what connects the two, and how it has ended. A thin handle;
/// what it refers to is counted, and holds the plugin.
struct IsolatedProcess: BitwiseCopyable {
  let state: UnsafeMutablePointer<ProcessState>

  var plugin: IsolatedPlugin { state.pointee.plugin }
  private var info: UnsafeMutableRawPointer { UnsafeMutableRawPointer(state) }
  static func of(_ info: UnsafeMutableRawPointer?) -> IsolatedProcess? {
    info.map { IsolatedProcess(state: $0.assumingMemoryBound(to: ProcessState.self)) }
  }

  /// Starts one, from which a loop receives in its common modes. The caller has one reference, and ends it (`end`).
  static func make(of plugin: IsolatedPlugin, on loop: Loop) throws(Failure) -> IsolatedProcess {
    guard let memory = treadle_system_allocate(MemoryLayout<ProcessState>.size) else {
      throw Failure.noMemory("plugin")
    }
    let process = IsolatedProcess(state: memory.bindMemory(to: ProcessState.self, capacity: 1))
    plugin.hold()
    process.state.initialize(to: ProcessState(plugin))
    do throws(Failure) {
      try process.spawn()
      try process.connect(on: loop)
      return process
    } catch {
      process.end()
      process.letGo()
      throw error
    }
  }

  func hold() { state.pointee.references.add(1, ordering: .relaxed) }
  func letGo() {
    if state.pointee.references.subtract(1, ordering: .acquiringAndReleasing).newValue != 0 { return }
    treadle_system_close_channels(&state.pointee.channels, 0)
    _ = treadle_system_socket_close(state.pointee.number)
    let plugin = plugin
    treadle_system_free(state)
    plugin.letGo()
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
    result = treadle_system_spawn_plugin_process(path, &state.pointee.channels, &state.pointee.number)
    if result < 0 {
      LastError.detail(path)
      throw Failure.system("plugin", result)
    }
    state.pointee.number = treadle_system_socket_note(state.pointee.number)
  }

  /// The ports of the two pairs of sockets, the source of the process's output, and that of its end: a process that it
  /// has left may keep its sockets open.
  private func connect(on loop: Loop) throws(Failure) {
    var plan = MessagePort.Plan()
    plan.invalidated = { _, info in
      if let process = IsolatedProcess.of(info) { process.plugin.noticeEnd(of: process) }
    }
    state.pointee.asking = try make { context throws(Failure) in
      try MessagePort.makeAsking(take(&state.pointee.channels.asking.0), plan, context, info: info)
    }
    plan = MessagePort.Plan()
    plan.receive = { _, message, info in
      guard let message, let process = IsolatedProcess.of(info) else { return }
      process.plugin.receive(message.assumingMemoryBound(to: MessageView.self).pointee, from: process)
    }
    state.pointee.serving = try make { context throws(Failure) in
      try MessagePort.makeServing(take(&state.pointee.channels.serving.0), plan, context, info: info)
    }
    state.pointee.output = try watch(state.pointee.channels.output.0) { source, _, info in
      _ = IsolatedProcess.of(info)?.readOutput(source)
    }
    state.pointee.life = try watch(state.pointee.number) { _, _, info in
      guard let process = IsolatedProcess.of(info) else { return }
      try? Item.invalidate(.descriptor, process.state.pointee.life, "plugin")
      MessagePort.endConnection(process.state.pointee.asking)
    }
    try add(state.pointee.asking, to: loop)
    try add(state.pointee.serving, to: loop)
    try add(state.pointee.output, to: loop)
    try add(state.pointee.life, to: loop)
  }

  private func watch(
    _ number: Int32, _ ready: @escaping @convention(c) (OpaquePointer?, UInt32, UnsafeMutableRawPointer?) -> Void
  ) throws(Failure) -> UInt {
    try make { context throws(Failure) in
      try Item.descriptor(
        code: unsafeBitCast(ready, to: UnsafeMutableRawPointer.self), info: info, context: context, number: number,
        events: 1, isAcknowledged: false)
    }
  }

  private func add(_ handle: UInt, to loop: Loop) throws(Failure) {
    let item = try Item.hold(.descriptor, handle, "plugin")
    defer { item.letGo() }
    _ = try loop.add(item, CommonModes.name)
  }

  private func take(_ number: inout Int32) -> Int32 {
    defer { number = -1 }
    return number
  }

  /// An item whose info is this, with a reference that its end drops. Its handle's reference is ours.
  private func make(_ body: (Context) throws(Failure) -> Item) throws(Failure) -> UInt {
    let drop: Context.Release = { info in IsolatedProcess.of(info)?.letGo() }
    hold()
    do throws(Failure) {
      return try Scope.outside { () throws(Failure) in
        try body(Context(retain: nil, release: drop, describe: nil, order: 0)).handle.bits
      }
    } catch {
      letGo()
      throw error
    }
  }

  /// As the link knows it.
  var peer: LinkPeer {
    LinkPeer(
      asking: state.pointee.asking, serving: state.pointee.serving, life: state.pointee.life,
      serial: state.pointee.serial, process: self)
  }

  // MARK: The end

  func kill() { _ = treadle_system_spawn_kill(state.pointee.number) }

  /// Has the process that watches the plugin's end it, if it has not ended, and say how it has ended.
  private func closeLife() {
    guard let link = plugin.state.pointee.link else { return treadle_system_close_life(&state.pointee.channels) }
    link.locking { treadle_system_close_life(&state.pointee.channels) }
  }
  func awaitEnd(until: Int64) { _ = treadle_system_wait_readable(state.pointee.number, until) }

  /// The process is killed, unless it has ended; nothing is received from it any more.
  func end() {
    closeLife()
    end(state.pointee.asking)
    end(state.pointee.serving)
    end(state.pointee.output)
    end(state.pointee.life)
  }

  private func end(_ handle: UInt) {
    if handle == 0 { return }
    try? Item.invalidate(.descriptor, handle, "plugin")
    _ = try? Item.release(.descriptor, handle, "plugin")
  }

  /// How long a process that has no connection may take to end, and its watcher to say so on a busy machine.
  private static let usualEnd: Int64 = 100_000_000
  private static let longestEnd: Int64 = 2_000_000_000

  /// That and how it has ended, in words. A process that lives, but has closed its connection, is killed.
  func describeEnding(_ body: (treadle_system_ending, UnsafePointer<CChar>) -> Void) {
    let number = state.pointee.number
    let now = Clock.now()
    if treadle_system_wait_readable(number, Clock.after(IsolatedProcess.usualEnd, from: now)) == 0 {
      closeLife()
      // The watcher itself may have been stopped by what it watches.
      if treadle_system_wait_readable(number, Clock.after(IsolatedProcess.longestEnd, from: now)) == 0 { kill() }
    }
    awaitEnd(until: Clock.forever)
    guard let link = plugin.state.pointee.link else { return }
    var ending = link.locking {
      if !state.pointee.hasEnding { treadle_system_read_ending(state.pointee.channels.report.0, &state.pointee.ending) }
      state.pointee.hasEnding = true
      return state.pointee.ending
    }
    var text: [32 of UInt64] = .init(repeating: 0)
    var span = text.mutableSpan
    span.withUnsafeMutableBytes { room in
      guard let start = room.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      treadle_system_describe_ending(&ending, start, room.count)
      body(ending, start)
    }
  }

  func endFailure(during question: UnsafePointer<CChar>) -> Failure {
    describeEnding { _, ending in
      LastError.detail(question, plugin.state.pointee.description.known.id, ending)
    }
    return Failure(Status.plugin, "plugin", "has lost its process")
  }

  // MARK: Its output

  /// What the process writes to its standard output and standard error, a line each. False if there is nothing now.
  func readOutput(_ source: OpaquePointer?) -> Bool {
    var room: [512 of UInt8] = .init(repeating: 0)
    let most = 511
    var isThere = false
    var span = room.mutableSpan
    span.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      let count = Int(treadle_system_read_some(state.pointee.channels.output.0, start, most))
      if count <= 0 {
        // The other side is closed for good.
        if count == 0, let source { try? Item.invalidate(.descriptor, UInt(bitPattern: source), "plugin") }
        return
      }
      isThere = true
      var first = 0
      for index in 0...count where index == count || bytes[index] == 10 {
        bytes[index] = 0
        if index > first { plugin.tell(2, (start + first).assumingMemoryBound(to: CChar.self)) }
        first = index &+ 1
      }
    }
    return isThere
  }

  /// What the process says during `body`, and has said when that ends, is received on this thread.
  func attending(_ body: () throws(Failure) -> Void) throws(Failure) {
    let loop = try Loop.current()
    let mode = IsolatedFrame.mode
    var isAdded = false
    let output = try Item.hold(.descriptor, state.pointee.output, "plugin")
    defer { output.letGo() }
    defer { if isAdded { _ = try? loop.remove(output, mode) } }
    _ = try loop.attend(output, in: mode, isAdded: &isAdded)
    defer {
      var left = 256
      while left > 0, (try? loop.run(mode, timeout: 0, flags: 1)) == Status.handledSource { left &-= 1 }
    }
    try body()
  }
}

/// The memory of a process of an isolated plugin's. The lock is that of the plugin's link.
struct ProcessState: ~Copyable {
  let references = Atomic<UInt32>(1)
  /// Held.
  let plugin: IsolatedPlugin
  /// Tells its tokens and callbacks from those of others.
  let serial = LinkState.nextSerial()
  /// A descriptor of the process that watches the plugin's.
  var number: Int32 = -1
  /// The host's sides.
  var channels = treadle_system_channels()
  /// The handles of its ports, and of the sources of its output and its end; 0: none. Constant from the connection on.
  var asking: UInt = 0
  var serving: UInt = 0
  var output: UInt = 0
  var life: UInt = 0
  /// Lock. How it has ended, once a thread has read that.
  var ending = treadle_system_ending()
  var hasEnding = false
  /// Lock. Its end was told.
  var isNoticed = false

  init(_ plugin: IsolatedPlugin) {
    self.plugin = plugin
    treadle_system_no_channels(&channels)
  }
}
