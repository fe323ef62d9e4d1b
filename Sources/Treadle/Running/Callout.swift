// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// One thing that a run asks its shell to do: call the client, or sleep. Until the run goes on, the
/// callout's item or block is held, or protected (`Loop.protect`).
struct Callout {
  enum Kind: UInt8 {
    case none
    case source
    /// A source of which nothing is noted here: it is the one in hand (`Loop.itemInHand`).
    case sourceInHand
    case descriptor
    case timer
    case observer
    case block
    case request
    case wait
    case done
  }

  private(set) var kind = Kind.none
  /// Of the kinds that have one.
  private(set) var item: Item?
  /// The activity or readiness; for blocks unused.
  private(set) var value: UInt32 = 0
  private(set) var block = BlockEntry(code: nil, info: nil)
  /// Sources: a reference is held. Otherwise `Loop.protect` has to do.
  var isHeld = false

  @inline(__always)
  mutating func setItem(_ kind: Kind, _ item: Item, value: UInt32 = 0) {
    self.kind = kind
    self.item = item
    self.value = value
    isHeld = false
  }

  /// What is left of a notification; the observers follow one by one.
  @inline(__always)
  mutating func setNotification(_ activity: UInt32) {
    kind = .observer
    item = nil
    value = activity
    isHeld = false
  }

  /// The next observer of a notification.
  @inline(__always)
  mutating func setNextObserver(_ item: Item) { self.item = item }

  @inline(__always)
  mutating func setBlock(_ block: BlockEntry) {
    kind = .block
    self.block = block
  }

  @inline(__always)
  mutating func setRequest(_ node: UnsafeMutablePointer<RequestNode>) {
    kind = .request
    block = BlockEntry(code: nil, info: UnsafeMutableRawPointer(node))
  }
  /// Of a request.
  var request: UnsafeMutablePointer<RequestNode>? { block.info?.assumingMemoryBound(to: RequestNode.self) }

  @inline(__always)
  mutating func set(_ kind: Kind) { self.kind = kind }

  func isOf(_ item: Item) -> Bool {
    switch kind {
    case .source, .descriptor, .timer, .observer: self.item?.cell == item.cell
    default: false
    }
  }
}

/// Calling the client. No lock is held, and nothing of the run is half done.
extension Loop {
  typealias PlainItem = @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void
  typealias PlainItemWithValue = @convention(c) (OpaquePointer?, UInt32, UnsafeMutableRawPointer?) -> Void

  /// An observer or a descriptor source that is the frame's callout, and what it is told: that is the callout's value.
  @inline(__always)
  func callWithValue(_ item: Item, _ value: UInt32, _ frame: UnsafeMutablePointer<Frame>) {
    if item.hasFlag(Item.Flag.indirect) {
      callIndirectly(item, frame)
    } else if let code = item.code {
      unsafeBitCast(code, to: PlainItemWithValue.self)(item.handlePointer, value, item.cell.pointee.info)
    }
  }

  /// The same for a source or timer that is the frame's callout.
  @inline(__always)
  func callPlainItem(_ item: Item, _ frame: UnsafeMutablePointer<Frame>) {
    if item.hasFlag(Item.Flag.indirect) {
      callIndirectly(item, frame)
    } else if let code = item.code {
      unsafeBitCast(code, to: PlainItem.self)(item.handlePointer, item.cell.pointee.info)
    }
  }

  /// The same for an owned source that is in hand.
  @inline(__always)
  func callInHand(_ signal: QueuedSignal, _ frame: UnsafeMutablePointer<Frame>) {
    let item = signal.item
    if let code = item.plainCode {
      unsafeBitCast(code, to: PlainItem.self)(OpaquePointer(bitPattern: signal.handle.bits), item.cell.pointee.info)
    } else if let direct = item.context?.pointee.main.direct {
      direct.pointee.perform(subject: UnsafeMutableRawPointer(bitPattern: signal.handle.bits), value: 0)
    } else {
      callPlainItem(item, frame)
    }
  }

