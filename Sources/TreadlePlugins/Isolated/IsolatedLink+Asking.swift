// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore
import TreadlePorts

/// Memory of a link. The lock guards what is not constant.
struct LinkState: ~Copyable {
  let mutex = Mutex()
  /// Held.
  let home: Loop
  /// Of the host's side; not held, it owns this.
  let owner: IsolatedPlugin?
  let info: UnsafeMutableRawPointer?
  let serve: IsolatedLink.Serve
  /// Constant in a plugin's process.
  var peer = LinkPeer()
  /// The plugin's scope, as this side has it; held by the owner.
  var scope: Scope?

  var lastCall: UInt64 = 0
  var waits: UnsafeMutablePointer<LinkWait>?
  var served: UnsafeMutablePointer<LinkServed>?
  /// What the other side may call, by its index.
  var exports = Buffer<LinkExport>()
  /// What of the other side's may be called here.
  var proxies = Buffer<ExtensionProxy.Pointer>()
  /// Tokens that were given out.
  var tokens = IdentityTable(most: 1 << 20)
  /// Callbacks that the other side may call until the end, and their types.
  var kept = IdentityTable(most: 1 << 16)
  var keptTypes = Buffer<ExtensionFunction.Pointer>()
  /// Those that it may call during one call.
  var passing = Buffer<PassingCallback>()
  /// Closures that call kept callbacks of the other side.
  var heard = Buffer<HeardCallback>()
  /// Texts that were returned, each once.
  var texts = Buffer<KeptText>()
  var textSize = 0
  var isOver = false
  /// The thread that has closed the plugin in a call of the plugin's, and the time of the stop; 0: none.
  var laterThread: Int32 = 0
  var laterTimeout: Int64 = 0

  init(
    home: Loop, owner: IsolatedPlugin?, info: UnsafeMutableRawPointer?, serve: @escaping IsolatedLink.Serve
  ) {
    self.home = home
    self.owner = owner
    self.info = info
    self.serve = serve
  }

  private static let serials = Atomic<UInt32>(0)
  static func nextSerial() -> UInt32 { serials.add(1, ordering: .relaxed).newValue & 0x7FFF_FFFF }
}

struct LinkExport: BitwiseCopyable {
  /// The struct: what it begins with, then as many functions as the type has, or as its size says.
  let start: UnsafeRawPointer
  let type: ExtensionType.Pointer
}

/// A thread that waits for an answer. On the heap, since its thread may end inside.
struct LinkWait {
  let link: IsolatedLink
  let call: UInt64
  /// Held.
  let loop: Loop
  var next: UnsafeMutablePointer<LinkWait>?

  static let abandon: ObjectCall.Abandon = { memory in
    let wait = memory.assumingMemoryBound(to: LinkWait.self)
    wait.pointee.link.endWait(wait)
  }
}

extension IsolatedLink {
  private struct Answer {
    var bytes = Buffer<UInt8>()
    var hasMemory = true

    static let take: MessagePort.Reply = { data, size, info in
      guard let answer = info?.assumingMemoryBound(to: Answer.self) else { return }
      answer.pointee.hasMemory = answer.pointee.bytes.refill(size) { room in
        if let data { memcpy(room, data, size) }
        return size
      }
    }
  }

  /// Sends a frame, which begins with room for two numbers, and gives `body` the rest of the answer. Fails as the
  /// answer says, whose text is then the last error's detail. `question`: what is asked, for the case that the other
  /// side has gone.
  func ask(
    _ peer: LinkPeer, _ id: Int32, _ frame: inout FrameWriter, _ question: UnsafePointer<CChar>,
    timeout: Int64 = Clock.forever,
    _ body: (inout FrameReader, UnsafeRawBufferPointer) throws(Failure) -> Void = { _, _ throws(Failure) in }
  ) throws(Failure) {
    try frame.demandMemory()
    var answer = Answer()
    defer { answer.bytes.free() }
    do throws(Failure) {
      try demandThere(peer, question)
      try exchange(peer, id, &frame, &answer, timeout: timeout)
    } catch { throw peer.failure(error, during: question) }
    if !answer.hasMemory { throw Failure.noMemory("plugin") }
    var reader = FrameReader(answer.bytes.elements.baseAddress, answer.bytes.count)
    let status = Int32(truncatingIfNeeded: reader.signed())
    let text = reader.text()
    let rest = reader.bytes()
    if reader.isBroken { throw IsolatedPlugin.brokenFailure }
    if status < 0 {
      LastError.detail(text)
      throw Failure(status, "plugin", "was refused by its process")
    }
    var inside = FrameReader(rest.baseAddress, rest.count)
    try body(&inside, rest)
    if inside.isBroken { throw IsolatedPlugin.brokenFailure }
  }

