// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// One thing that a run asks its shell to do: call the client, or sleep. Until the run goes on, the
/// callout's item or block is held.
struct Callout {
  enum Kind: UInt8 {
    case none
    case source
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

  @inline(__always)
  mutating func setItem(_ kind: Kind, _ item: Item, value: UInt32 = 0) {
    self.kind = kind
    self.item = item
    self.value = value
  }

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

  @inline(__always)
  func call(_ frame: UnsafeMutablePointer<Frame>) {
    let callout = frame.pointee.callout
    if callout.kind == .block {
      callBlock(callout.block, frame)
      return
    }
    if callout.kind == .request {
      if let node = callout.request {
        if !RequestNode.perform(node, on: self, mode: frame.pointee.mode.name) { frame.pointee.failed = true }
      }
      return
    }
    guard let item = callout.item else { return }
    if item.hasFlag(Item.Flag.indirect) {
      callIndirectly(item, callout, frame)
      return
    }
    guard let code = item.cell.pointee.code else { return }
    let handle = item.handlePointer
    let info = item.cell.pointee.info
    switch callout.kind {
    case .observer, .descriptor: unsafeBitCast(code, to: PlainItemWithValue.self)(handle, callout.value, info)
    default: unsafeBitCast(code, to: PlainItem.self)(handle, info)
    }
  }

  @inline(__always)
  private func callBlock(_ entry: BlockEntry, _ frame: UnsafeMutablePointer<Frame>) {
    if let code = entry.code {
      unsafeBitCast(code, to: BlockNode.Function.self)(entry.info)
      return
    }
    guard let node = entry.node else { return }
    if let invoke = node.pointee.indirect.invoke {
      var event = Event(
        Event.Kind.block, token: node.pointee.token, loop: self, subject: 0, mode: frame.pointee.mode.name)
      if !invoke(node.pointee.indirect.object, &event) { frame.pointee.failed = true }
    } else if let code = node.pointee.code {
      unsafeBitCast(code, to: BlockNode.Function.self)(node.pointee.info)
    }
  }

  @inline(never)
  private func callIndirectly(_ item: Item, _ callout: Callout, _ frame: UnsafeMutablePointer<Frame>) {
    guard let context = item.context, let invoke = context.pointee.main.invoke else { return }
    var event = Event(
      Loop.eventKind(callout.kind), value: callout.value, token: context.pointee.token, loop: self,
      subject: item.handle.bits, mode: frame.pointee.mode.name)
    if callout.kind == .timer { event.late = Clock.now() &- item.timer.pointee.date }
    if callout.kind == .descriptor { event.descriptor = item.descriptorNumber(in: frame.pointee.mode) }
    if !invoke(context.pointee.main.object, &event) { frame.pointee.failed = true }
  }

  private static func eventKind(_ kind: Callout.Kind) -> UInt32 {
    switch kind {
    case .source: Event.Kind.perform
    case .timer: Event.Kind.timer
    case .observer: Event.Kind.observer
    default: Event.Kind.descriptor
    }
  }

  /// What follows a callout: references go back, timers take their next date, one-shots end.
  @inline(__always)
  func settle(_ frame: UnsafeMutablePointer<Frame>) {
    let callout = frame.pointee.callout
    frame.pointee.callout.set(.none)
    switch callout.kind {
    case .source, .descriptor: callout.item?.drop()
    case .block: if let node = callout.block.node { BlockNode.free(node) }
    case .timer, .observer: settleRunning(callout)
    case .request:
      if let node = callout.request {
        RequestNode.finish(node, frame.pointee.failed ? Waiter.Outcome.failed : Waiter.Outcome.done)
      }
    default: break
    }
  }

  private func settleRunning(_ callout: Callout) {
    guard let item = callout.item else { return }
    if callout.kind == .timer {
      item.releaseAfterCall()
      item.finishFiring()
    } else {
      if item.hasFlag(Item.Flag.once) { item.invalidate() }
      item.endRunning()
    }
    item.drop()
  }
}
