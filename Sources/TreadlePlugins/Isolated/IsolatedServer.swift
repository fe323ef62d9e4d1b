// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadle
import CTreadleSystem
package import TreadleBase
import TreadleCore
import TreadlePorts
import TreadleScopes

/// The plugin's process: it loads the plugin as any host does, and answers what the real host asks, on its main thread's loop. Its memory is
/// on the stack of `serve`, which ends behind everything else.
package struct IsolatedServer {
  private let loop: Loop
  /// The handle of the port by which it sends messages; 0 before.
  private var asking: UInt = 0
  private var scope: Scope?
  private var hasEnded = false

  private init(_ loop: Loop) { self.loop = loop }

  /// Serves a host until it has closed the plugin, or has gone. The sockets are this function's.
  package static func serve(_ serving: Int32, _ asking: Int32) throws(Failure) {
    var server = IsolatedServer(try Loop.current())
    var failure: Failure?
    withUnsafeMutablePointer(to: &server) { server in
      do throws(Failure) { try run(server, serving, asking) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private static func run(_ server: UnsafeMutablePointer<IsolatedServer>, _ serving: Int32, _ asking: Int32) throws(Failure) {
    let loop = server.pointee.loop
    let info = UnsafeMutableRawPointer(server)
    let messages: Item
    do throws(Failure) {
      messages = try MessagePort.makeAsking(asking, MessagePort.Plan(), Context(retain: nil, release: nil, describe: nil, order: 0), info: info)
    } catch {
      _ = treadle_system_socket_close(serving)
      throw error
    }
    defer { messages.discard() }
    server.pointee.asking = messages.handle.bits
    var plan = MessagePort.Plan()
    plan.receive = { _, message, info in
      guard let message, let info else { return }
      IsolatedServer.receive(info.assumingMemoryBound(to: IsolatedServer.self), message.assumingMemoryBound(to: MessageView.self).pointee)
    }
    plan.invalidated = { _, info in
      guard let server = info?.assumingMemoryBound(to: IsolatedServer.self) else { return }
      server.pointee.end()
    }
    let questions = try MessagePort.makeServing(serving, plan, Context(retain: nil, release: nil, describe: nil, order: 0), info: info)
    defer { questions.discard() }
    _ = try loop.add(questions, CommonModes.name)
    // The plugin may stop the loop, which is its process's.
    while !server.pointee.hasEnded { _ = try loop.run(CommonModes.defaultName, timeout: Clock.forever, flags: 4) }
  }

  private mutating func end() {
    hasEnded = true
    _ = loop.stop()
  }

  // MARK: Questions

  private static func receive(_ server: UnsafeMutablePointer<IsolatedServer>, _ message: MessageView) {
    var frame = FrameReader(message.data, message.size)
    var answer = FrameWriter()
    defer { answer.free() }
    var failure: Failure?
    do throws(Failure) {
      switch message.id {
      case IsolatedFrame.load: try server.pointee.load(&frame, &answer)
      case IsolatedFrame.start: try server.pointee.start(&frame)
      case IsolatedFrame.close: try server.pointee.close(&frame, &answer)
      case IsolatedFrame.set: try server.pointee.set(&frame)
      default: throw IsolatedPlugin.brokenFailure
      }
    } catch { failure = error }
    reply(message.call, failure, &answer)
  }

  /// A status, in words what it is about, and the rest.
  private static func reply(_ call: UInt64, _ failure: Failure?, _ answer: inout FrameWriter) {
    var whole = FrameWriter()
    defer { whole.free() }
    whole.number(Int64(failure?.status ?? Status.ok))
    if let failure {
      LastError.record(failure, in: "treadle_plugin_serve")
      var text: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
      var function: UInt64 = 0
      withUnsafeMutableBytes(of: &text) { text in
        withUnsafeMutableBytes(of: &function) { LastError.write(function: $0, message: text) }
        whole.text(text.baseAddress?.assumingMemoryBound(to: CChar.self))
      }
    } else {
      whole.text(nil)
    }
    let rest = answer.bytes.elements
    whole.bytes(rest.baseAddress, failure == nil ? rest.count : 0)
    let bytes = whole.bytes.elements
    // Without memory for the answer the host is told by the end of the connection.
    do throws(Failure) { try whole.demandMemory() } catch { treadle_system_exit(1) }
    _ = try? MessagePort.reply(call, bytes.baseAddress, bytes.count)
  }

  private mutating func load(_ frame: inout FrameReader, _ answer: inout FrameWriter) throws(Failure) {
    if scope != nil { throw Failure(Status.state, "plugin", "is loaded already") }
    var config = treadle_plugin_config()
    config.struct_size = MemoryLayout<treadle_plugin_config>.size
    config.path = frame.text()
    config.flags = UInt32(truncatingIfNeeded: frame.number())
    config.host_name = frame.text()
    config.host_version = frame.text()
    var settings = Buffer<UnsafePointer<CChar>?>()
    defer { settings.free() }
    let count = frame.count(atMost: 1024)
    if !settings.reserve(count &+ 2) { throw Failure.noMemory("settings") }
    for _ in 0..<count { _ = settings.appendInRoom(frame.text()) }
    _ = settings.appendInRoom(nil)
    _ = settings.appendInRoom(nil)
    if frame.isBroken { throw IsolatedPlugin.brokenFailure }
    if count != 0 { config.settings = UnsafePointer(settings.elements.baseAddress) }
    config.log = { info, _, level, text in
      guard let server = info?.assumingMemoryBound(to: IsolatedServer.self), let text else { return }
      server.pointee.log(level, text)
    }
    withUnsafeMutablePointer(to: &self) { config.info = UnsafeMutableRawPointer($0) }
    let loaded = try Plugin.load(config)
    loaded.holdAgain()
    scope = loaded
    try PluginRegistry.using(loaded.handle.bits) { plugin throws(Failure) in
      IsolatedDescription.write(plugin.state.pointee.description, to: &answer)
    }
  }

  private func demandScope() throws(Failure) -> Scope {
    guard let scope else { throw Failure(Status.state, "plugin", "is not loaded") }
    return scope
  }

  private func start(_ frame: inout FrameReader) throws(Failure) {
    let isRestored = frame.number() != 0
    let bytes = frame.bytes()
    let count = frame.count(atMost: 1024)
    try PluginRegistry.using(try demandScope().handle.bits) { plugin throws(Failure) in
      for _ in 0..<count {
        // A text may be empty, and so have no value.
        guard let key = frame.text() else { throw IsolatedPlugin.brokenFailure }
        if let value = frame.text() { try plugin.set(key, value) }
      }
      if frame.isBroken { throw IsolatedPlugin.brokenFailure }
      _ = try plugin.start(restoring: isRestored ? bytes : nil)
    }
  }

  private func set(_ frame: inout FrameReader) throws(Failure) {
    guard let key = frame.text(), let value = frame.text(), !frame.isBroken else { throw IsolatedPlugin.brokenFailure }
    try PluginRegistry.using(try demandScope().handle.bits) { plugin throws(Failure) in try plugin.set(key, value) }
  }

  /// Behind it the process ends, whatever has come of it.
  private mutating func close(_ frame: inout FrameReader, _ answer: inout FrameWriter) throws(Failure) {
    let timeout = frame.signed()
    let scope = try demandScope()
    defer { end() }
    let saved = try Plugin.handOver(from: scope)
    defer { SavedState.letGo(saved) }
    if !(try scope.close(timeout: timeout)) { throw Failure(Status.deadlock, "plugin", "was closed from inside of itself") }
    answer.number(UInt64(saved.pointee.isSaved ? 1 : 0))
    let bytes = saved.pointee.bytes.elements
    answer.bytes(bytes.baseAddress, bytes.count)
  }

  // MARK: Messages

  /// Any thread. One for which there is no room is dropped: a plugin that floods its log waits for nobody.
  private func log(_ level: UInt32, _ text: UnsafePointer<CChar>) {
    var frame = FrameWriter()
    defer { frame.free() }
    frame.number(UInt64(level))
    frame.text(text)
    let bytes = frame.bytes.elements
    _ = try? MessagePort.send(asking, id: IsolatedFrame.log, bytes.baseAddress, bytes.count, timeout: 0)
  }
}
