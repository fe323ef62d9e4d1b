// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// What a run is calling. Until the run goes on, its item is that of the loop's call (`Calling.swift`), or held.
struct Callout {
  enum Kind: UInt8 {
    case none
    case source
    case descriptor
    case message
    case timer
    case observer
    case block
    /// A plain post of a scope (`PostGroup`).
    case scopedPost
    case job
  }

  private(set) var kind = Kind.none
  /// The item that is called; nil for a block or a job.
  private(set) var item: Item?
  /// The activity, the readiness or the message's id.
  private(set) var value: UInt32 = 0
  private(set) var block = Entry(first: 0, second: 0)
  private(set) var job: UnsafeMutablePointer<Job>?
  /// Of a port, with the queue's reference.
  private(set) var message: Message?
  /// There is a counted reference to the item, since another run is, or was, inside of the call.
  var isHeld = false

  @inline(__always)
  mutating func set(_ kind: Kind, _ item: Item, value: UInt32 = 0) {
    self.kind = kind
    self.item = item
    self.value = value
  }
  @inline(__always)
  mutating func set(_ kind: Kind, _ item: Item, _ message: Message) {
    set(kind, item, value: message.id)
    self.message = message
  }
  @inline(__always)
  mutating func takeMessage() -> Message? {
    let taken = message
    message = nil
    return taken
  }
  /// An item that is kept, and about to be called.
  @inline(__always)
  mutating func prepare(_ item: Item) { self.item = item }
  @inline(__always)
  mutating func set(_ block: Entry) {
    kind = .block
    self.block = block
  }
  mutating func set(scopedPost post: Entry) {
    kind = .scopedPost
    block = post
  }
  var isPost: Bool { kind == .block || kind == .scopedPost }
  @inline(__always)
  mutating func set(_ job: UnsafeMutablePointer<Job>) {
    kind = .job
    self.job = job
  }
  @inline(__always)
  mutating func clear() {
    kind = .none
    item = nil
    job = nil
    message = nil
    isHeld = false
  }
}

/// Calling the client. No lock is held, and nothing of the run is half done. False: the client has forked, this is the
/// child, and the run is not gone on with.
extension Loop {
  typealias PlainItem = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void
  typealias PlainItemWithValue = @convention(c) (OpaquePointer?, UInt32, UnsafeMutableRawPointer?) -> Void

  /// A callback of the client's begins, which reads the clock for itself (`ownRecentTime`).
  @inline(__always)
  func beginCall() {
    assert(LockOrder.isClear, "no lock is held while client code runs")
    state.hasReading = false
  }

  /// A source or timer that is the frame's callout.
  @inline(__always)
  func callItem(_ frame: Frame.Pointer) -> Bool {
    beginCall()
    guard let item = frame.pointee.callout.item else { return true }
    if item.hasTrait(Item.Trait.indirect) {
      callIndirectly(item, frame)
    } else if let code = item.code {
      unsafeBitCast(code, to: PlainItem.self)(item.handlePointer, item.cell.info)
    }
    return !wasLeftByFork(frame)
  }

  /// An observer or descriptor source that is the frame's callout, with what it is told.
  @inline(__always)
  func callItemWithValue(_ frame: Frame.Pointer) -> Bool {
    beginCall()
    guard let item = frame.pointee.callout.item else { return true }
    if item.hasTrait(Item.Trait.indirect) {
      callIndirectly(item, frame)
    } else if let code = item.code {
      unsafeBitCast(code, to: PlainItemWithValue.self)(item.handlePointer, frame.pointee.callout.value, item.cell.info)
    }
    return !wasLeftByFork(frame)
  }

  @inline(never)
  func callIndirectly(_ item: Item, _ frame: Frame.Pointer) {
    guard let context = item.context, let invoke = context.pointee.main.invoke else { return }
    if let direct = context.pointee.main.direct {
      direct.pointee.perform(subject: UnsafeMutableRawPointer(item.handlePointer), value: frame.pointee.callout.value)
      return
    }
    if context.pointee.main.isFetched { return leaveToHost(frame) }
    var event = event(of: item, context.pointee.token, frame)
    if !invoke(context.pointee.main.object, &event) { fail(frame) }
  }

