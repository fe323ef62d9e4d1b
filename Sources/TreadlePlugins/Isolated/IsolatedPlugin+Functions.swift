// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import TreadleBase

/// The functions of the description of an isolated plugin: each asks the process.
extension IsolatedPlugin {
  /// What each process of the plugin is told to load.
  func writeLoad(_ config: treadle_plugin_config) throws(Failure) {
    var frame = FrameWriter()
    defer { state.pointee.loading = frame }
    frame.header()
    frame.text(config.path)
    frame.number(UInt64(config.flags & UInt32(TREADLE_PLUGIN_LOAD_WRITABLE)))
    frame.text(config.host_name)
    frame.text(config.host_version)
    // Keys and values by turns: a list, but for a value that is missing, which the process would not tell from the end.
    frame.list(config.settings)
    try IsolatedConfinement.write(config, to: &frame)
  }

  func askToLoad() throws(Failure) {
    let timeout = state.pointee.timeout
    try ask(IsolatedFrame.load, &state.pointee.loading, Question.load, timeout: timeout) { _, rest throws(Failure) in
      try state.pointee.description.read(rest)
    }
  }

  /// In another process: what the program knows of the plugin stays true.
  func askToLoad(_ process: IsolatedProcess, again timeout: Int64) throws(Failure) {
    try ask(process, IsolatedFrame.load, &state.pointee.loading, Question.load, timeout: timeout) {
      _, rest throws(Failure) in
      if state.pointee.description.isSame(as: rest) { return }
      LastError.detail(state.pointee.description.known.id)
      throw Failure(Status.plugin, "plugin", "has a file with another description than at its load")
    }
  }

  /// What the host's side of a plugin is made of: the description with functions of the host's.
  var withFunctions: treadle_plugin_description {
    var known = state.pointee.description.known
    let has = state.pointee.description.has
    known.`init` = IsolatedPlugin.begin
    known.start = IsolatedPlugin.start
    known.stop = IsolatedPlugin.stop
    known.deinit = IsolatedPlugin.end
    known.get_extension = { _, _ in nil }
    // Without one of the plugin's, the plugin asks for its settings in its process, which must know them.
    known.set = IsolatedPlugin.set
    if has & IsolatedFrame.Has.save != 0 { known.save = IsolatedPlugin.save }
    if has & IsolatedFrame.Has.restore != 0 { known.restore = IsolatedPlugin.restore }
    return known
  }

  /// The process initialises and starts the plugin in one: when the host starts it.
  private static let begin:
    @convention(c) (UnsafePointer<treadle_plugin_host>?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?) ->
      treadle_status = { host, out in
        guard let host, let scope = GivenHost.of(host).pointee.scope, let plugin = find(scope),
          let isolated = plugin.state.pointee.isolated
        else {
          return Status.plugin
        }
        out?.pointee = UnsafeMutableRawPointer(isolated.state)
        return Status.ok
      }

  private static func find(_ scope: Scope) -> Plugin? {
    let found = try? PluginRegistry.locked { () throws(Failure) in PluginRegistry.find(scope) }
    return found ?? nil
  }

  /// An extension that the plugin has: a struct of functions that call the plugin's, there as long as the plugin.
  func findProvided(_ name: UnsafePointer<CChar>, as expected: ExtensionSource?) throws(Failure) -> UnsafeRawPointer? {
    guard let link = state.pointee.link else { return nil }
    if let known = link.proxy(name) { return known }
    var found: UnsafeRawPointer?
    var frame = FrameWriter()
    defer { frame.free() }
    frame.header()
    frame.text(name)
    try link.withPeer { peer throws(Failure) in
      try link.ask(peer, IsolatedFrame.find, &frame, name) { reader, _ throws(Failure) in
        found = try link.read(peer, name, expected, &reader)
      }
    }
    return found
  }

  private static let restore: @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> treadle_status = {
    instance, bytes, size in
    guard let plugin = of(instance), let link = plugin.state.pointee.link else { return Status.argument }
    return link.locking {
      plugin.state.pointee.hasRestored = size > 0
      return plugin.keep(&plugin.state.pointee.restored, UnsafeRawBufferPointer(start: bytes, count: size))
        ? Status.ok : Status.noMemory
    }
  }

  /// The state that the plugin has saved while it runs. The last one stays if there is no memory.
  func keepCheckpoint(_ frame: inout FrameReader) throws(Failure) {
    let bytes = frame.bytes()
    guard let link = state.pointee.link, !frame.isBroken else { throw IsolatedPlugin.brokenFailure }
    var room = Buffer<UInt8>()
    if !keep(&room, bytes) { throw Failure.noMemory("state") }
    link.locking {
      swap(&room, &state.pointee.restored)
      state.pointee.hasRestored = true
      state.pointee.hasCheckpoint = true
    }
    room.free()
  }

  private func keep(_ room: inout Buffer<UInt8>, _ bytes: UnsafeRawBufferPointer) -> Bool {
    room.refill(bytes.count) { place in
      if let start = bytes.baseAddress { memcpy(place, start, bytes.count) }
      return bytes.count
    }
  }

  private static let start: @convention(c) (UnsafeMutableRawPointer?) -> treadle_status = { instance in
    guard let plugin = of(instance) else { return Status.argument }
    return plugin.answer { () throws(Failure) in
      try plugin.withProcess { process throws(Failure) in
        guard let process else { throw LinkPeer.lostFailure }
        try plugin.askToStart(process, timeout: plugin.state.pointee.timeout)
      }
    }
  }

