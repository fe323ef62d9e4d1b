// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore
import TreadlePorts

/// Asking the process. The calling thread waits in a mode of its own, in which it also receives what the process says
/// meanwhile.
extension IsolatedPlugin {
  /// What is asked, by the words of the last error.
  enum Question {
    static let load: StaticString = "in its load"
    static let start: StaticString = "in its start"
    static let close: StaticString = "in its close"
    static let set: StaticString = "in its set"
  }

  /// Asks, and receives on this thread what the process writes meanwhile. `timeout`: how long the answer may take.
  func ask(
    _ id: Int32, _ frame: inout FrameWriter, _ question: StaticString, timeout: Int64 = Clock.forever,
    _ body: (inout FrameReader, UnsafeRawBufferPointer) throws(Failure) -> Void = { _, _ throws(Failure) in }
  ) throws(Failure) {
    guard let link = state.pointee.link else { throw IsolatedPlugin.brokenFailure }
    let question = UnsafeRawPointer(question.utf8Start).assumingMemoryBound(to: CChar.self)
    try attending { () throws(Failure) in try link.ask(id, &frame, question, timeout: timeout, body) }
  }

  /// What the process says during `body`, and has said when that ends, is received on this thread.
  private func attending(_ body: () throws(Failure) -> Void) throws(Failure) {
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

  // MARK: The end of the process

  /// That and how it has ended, in words. A process that lives, but has closed its connection, is killed.
  func describeEnding(_ body: (treadle_system_ending, UnsafePointer<CChar>) -> Void) {
    let process = state.pointee.process
    if treadle_system_wait_readable(process, Clock.after(100_000_000, from: Clock.now())) == 0 {
      _ = treadle_system_spawn_kill(process)
    }
    _ = treadle_system_wait_readable(process, Clock.forever)
    guard let link = state.pointee.link else { return }
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
    describeEnding { _, ending in LastError.detail(question, state.pointee.description.known.id, ending) }
    return Failure(Status.plugin, "plugin", "has lost its process")
  }

  /// The connection of a plugin that is not being closed has ended.
  func noticeEnd() {
    if state.pointee.isClosing.load(ordering: .acquiring) != 0 { return }
    describeEnding { ending, reason in
      tell(0, reason)
      tellEnded(ending, reason)
    }
  }

  private func tellEnded(_ ending: treadle_system_ending, _ reason: UnsafePointer<CChar>) {
    guard let ended = state.pointee.ended, let scope = state.pointee.scope else { return }
    let teller = state.pointee.teller
    var told = treadle_plugin_ending()
    told.struct_size = MemoryLayout<treadle_plugin_ending>.size
    told.by_signal = ending.by_signal == 0 ? 0 : 1
    told.number = ending.number
    told.reason = reason
    try? scope.calling(isWatched: false, evenClosing: true) { () throws(Failure) in
      Scope.aside {
        withUnsafePointer(to: &told) { told in
          _ = ClientCall.guarded(ended, teller.info, UnsafeRawPointer(bitPattern: teller.handle), told)
        }
      }
    }
  }

  // MARK: What the process says and asks

  /// What of it is no call of a function.
  static let serve: IsolatedLink.Serve = { info, id, frame, answer throws(Failure) in
    guard id == IsolatedFrame.find, let isolated = IsolatedPlugin.of(info), let scope = isolated.state.pointee.scope,
      let link = isolated.state.pointee.link
    else { throw IsolatedPlugin.brokenFailure }
    guard let name = frame.text() else { throw IsolatedPlugin.brokenFailure }
    try scope.calling(isWatched: true, evenClosing: true) { () throws(Failure) in
      let plugin = try PluginRegistry.locked { () throws(Failure) in PluginRegistry.find(scope) }
      guard let plugin, let found = plugin.findListed(name) else { return answer.number(UInt64(0)) }
      try link.write(found, try plugin.describe(name), to: &answer)
    }
  }

  func receive(_ message: MessageView) {
    if message.id != IsolatedFrame.log {
      state.pointee.link?.receive(message)
      return
    }
    var frame = FrameReader(message.data, message.size)
    let level = UInt32(truncatingIfNeeded: frame.number())
    if let text = frame.text(), !frame.isBroken { tell(min(level, 2), text) }
  }

  /// What the plugin's process writes to its standard output and standard error, a line each.
  func readOutput(_ source: OpaquePointer?) {
    var room: [512 of UInt8] = .init(repeating: 0)
    let most = 511
    var span = room.mutableSpan
    span.withUnsafeMutableBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      let count = Int(treadle_system_read_some(state.pointee.channels.output.0, start, most))
      if count <= 0 {
        // The other side is closed for good.
        if count == 0, let source { try? Item.invalidate(.descriptor, UInt(bitPattern: source), "plugin") }
        return
      }
      var first = 0
      for index in 0...count where index == count || bytes[index] == 10 {
        bytes[index] = 0
        if index > first { tell(2, (start + first).assumingMemoryBound(to: CChar.self)) }
        first = index &+ 1
      }
    }
  }

  /// Calls the program's log, from which the plugin does not end. While it is being loaded the program knows no handle
  /// of it.
  func tell(_ level: UInt32, _ text: UnsafePointer<CChar>) {
    guard let scope = state.pointee.scope else { return state.pointee.teller.tell(level, text) }
    try? scope.calling(isWatched: false, evenClosing: true) { () throws(Failure) in
      state.pointee.teller.tell(level, text)
    }
  }
}