  /// A block, and while they are plain functions that the mode admits, those that follow it in the drain: nothing but
  /// the end of all calls can come between them.
  func callBlocks(_ frame: UnsafeMutablePointer<Frame>) {
    let first = frame.pointee.callout.block
    guard let code = first.code else {
      if let node = first.node { callNode(node, frame) }
      return
    }
    unsafeBitCast(code, to: BlockNode.Function.self)(first.info)
    while !mustEnd(frame), let next = frame.pointee.batch[frame.pointee.batchIndex], let code = next.code,
      frame.pointee.mode.state.pointee.isCommon
    {
      // In the frame before the call: a run inside of it looks at what is left.
      frame.pointee.batchIndex &+= 1
      unsafeBitCast(code, to: BlockNode.Function.self)(next.info)
    }
  }

  private func callNode(_ node: UnsafeMutablePointer<BlockNode>, _ frame: UnsafeMutablePointer<Frame>) {
    if let direct = node.pointee.indirect.direct {
      direct.pointee.perform(subject: nil, value: 0)
    } else if let invoke = node.pointee.indirect.invoke {
      var event = Event(
        Event.Kind.block, token: node.pointee.token, loop: self, subject: 0, mode: frame.pointee.mode.name)
      if !invoke(node.pointee.indirect.object, &event) {
        frame.pointee.fail()
      } else {
        // By now it may be another one of the host's.
        frame.pointee.callout.block.node?.pointee.complete()
      }
    } else if let code = node.pointee.code {
      unsafeBitCast(code, to: BlockNode.Function.self)(node.pointee.info)
    }
  }

  @inline(never)
  private func callIndirectly(_ item: Item, _ frame: UnsafeMutablePointer<Frame>) {
    guard let context = item.context, let invoke = context.pointee.main.invoke else { return }
    if let direct = context.pointee.main.direct {
      direct.pointee.perform(
        subject: UnsafeMutableRawPointer(item.handlePointer), value: frame.pointee.callout.value)
      return
    }
    let callout = frame.pointee.callout
    var event = Event(
      Loop.eventKind(callout.kind), value: callout.value, token: context.pointee.token, loop: self,
      subject: item.handle.bits, mode: frame.pointee.mode.name)
    if callout.kind == .timer { event.late = Clock.now() &- item.timer.pointee.date }
    if callout.kind == .descriptor { event.descriptor = item.descriptorNumber(in: frame.pointee.mode) }
    if !invoke(context.pointee.main.object, &event) { frame.pointee.fail() }
  }

  private static func eventKind(_ kind: Callout.Kind) -> UInt32 {
    switch kind {
    case .source, .sourceInHand: Event.Kind.perform
    case .timer: Event.Kind.timer
    case .observer: Event.Kind.observer
    default: Event.Kind.descriptor
    }
  }

  /// What follows a callout: references go back, timers take their next date, one-shots end.
  @inline(__always)
  func settle(_ frame: UnsafeMutablePointer<Frame>) {
    // Part by part: a copy of the whole, just after its parts were written, would have to wait for the processor's store
    // buffer.
    let kind = frame.pointee.callout.kind
    if kind == .none { return }
    frame.pointee.callout.set(.none)
    switch kind {
    case .source, .sourceInHand: endSource(frame)
    case .descriptor: frame.pointee.callout.item?.drop()
    case .block: if let node = frame.pointee.callout.block.node { BlockNode.free(node) }
    case .timer: if let item = frame.pointee.callout.item { settleTimer(item) }
    case .request:
      if let node = frame.pointee.callout.request {
        if RequestNode.isAwaited(node) { noteAnswer() }
        RequestNode.finish(node, frame.pointee.failed ? Waiter.Outcome.failed : Waiter.Outcome.done)
      }
    default: break
    }
  }

  private func endSource(_ frame: UnsafeMutablePointer<Frame>) {
    if frame.pointee.callout.isHeld { frame.pointee.callout.item?.drop() }
    unprotect()
  }
}
