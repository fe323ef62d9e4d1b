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
    try withProcess { process throws(Failure) in
      guard let process else {
        LastError.detail(question.cText, state.pointee.description.known.id)
        throw LinkPeer.lostFailure
      }
      try ask(process, id, &frame, question, timeout: timeout, body)
    }
  }

  /// The same of a process that may not be the plugin's yet.
  func ask(
    _ process: IsolatedProcess, _ id: Int32, _ frame: inout FrameWriter, _ question: StaticString, timeout: Int64,
    _ body: (inout FrameReader, UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    guard let link = state.pointee.link else { throw LinkPeer.lostFailure }
    try process.attending { () throws(Failure) in
      try link.ask(process.peer, id, &frame, question.cText, timeout: timeout, body)
    }
  }

  // MARK: The end of the process

  /// The connection of a plugin that is not being closed has ended.
  func noticeEnd(of process: IsolatedProcess) {
    if state.pointee.isClosing.load(ordering: .acquiring) != 0 { return }
    process.describeEnding { ending, reason in
      tell(0, reason)
      tellEnded(ending, reason)
    }
    restartLater(after: process)
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
    guard let isolated = IsolatedPlugin.of(info), let scope = isolated.state.pointee.scope,
      let link = isolated.state.pointee.link
    else { throw IsolatedPlugin.brokenFailure }
    if id == IsolatedFrame.checkpoint { return try isolated.keepCheckpoint(&frame) }
    if id != IsolatedFrame.find { throw IsolatedPlugin.brokenFailure }
    guard let name = frame.text() else { throw IsolatedPlugin.brokenFailure }
    try scope.calling(isWatched: true, evenClosing: true) { () throws(Failure) in
      let plugin = try PluginRegistry.locked { () throws(Failure) in PluginRegistry.find(scope) }
      guard let plugin, let found = try plugin.lookUpListed(name) else { return answer.number(UInt64(0)) }
      try link.write(found, try plugin.describe(name), to: &answer)
    }
  }

  func receive(_ message: MessageView, from process: IsolatedProcess) {
    if message.id != IsolatedFrame.log {
      state.pointee.link?.receive(message, from: process.peer)
      return
    }
    var frame = FrameReader(message.data, message.size)
    let level = UInt32(truncatingIfNeeded: frame.number())
    if let text = frame.text(), !frame.isBroken { tell(min(level, 2), text) }
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