  func askToStart(_ process: IsolatedProcess, timeout: Int64) throws(Failure) {
    var frame = FrameWriter()
    defer { frame.free() }
    frame.header()
    state.pointee.link?.locking {
      let restored = state.pointee.restored.elements
      frame.number(UInt64(state.pointee.hasRestored ? 1 : 0))
      frame.bytes(restored.baseAddress, restored.count)
    }
    try writeSettings(to: &frame)
    try ask(process, IsolatedFrame.start, &frame, Question.start, timeout: timeout) { _, _ throws(Failure) in }
  }

  /// The settings as they are in the host, where they may have been changed since the load.
  private func writeSettings(to frame: inout FrameWriter) throws(Failure) {
    guard let scope = state.pointee.scope, let plugin = IsolatedPlugin.find(scope) else {
      return frame.number(UInt64(0))
    }
    let description = state.pointee.description.known
    try PluginRegistry.locked { () throws(Failure) in
      let values = plugin.state.pointee.values
      frame.number(UInt64(values.count))
      for index in 0..<values.count {
        frame.text(PluginSettings.setting(description, index)?.key)
        frame.text(UnsafePointer(values[index] ?? nil))
      }
    }
  }

  private static let set:
    @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> treadle_status = {
      instance, key, value in
      guard let plugin = of(instance) else { return Status.argument }
      return plugin.answer { () throws(Failure) in
        var frame = FrameWriter()
        defer { frame.free() }
        frame.header()
        frame.text(key)
        frame.text(value)
        try plugin.ask(IsolatedFrame.set, &frame, Question.set)
      }
    }

  /// How much longer than its time a stop may take, before the process is killed.
  private static let grace: Int64 = 50_000_000

  private static let stop: @convention(c) (UnsafeMutableRawPointer?, Int64) -> treadle_status = { instance, timeout in
    guard let plugin = of(instance) else { return Status.argument }
    // In the pause there is nothing to be stopped.
    if plugin.endRestarts() { return Status.ok }
    return plugin.state.pointee.link?.stopLater(timeout) == true ? Status.deferred : plugin.askToClose(timeout)
  }

  /// The process closes the plugin: stop, the end of its objects, save, deinit. If that takes longer than its time, the
  /// process is killed.
  private func askToClose(_ timeout: Int64) -> treadle_status {
    answer { () throws(Failure) in
      var frame = FrameWriter()
      defer { frame.free() }
      frame.header()
      frame.number(timeout)
      let limit = timeout == Clock.forever ? timeout : max(timeout, 0) &+ IsolatedPlugin.grace
      do throws(Failure) {
        try ask(IsolatedFrame.close, &frame, Question.close, timeout: limit) { reader, _ throws(Failure) in
          let hasSaved = reader.number() != 0
          let saved = reader.bytes()
          if hasSaved && !keep(&state.pointee.saved, saved) { throw Failure.noMemory("plugin") }
          state.pointee.hasAnsweredClose = true
          state.pointee.hasSaved = hasSaved
        }
      } catch {
        // Its end is sure, however it comes.
        kill()
        throw error
      }
    }
  }

  /// The plugin was closed in a call of its own, which is over on the calling thread.
  func resumeStop(_ timeout: Int64) {
    guard let scope = state.pointee.scope else { return }
    let status = askToClose(timeout)
    try? scope.calling(isWatched: true, evenClosing: true) { () throws(Failure) in
      let plugin = IsolatedPlugin.find(scope)
      if status < 0 { plugin?.tellFailedStop() }
      try plugin?.endStop()
    }
  }

  /// Another thread starts the plugin, which is to be closed by a date: if the start goes on then, the process is
  /// killed, and the start fails.
  func awaitStart(in scope: Scope, until: Int64) {
    var until = until
    while true {
      let seen = Rest.epoch
      let phase = try? PluginRegistry.locked { () throws(Failure) in PluginRegistry.find(scope)?.state.pointee.phase }
      if phase != PluginState.Phase.starting { return }
      if until != Clock.forever && Clock.now() >= until {
        kill()
        until = Clock.forever
      }
      Rest.wait(seen, until: until)
    }
  }

  private static let save:
    @convention(c) (UnsafeMutableRawPointer?, treadle_plugin_write_fn?, UnsafeMutableRawPointer?) -> treadle_status = {
      instance, write, sink in
      guard let plugin = of(instance) else { return Status.state }
      // Of a process that was lost: the state that it saved last.
      let isLost = !plugin.state.pointee.hasAnsweredClose && plugin.state.pointee.hasCheckpoint
      if !plugin.state.pointee.hasSaved && !isLost { return Status.state }
      let saved = isLost ? plugin.state.pointee.restored.elements : plugin.state.pointee.saved.elements
      write?(sink, saved.baseAddress, saved.count)
      return Status.ok
    }

  /// The process has closed the plugin, and ends by itself.
  private static let end: @convention(c) (UnsafeMutableRawPointer?) -> Void = { instance in
    of(instance)?.close(until: Clock.after(grace, from: Clock.now()))
  }

  /// A status for the host's side, which tells why by the plugin's reason.
  private func answer(_ body: () throws(Failure) -> Void) -> treadle_status {
    do throws(Failure) {
      try body()
      return Status.ok
    } catch {
      if let scope = state.pointee.scope, let plugin = IsolatedPlugin.find(scope) {
        LastError.withDetail { text in plugin.giveReason(text) }
      }
      return error.status
    }
  }
}
