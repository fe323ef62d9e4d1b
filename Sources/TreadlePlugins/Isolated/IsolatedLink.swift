// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore
import TreadlePorts

/// The connection of a host with a plugin's process, as each of the two has it: what it asks the other side, and what
/// it is asked. A call has a number, and names the call of the other side that it is made in: it is received on the
/// thread that waits for that, and on the home loop if there is none. A thin handle.
struct IsolatedLink: BitwiseCopyable {
  let state: UnsafeMutablePointer<LinkState>

  /// How a side serves what is no call of a function.
  typealias Serve =
    @Sendable (UnsafeMutableRawPointer?, Int32, inout FrameReader, inout FrameWriter) throws(Failure) -> Void

  /// `home` is held. The owner of the link frees it.
  static func make(home: Loop, owner: IsolatedPlugin?, info: UnsafeMutableRawPointer?, _ serve: @escaping Serve)
    throws(Failure) -> IsolatedLink
  {
    guard let memory = treadle_system_allocate(MemoryLayout<LinkState>.size) else {
      home.letGo()
      throw Failure.noMemory("plugin")
    }
    let state = memory.bindMemory(to: LinkState.self, capacity: 1)
    state.initialize(to: LinkState(home: home, owner: owner, info: info, serve: serve))
    return IsolatedLink(state: state)
  }

  func free() {
    for proxy in state.pointee.proxies.elements { ExtensionProxy.free(proxy) }
    for exported in state.pointee.exports.elements { ExtensionType.free(exported.type) }
    for text in state.pointee.texts.elements { treadle_system_free(text.bytes) }
    state.pointee.proxies.free()
    state.pointee.exports.free()
    state.pointee.texts.free()
    state.pointee.heard.free()
    state.pointee.passing.free()
    state.pointee.kept.free()
    state.pointee.keptTypes.free()
    state.pointee.tokens.free()
    state.pointee.home.letGo()
    treadle_system_free(state)
  }

  func hold() { state.pointee.owner?.hold() }
  func letGo() { state.pointee.owner?.letGo() }