  /// The other side is there.
  func demandThere(_ peer: LinkPeer, _ question: UnsafePointer<CChar>) throws(Failure) {
    let id = state.pointee.owner?.state.pointee.description.known.id
    if let owner = state.pointee.owner, owner.isInPause(peer.process) {
      throw IsolatedPlugin.pauseFailure(during: question, id)
    }
    if peer.asking != 0 { return }
    LastError.detail(question, id)
    throw LinkPeer.lostFailure
  }

  private func exchange(
    _ peer: LinkPeer, _ id: Int32, _ frame: inout FrameWriter, _ answer: inout Answer, timeout: Int64
  ) throws(Failure) {
    let loop = try attend(peer)
    let wait = try beginWait(loop)
    defer { endWait(wait) }
    locking { frame.setHeader(wait.pointee.call, outerCall(of: peer.serial)) }
    let bytes = frame.bytes.elements
    try withUnsafeMutablePointer(to: &answer) { answer throws(Failure) in
      let request = MessagePort.Request(
        id: id, data: bytes.baseAddress, size: bytes.count, sendTimeout: timeout, replyTimeout: timeout,
        mode: IsolatedFrame.mode,
        reply: Answer.take, info: answer)
      try ObjectCall.recorded(0, wait, LinkWait.abandon) { () throws(Failure) in
        try MessagePort.request(peer.asking, request)
      }
    }
  }

  /// Sends a frame for whose answer nobody waits.
  func tell(_ peer: LinkPeer, _ id: Int32, _ frame: inout FrameWriter, timeout: Int64) throws(Failure) {
    try frame.demandMemory()
    locking { frame.setHeader(0, outerCall(of: peer.serial)) }
    let bytes = frame.bytes.elements
    try MessagePort.send(peer.asking, id: id, bytes.baseAddress, bytes.count, timeout: timeout)
  }

  /// The calling thread's loop receives from the other side in the mode of calls from here on.
  private func attend(_ peer: LinkPeer) throws(Failure) -> Loop {
    let loop = try Loop.current()
    try attend(peer.serving, on: loop)
    try attend(peer.asking, on: loop)
    if peer.life != 0 { try attend(peer.life, on: loop) }
    return loop
  }
  private func attend(_ handle: UInt, on loop: Loop) throws(Failure) {
    let item = try Item.hold(.descriptor, handle, "plugin")
    defer { item.letGo() }
    var isAdded = false
    _ = try loop.attend(item, in: IsolatedFrame.mode, isAdded: &isAdded)
  }

  private func beginWait(_ loop: Loop) throws(Failure) -> UnsafeMutablePointer<LinkWait> {
    guard let memory = treadle_system_allocate(MemoryLayout<LinkWait>.size) else { throw Failure.noMemory("plugin") }
    let wait = memory.bindMemory(to: LinkWait.self, capacity: 1)
    loop.holdAgain()
    locking {
      state.pointee.lastCall &+= 1
      wait.initialize(to: LinkWait(link: self, call: state.pointee.lastCall, loop: loop, next: state.pointee.waits))
      state.pointee.waits = wait
    }
    return wait
  }

  fileprivate func endWait(_ wait: UnsafeMutablePointer<LinkWait>) {
    locking {
      var at = withUnsafeMutablePointer(to: &state.pointee.waits) { $0 }
      while let other = at.pointee, other != wait { at = withUnsafeMutablePointer(to: &other.pointee.next) { $0 } }
      if at.pointee != nil { at.pointee = wait.pointee.next }
    }
    wait.pointee.loop.letGo()
    treadle_system_free(wait)
  }
}

extension LinkPeer {
  static let lostFailure = Failure(Status.plugin, "plugin", "has lost its process")
  private static let goneFailure = Failure(Status.closed, "host", "has gone")

  /// A failure to reach it, in words that say how it has ended; others stay. One that does not answer in its time does
  /// not go on.
  func failure(_ error: Failure, during question: UnsafePointer<CChar>) -> Failure {
    switch error.status {
    case Status.closed, Status.state, Status.stale:
      return process?.endFailure(during: question) ?? LinkPeer.goneFailure
    case Status.timeout, Status.noReply:
      guard let process else { return error }
      process.kill()
      let id = process.plugin.state.pointee.description.known.id
      LastError.detail(question, id, "killed, since its time had passed")
      return Failure(Status.timeout, "plugin", "has a process that does not answer")
    default: return error
    }
  }
}
