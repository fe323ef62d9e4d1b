// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Descriptor sources (§7 of the rules).
extension Item {
  package static func descriptor(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, context: Context, number: Int32,
    events: UInt32, isAcknowledged: Bool
  ) throws(Failure) -> Item {
    var traits: UInt8 = isAcknowledged ? Trait.acknowledged : 0
    if context.main.invoke != nil { traits |= Trait.indirect }
    if context.equal != nil { traits |= Trait.comparable }
    let isAsked = context.getDescriptor != nil
    if !isAsked { try demandOpen(number) }
    return try create(
      .descriptor, traits: traits, code: code, info: info, context: context.isTrivial ? nil : context
    ) { $0.beginWatched(isAsked ? -1 : number, events) }
  }

  /// One with nothing but a plain callback, as nearly all are: without the options, which are many words to copy.
  /// Whoever adds it finds out whether the number is open.
  @inline(__always)
  package static func descriptor(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, number: Int32, events: UInt32, isAcknowledged: Bool
  ) throws(Failure) -> Item {
    try create(
      .descriptor, traits: isAcknowledged ? Trait.acknowledged : 0, code: code, info: info, context: nil
    ) { $0.beginWatched(number, events) }
  }

  @inline(__always)
  private func beginWatched(_ number: Int32, _ events: UInt32) {
    watched = DescriptorCell.Watched(number: number, events: UInt16(events & 3), strikes: 0)
  }

  /// The client means an open one.
  package static func demandOpen(_ number: Int32, _ subject: StaticString = "fd") throws(Failure) {
    if treadle_system_is_open(number) < 0 {
      throw Failure(Status.argument, subject, "is not an open descriptor", osError: treadle_system_ebadf())
    }
  }

  /// What the next membership watches; a client's callback may answer (SRC1-3), so no lock is held. Without one it is
  /// the same as long as the item lives.
  @inline(__always)
  func askForDescriptor() -> Int32 {
    if context?.pointee.getDescriptor == nil { return watched.number }
    var asking = Asking(item: self)
    ObjectCall.during(handle.bits, &asking) { $0?.assumingMemoryBound(to: Asking.self).pointee.call() }
    return asking.number
  }

  private struct Asking {
    let item: Item
    var number: Int32 = -1

    mutating func call() {
      if let get = item.context?.pointee.getDescriptor { number = get(item.cell.info) }
    }
  }

  // The own cell says what the source watches; where that is a membership too, its loop's lock guards it.

  package var watchedNumber: Int32 { withWatchedLocked { watched.number } }
  package var watchedEvents: UInt32 { withWatchedLocked { UInt32(watched.events) } }

  private func withWatchedLocked<Result>(_ body: () -> Result) -> Result {
    lock()
    defer { unlock() }
    return withLoopLocked(self) { _ in body() }
  }

  /// Runs `body` under the lock of the loop of a membership, with its mode; without a mode if there is no membership,
  /// and none begins. The item's lock is held.
  package func withLoopLocked<Result>(_ member: Item, _ body: (Mode?) -> Result) -> Result {
    while true {
      if let mode = member.mode, let loop = mode.loop {
        loop.lock()
        defer { loop.unlock() }
        if member.isIn(mode) && mode.isOf(loop) { return body(mode) }
      } else if member.tag != tag {
        return body(nil)
      } else if claimCell() {
        defer { unclaimCell() }
        return body(nil)
      }
    }
  }

  static var invalidDescriptor: Failure { Failure(Status.state, "descriptor", "is invalid") }

  /// Changes what every membership watches for: all of them, or, with an error, none.
  package func setWatchedEvents(_ events: UInt32) throws(Failure) {
    guard isValid else { throw Item.invalidDescriptor }
    lock()
    defer { unlock() }
    let before = watched.events
    var failure: Failure?
    change(to: UInt16(events & 3), &failure)
    guard let failure else { return }
    var ignored: Failure?
    change(to: before, &ignored)
    throw failure
  }

  /// In every membership: the item's own cell, whose events are the source's, is the first of them. The item's lock is
  /// held.
  private func change(to events: UInt16, _ failure: inout Failure?) {
    var next: Item? = self
    while let member = next {
      let refusal = withLoopLocked(member) { mode -> Failure? in
        guard let mode, !mode.isRecord else {
          member.watched.events = events
          return nil
        }
        do throws(Failure) { try mode.rewatch(member, events) } catch { return error }
        return nil
      }
      failure = failure ?? refusal
      next = following(member)
    }
  }

  /// What became of a counter that was reported.
  enum Acknowledgement { case read, nothing, gone }

  /// Reads the counter of an eventfd or timerfd that the client gave into our hands (SRC1-2). `nothing`: somebody else
  /// has read it, or the source has left or was paused; `gone`: its number was closed, and what it means now is not
  /// read. The loop's own thread, which calls the source. Takes the item's lock.
  func acknowledge(_ mode: Mode) -> Acknowledgement {
    lock()
    defer { unlock() }
    guard let member = member(of: mode) else { return .nothing }
    return withLoopLocked(member) { mode in
      guard let mode, member.watched.events != 0 else { return .nothing }
      if !mode.demandStanding(member) { return .gone }
      return treadle_system_read8(member.watched.number) >= 0 ? .read : .nothing
    }
  }

  /// What is watched in a mode; -1 when the source has left it. Takes the item's lock.
  package func descriptorNumber(in mode: Mode) -> Int32 {
    lock()
    defer { unlock() }
    guard let member = member(of: mode) else { return -1 }
    return withLoopLocked(member) { $0 == nil ? -1 : member.watched.number }
  }
}

/// What a descriptor is ready for, in the C ABI's numbers.
package enum Readiness {
  package static let readable: UInt32 = 1
  package static let writable: UInt32 = 2
  package static let hangup: UInt32 = 4
  package static let failed: UInt32 = 8

  // The kernel's bits.
  private static let kernelIn: UInt32 = 0x001
  private static let kernelOut: UInt32 = 0x004
  private static let kernelError: UInt32 = 0x008
  private static let kernelHangup: UInt32 = 0x010
  /// epoll says it of none: this library does, of one that was closed (`reportClosed`).
  static let kernelInvalid: UInt32 = 0x020
  private static let kernelHalfClosed: UInt32 = 0x2000
  /// Of a descriptor that is always ready.
  static let kernelAlways = kernelIn | kernelOut
  /// Of what is found in memory.
  static let kernelReadable = kernelIn

  @inline(__always)
  static func toKernel(_ events: UInt16) -> UInt32 {
    (UInt32(events) & readable != 0 ? kernelIn | kernelHalfClosed : 0)
      | (UInt32(events) & writable != 0 ? kernelOut : 0)
  }

  /// Hang-up and error count as what is watched for, so that the client reads and sees them (SRC1-8). One that was
  /// closed does not: its number may be another's.
  @inline(__always)
  static func fromKernel(_ bits: UInt32, watched: UInt32) -> UInt32 {
    var events: UInt32 = 0
    if bits & kernelIn != 0 { events |= readable }
    if bits & kernelOut != 0 { events |= writable }
    if bits & (kernelHangup | kernelHalfClosed) != 0 { events |= hangup }
    if bits & (kernelError | kernelInvalid) != 0 { events |= failed }
    if bits & (kernelHangup | kernelError) != 0 { events |= watched }
    return events & (watched | hangup | failed)
  }
}