  /// The event that an item is the frame's callout for.
  @inline(__always)
  func event(of item: Item, _ token: UInt64, _ frame: Frame.Pointer) -> Event {
    let kind = frame.pointee.callout.kind
    var event = Event(
      Loop.eventKind(kind), value: frame.pointee.callout.value, token: token, loop: handlePointer,
      subject: item.handle.bits,
      mode: frame.pointee.mode.name)
    if kind == .timer { event.late = Clock.now() &- item.due.date }
    // An item that is more than a descriptor source asks for no number.
    if kind == .descriptor && item.context?.pointee.ending == nil {
      event.descriptor = item.descriptorNumber(in: frame.pointee.mode)
    }
    if let message = frame.pointee.callout.message { event.argument = UnsafeMutableRawPointer(message.handlePointer) }
    return event
  }

  /// A host's callback of this run did not complete.
  @inline(never)
  func fail(_ frame: Frame.Pointer) {
    if isOfParent { return }
    endRunsLeft(inside: frame)
    failRun()
  }

  static func eventKind(_ kind: Callout.Kind) -> UInt32 {
    switch kind {
    case .source: Event.Kind.perform
    case .timer: Event.Kind.timer
    case .observer: Event.Kind.observer
    case .block, .scopedPost: Event.Kind.block
    case .job: Event.Kind.request
    case .message: Event.Kind.message
    case .descriptor, .none: Event.Kind.descriptor
    }
  }

  @inline(__always)
  func callBlock(_ frame: Frame.Pointer) -> Bool {
    beginCall()
    let block = frame.pointee.callout.block
    if let code = block.code {
      state.running.store(CallName(post: code).bits, ordering: .relaxed)
      unsafeBitCast(code, to: WorkItem.Release.self)(block.info)
    } else if let node = block.node {
      state.running.store(node.pointee.item.name.bits, ordering: .releasing)
      callNode(node, frame)
    }
    return !wasLeftByFork(frame)
  }

  @inline(never)
  private func callNode(_ node: UnsafeMutablePointer<BlockNode>, _ frame: Frame.Pointer) {
    if node.pointee.item.isFetched { return leaveToHost(frame) }
    let isComplete = node.pointee.item.perform(on: handlePointer, mode: frame.pointee.mode.name)
    if !isOfParent {
      // By now it may be others of a host's, or none: the node may have gone.
      if frame.pointee.handedCount != 0 {
        endBlocks(frame, isComplete ? .all : .none)
      } else if isComplete && frame.pointee.callout.kind == .block, let last = frame.pointee.callout.block.node {
        last.pointee.item.complete()
      }
    }
    if !isComplete { fail(frame) }
  }

  @inline(__always)
  func callJob(_ frame: Frame.Pointer) -> Bool {
    beginCall()
    guard let job = frame.pointee.callout.job else { return true }
    state.running.store(job.pointee.name.bits, ordering: .releasing)
    if job.pointee.isFetched, job.pointee.handOut?(job, Job.Ask.isLeft, nil, nil) == true {
      leaveToHost(frame)
    } else if !job.pointee.perform(job, handlePointer, frame.pointee.mode.name) {
      fail(frame)
    }
    return !wasLeftByFork(frame)
  }

  /// The host whose run this is serves signals here, inside of the run: a stop that comes meanwhile is for it (STOP-2).
  @inline(never)
  func callInterrupt(_ frame: Frame.Pointer) {
    beginCall()
    guard let interrupt = frame.pointee.interrupt, let invoke = interrupt.invoke else { return }
    var event = Event(
      Event.Kind.interrupt, token: 0, loop: handlePointer, subject: 0, mode: frame.pointee.mode.name)
    if !invoke(interrupt.object, &event) { fail(frame) }
    endRunsLeft(inside: frame)
  }

  /// Whether a callback of the item is on this thread's stack.
  func isInCallback(of item: Item) -> Bool {
    var frame = self.frame
    while let run = frame {
      if run.pointee.callout.item?.address == item.address { return true }
      frame = run.pointee.outer
    }
    return false
  }
}