  func locked<Result>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    state.pointee.mutex.lock(.process)
    defer { state.pointee.mutex.unlock(.process) }
    return try body()
  }
  @discardableResult
  func locking<Result>(_ body: () -> Result) -> Result {
    state.pointee.mutex.lock(.process)
    defer { state.pointee.mutex.unlock(.process) }
    return body()
  }

  /// Calls `body` with the other side as it is now.
  func withPeer<Result>(_ body: (LinkPeer) throws(Failure) -> Result) throws(Failure) -> Result {
    let peer = locking {
      state.pointee.peer.process?.hold()
      return state.pointee.peer
    }
    defer { peer.process?.letGo() }
    return try body(peer)
  }

  // MARK: Receiving

  /// A message of the other side's, on a loop that receives from it: is served here, or on the loop that it belongs to.
  func receive(_ message: MessageView, from peer: LinkPeer) {
    var frame = FrameReader(message.data, message.size)
    let call = frame.number(), outer = frame.number()
    if frame.isBroken { return }
    let target = findTarget(outer, isLife: IsolatedFrame.isLife(message.id))
    guard let loop = target.loop else {
      var reply = LinkReply.direct(message.call)
      return serve(message.id, LinkCaller(call: call, peer: peer), &frame, &reply)
    }
    defer { loop.letGo() }
    guard let postponed = try? MessagePort.postpone(message.call) else { return }
    post(postponed, peer, to: loop, inCall: target.inCall, isCommon: target.isCommon)
  }

  private struct Target {
    /// Held; nil: here.
    var loop: Loop?
    var inCall = true
    var isCommon = true
  }

  private func findTarget(_ outer: UInt64, isLife: Bool) -> Target {
    let home = state.pointee.home
    return locking {
      var next = state.pointee.waits
      var isHomeWaiting = false
      while let wait = next {
        if wait.pointee.call == outer && outer != 0 {
          if wait.pointee.loop.isCurrent { return Target(loop: nil) }
          wait.pointee.loop.holdAgain()
          return Target(loop: wait.pointee.loop, isCommon: false)
        }
        if wait.pointee.loop.isSame(as: home) { isHomeWaiting = true }
        next = wait.pointee.next
      }
      // The plugin is not started or closed in the middle of a call of its own.
      if home.isCurrent && !(isLife && isHomeWaiting) { return Target(loop: nil) }
      home.holdAgain()
      return Target(loop: home, inCall: !isLife)
    }
  }

  private struct Envelope {
    let link: IsolatedLink
    var message: PostponedMessage
    /// Its process is held.
    let peer: LinkPeer
    var isOver = false
  }

  private func post(_ message: PostponedMessage, _ peer: LinkPeer, to loop: Loop, inCall: Bool, isCommon: Bool) {
    var message = message
    guard let memory = treadle_system_allocate(MemoryLayout<Envelope>.size) else { return message.end(nil) }
    hold()
    peer.process?.hold()
    memory.bindMemory(to: Envelope.self, capacity: 1).initialize(to: Envelope(link: self, message: message, peer: peer))
    let open: WorkItem.Release = { memory in
      guard let envelope = memory?.assumingMemoryBound(to: Envelope.self) else { return }
      let bytes = envelope.pointee.message.bytes
      var frame = FrameReader(bytes.baseAddress, bytes.count)
      let call = frame.number()
      _ = frame.number()
      envelope.pointee.isOver = true
      var reply = LinkReply.postponed(envelope.pointee.message)
      let caller = LinkCaller(call: call, peer: envelope.pointee.peer)
      envelope.pointee.link.serve(envelope.pointee.message.id, caller, &frame, &reply)
    }
    let drop: WorkItem.Release = { memory in
      guard let envelope = memory?.assumingMemoryBound(to: Envelope.self) else { return }
      if !envelope.pointee.isOver { envelope.pointee.message.end(nil) }
      envelope.pointee.peer.process?.letGo()
      envelope.pointee.link.letGo()
      treadle_system_free(envelope)
    }
    let item = WorkItem(post: unsafeBitCast(open, to: UnsafeMutableRawPointer.self), memory, destroy: drop)
    var names: (UnsafePointer<CChar>?, UnsafePointer<CChar>?) = (CommonModes.name.bytes, nil)
    if inCall { names = isCommon ? (names.0, IsolatedFrame.mode.bytes) : (IsolatedFrame.mode.bytes, nil) }
    do throws(Failure) {
      try withUnsafePointer(to: &names) { names throws(Failure) in
        let list = UnsafeRawPointer(names).assumingMemoryBound(to: UnsafePointer<CChar>?.self)
        let modes = ModeNames(start: list, count: inCall && isCommon ? 2 : 1)
        _ = try Scope.outside { () throws(Failure) in try Loop.post(loop.handle.bits, item, modes: modes) }
      }
    } catch { drop(memory) }
  }

  // MARK: Serving

  private func serve(_ id: Int32, _ caller: LinkCaller, _ frame: inout FrameReader, _ reply: inout LinkReply) {
    var answer = FrameWriter()
    defer { answer.free() }
    var failure: Failure?
    do throws(Failure) {
      let served = try beginServing(caller)
      defer { endServing(served) }
      try ObjectCall.recorded(0, served, LinkServed.abandon) { () throws(Failure) in
        if id == IsolatedFrame.call || id == IsolatedFrame.callback {
          try serveCall(id, &frame, &answer, served)
        } else {
          try state.pointee.serve(state.pointee.info, id, &frame, &answer)
        }
      }
      if frame.isBroken { throw IsolatedPlugin.brokenFailure }
    } catch { failure = error }
    reply.end(failure, &answer)
    if let timeout = takeLaterStop() { state.pointee.owner?.resumeStop(timeout) }
  }

  /// True if the calling thread is in a call of the other side's: then its stop follows behind that.
  func stopLater(_ timeout: Int64) -> Bool {
    locking {
      if outerCall() == 0 { return false }
      state.pointee.laterThread = Runtime.threadID
      state.pointee.laterTimeout = timeout
      return true
    }
  }

  private func takeLaterStop() -> Int64? {
    locking {
      let isHere = state.pointee.laterThread != 0 && state.pointee.laterThread == Runtime.threadID
      if !isHere || outerCall() != 0 { return nil }
      state.pointee.laterThread = 0
      return state.pointee.laterTimeout
    }
  }

  private func beginServing(_ caller: LinkCaller) throws(Failure) -> UnsafeMutablePointer<LinkServed> {
    guard let memory = treadle_system_allocate(MemoryLayout<LinkServed>.size) else { throw Failure.noMemory("plugin") }
    let served = memory.bindMemory(to: LinkServed.self, capacity: 1)
    locking {
      served.initialize(
        to: LinkServed(link: self, caller: caller, threadID: Runtime.threadID, next: state.pointee.served))
      state.pointee.served = served
    }
    return served
  }

  func endServing(_ served: UnsafeMutablePointer<LinkServed>) {
    locking {
      var at = withUnsafeMutablePointer(to: &state.pointee.served) { $0 }
      while let other = at.pointee, other != served { at = withUnsafeMutablePointer(to: &other.pointee.next) { $0 } }
      if at.pointee != nil { at.pointee = served.pointee.next }
    }
    served.pointee.free()
    treadle_system_free(served)
  }

  /// The call of the other side's that the calling thread is in; 0 for none. `serial`: only one of this process. The
  /// lock is held.
  func outerCall(of serial: UInt32? = nil) -> UInt64 {
    let id = Runtime.threadID
    var next = state.pointee.served
    while let served = next {
      let isMeant = serial == nil || served.pointee.caller.peer.serial == serial
      if served.pointee.threadID == id && isMeant { return served.pointee.caller.call }
      next = served.pointee.next
    }
    return 0
  }
}

