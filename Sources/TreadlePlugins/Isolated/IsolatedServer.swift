// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadle
import CTreadleSystem
package import TreadleBase
import TreadleCore
import TreadlePorts
import TreadleScopes

/// The plugin's process: it loads the plugin as any host does, and answers what the real host asks, on its main
/// thread's loop. Its memory is on the stack of `serve`, which ends behind everything else.
package struct IsolatedServer {
  private let loop: Loop
  /// Of the program's; nil: it has none.
  private let filter: treadle_plugin_filter_fn?
  private var link: IsolatedLink?
  private var scope: Scope?
  private var hasEnded = false

  private init(_ loop: Loop, _ filter: treadle_plugin_filter_fn?) {
    self.loop = loop
    self.filter = filter
  }

  /// Serves a host until it has closed the plugin, or has gone. The sockets are this function's.
  package static func serve(
    _ serving: Int32, _ asking: Int32, _ filter: treadle_plugin_filter_fn?
  ) throws(Failure) {
    var server = IsolatedServer(try Loop.current(), filter)
    var failure: Failure?
    withUnsafeMutablePointer(to: &server) { server in
      do throws(Failure) { try run(server, serving, asking) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private static func run(_ server: UnsafeMutablePointer<IsolatedServer>, _ serving: Int32, _ asking: Int32)
    throws(Failure)
  {
    let loop = server.pointee.loop
    let info = UnsafeMutableRawPointer(server)
    let context = Context(retain: nil, release: nil, describe: nil, order: 0)
    let messages: Item
    do throws(Failure) {
      messages = try MessagePort.makeAsking(asking, MessagePort.Plan(), context, info: info)
    } catch {
      _ = treadle_system_socket_close(serving)
      throw error
    }
    defer { messages.discard() }
    var plan = MessagePort.Plan()
    plan.receive = { _, message, info in
      guard let message, let info else { return }
      guard let link = info.assumingMemoryBound(to: IsolatedServer.self).pointee.link else { return }
      link.receive(message.assumingMemoryBound(to: MessageView.self).pointee, from: link.state.pointee.peer)
    }
    plan.invalidated = { _, info in
      guard let server = info?.assumingMemoryBound(to: IsolatedServer.self) else { return }
      server.pointee.end()
    }
    let questions = try MessagePort.makeServing(serving, plan, context, info: info)
    defer { questions.discard() }
    loop.holdAgain()
    // Threads of the plugin may use it as long as the process exists.
    let link = try IsolatedLink.make(home: loop, owner: nil, info: info, serve)
    link.state.pointee.peer = LinkPeer(
      asking: messages.handle.bits, serving: questions.handle.bits, serial: LinkState.nextSerial())
    server.pointee.link = link
    _ = try loop.add(questions, CommonModes.name)
    // The plugin may stop the loop, which is its process's.
    while !server.pointee.hasEnded { _ = try loop.run(CommonModes.defaultName, timeout: Clock.forever, flags: 4) }
  }

  private mutating func end() {
    hasEnded = true
    _ = loop.stop()
  }

  // MARK: Questions

  private static let serve: IsolatedLink.Serve = { info, id, frame, answer throws(Failure) in
    guard let server = info?.assumingMemoryBound(to: IsolatedServer.self) else { throw IsolatedPlugin.brokenFailure }
    switch id {
    case IsolatedFrame.load: try server.pointee.load(&frame, &answer)
    case IsolatedFrame.start: try server.pointee.start(&frame)
    case IsolatedFrame.close: try server.pointee.close(&frame, &answer)
    case IsolatedFrame.set: try server.pointee.set(&frame)
    case IsolatedFrame.find: try server.pointee.find(&frame, &answer)
    default: throw IsolatedPlugin.brokenFailure
    }
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
    try IsolatedConfinement.apply(&frame, config.path, filter) { log(1, $0) }
    if count != 0 { config.settings = UnsafePointer(settings.elements.baseAddress) }
    config.log = { info, _, level, text in
      guard let server = info?.assumingMemoryBound(to: IsolatedServer.self), let text else { return }
      server.pointee.log(level, text)
    }
    config.get_extension = { info, name in
      guard let server = info?.assumingMemoryBound(to: IsolatedServer.self), let name else { return nil }
      return server.pointee.findGiven(name)
    }
    withUnsafeMutablePointer(to: &self) { config.info = UnsafeMutableRawPointer($0) }
    let loaded = try Plugin.load(config)
    loaded.holdAgain()
    scope = loaded
    link?.state.pointee.scope = loaded
    let server = withUnsafeMutablePointer(to: &self) { $0 }
    try PluginRegistry.using(loaded.handle.bits) { plugin throws(Failure) in
      plugin.state.pointee.server = server
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

  /// An extension of the plugin's, for the host.
  private func find(_ frame: inout FrameReader, _ answer: inout FrameWriter) throws(Failure) {
    guard let name = frame.text(), !frame.isBroken, let link else { throw IsolatedPlugin.brokenFailure }
    try PluginRegistry.using(try demandScope().handle.bits) { plugin throws(Failure) in
      let found = try plugin.findProvided(name)
      guard let descriptor = plugin.describeProvided(name) else { throw Plugin.undescribed(name) }
      try link.write(found, descriptor, to: &answer)
    }
  }

  /// An extension of the host's, or of another plugin's, for the plugin. Why there is none is in the log.
  private func findGiven(_ name: UnsafePointer<CChar>) -> UnsafeRawPointer? {
    guard let link else { return nil }
    if let known = link.proxy(name) { return known }
    var found: UnsafeRawPointer?
    var frame = FrameWriter()
    defer { frame.free() }
    frame.header()
    frame.text(name)
    do throws(Failure) {
      try link.withPeer { peer throws(Failure) in
        try link.ask(peer, IsolatedFrame.find, &frame, name) { reader, _ throws(Failure) in
          found = try link.read(peer, name, nil, &reader)
        }
      }
    } catch {
      LastError.withDetail { log(1, $0) }
    }
    return found
  }

  /// The plugin's state, which the host has when this returns. Any thread.
  func keep(_ saved: Buffer<UInt8>) throws(Failure) {
    guard let link else { throw Failure(Status.closed, "host", "has gone") }
    let question: StaticString = "in its checkpoint"
    var frame = FrameWriter()
    defer { frame.free() }
    frame.header()
    frame.bytes(saved.elements.baseAddress, saved.count)
    try link.withPeer { peer throws(Failure) in
      try link.ask(peer, IsolatedFrame.checkpoint, &frame, question.cText)
    }
  }

  /// Behind it the process ends, whatever has come of it.
  private mutating func close(_ frame: inout FrameReader, _ answer: inout FrameWriter) throws(Failure) {
    let timeout = frame.signed()
    let scope = try demandScope()
    defer { end() }
    let saved = try Plugin.handOver(from: scope)
    defer { SavedState.letGo(saved) }
    if !(try scope.close(timeout: timeout)) {
      throw Failure(Status.deadlock, "plugin", "was closed from inside of itself")
    }
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
    guard let link else { return }
    _ = try? MessagePort.send(
      link.state.pointee.peer.asking, id: IsolatedFrame.log, bytes.baseAddress, bytes.count, timeout: 0)
  }
}