/// The other side as one process has it, which this side reaches by these ports. Values: the handles of the ports and,
/// of a host's side, of the source of the process's end; 0: none.
struct LinkPeer: BitwiseCopyable {
  var asking: UInt = 0
  var serving: UInt = 0
  var life: UInt = 0
  /// Tells its tokens and callbacks from those of other processes.
  var serial: UInt32 = 0
  /// Of a host's side.
  var process: IsolatedProcess?
}

/// A call of the other side's. Its process is held while it is served.
struct LinkCaller: BitwiseCopyable {
  let call: UInt64
  let peer: LinkPeer
}

/// A call that a thread of this side serves. On the heap, since its thread may end inside.
struct LinkServed {
  let link: IsolatedLink
  let caller: LinkCaller
  let threadID: Int32
  var next: UnsafeMutablePointer<LinkServed>?
  /// Of a call of a function: all that was made for it.
  var copy: UnsafeMutableRawPointer?
  var prepared: UnsafeMutableRawPointer?
  var callbacks = Buffer<UInt>()

  mutating func free() {
    treadle_system_free(copy)
    treadle_system_free(prepared)
    for closure in callbacks.elements { RemoteFunction.retire(closure) }
    callbacks.free()
  }

  static let abandon: ObjectCall.Abandon = { memory in
    let served = memory.assumingMemoryBound(to: LinkServed.self)
    served.pointee.link.endServing(served)
  }
}

/// Where an answer goes.
enum LinkReply {
  case direct(UInt64)
  case postponed(PostponedMessage)

  /// A status, in words what it is about, and the rest. Without memory for them the other side gets none, which it
  /// sees.
  mutating func end(_ failure: Failure?, _ answer: inout FrameWriter) {
    var whole = FrameWriter()
    defer { whole.free() }
    whole.number(Int64(failure?.status ?? Status.ok))
    if let failure {
      LastError.record(failure, in: "treadle_plugin_serve")
      LinkReply.withLastError { whole.text($0) }
    } else {
      whole.text(nil)
    }
    let rest = answer.bytes.elements
    whole.bytes(rest.baseAddress, failure == nil ? rest.count : 0)
    let bytes = answer.hasMemory && whole.hasMemory ? UnsafeRawBufferPointer(whole.bytes.elements) : nil
    switch self {
    case .direct(let number): if let bytes { _ = try? MessagePort.reply(number, bytes.baseAddress, bytes.count) }
    case .postponed(var message): message.end(bytes)
    }
  }

  static func withLastError(_ body: (UnsafePointer<CChar>?) -> Void) {
    var text:
      (
        UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
        UInt64, UInt64
      ) =
        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    var function: UInt64 = 0
    withUnsafeMutableBytes(of: &text) { text in
      withUnsafeMutableBytes(of: &function) { LastError.write(function: $0, message: text) }
      body(text.baseAddress.map { UnsafePointer($0.assumingMemoryBound(to: CChar.self)) })
    }
  }
}
