// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A descriptor source's part of its slot, behind the `ItemCell`. In an alias it holds what that
/// membership watches; the primary's is also what a new membership starts from.
///
/// Guarded by the item's lock, and by the lock of the membership's loop too where it is in one.
struct DescriptorCell {
  var number: Int32
  /// `Readiness` bits to watch for.
  var events: UInt16
  /// Counts events, so that now and then the kernel is asked whether the registration still stands.
  var strikes: UInt16
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
  private static let kernelHalfClosed: UInt32 = 0x2000

  static func toKernel(_ events: UInt32) -> UInt32 {
    (events & readable != 0 ? kernelIn | kernelHalfClosed : 0) | (events & writable != 0 ? kernelOut : 0)
  }

  /// Hang-up and error count as what is watched for, so that the client reads and sees them (SRC1-8).
  static func fromKernel(_ bits: UInt32, watched: UInt32) -> UInt32 {
    var events: UInt32 = 0
    if bits & kernelIn != 0 { events |= readable }
    if bits & kernelOut != 0 { events |= writable }
    if bits & (kernelHangup | kernelHalfClosed) != 0 { events |= hangup }
    if bits & kernelError != 0 { events |= failed }
    if bits & (kernelHangup | kernelError) != 0 { events |= watched }
    return events
  }
}

/// Descriptor sources (§7 of the rules).
extension Item {
  @inline(__always)
  var descriptor: UnsafeMutablePointer<DescriptorCell> {
    (UnsafeMutableRawPointer(cell) + 40).assumingMemoryBound(to: DescriptorCell.self)
  }

  package static func descriptor(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, options: ItemOptions, number: Int32,
    events: UInt32, isAcknowledged: Bool
  ) throws(Failure) -> Item {
    var flags: UInt32 = isAcknowledged ? Flag.acknowledged : 0
    if options.value.main.invoke != nil { flags |= Flag.indirect }
    if options.value.equal != nil { flags |= Flag.comparable }
    if options.value.getDescriptor == nil { try demandOpen(number) }
    let item = try create(
      .descriptor, flags: flags, code: code, info: info, context: options.value.isTrivial ? nil : options.value)
    let number = options.value.getDescriptor == nil ? number : -1
    item.descriptor.pointee = DescriptorCell(number: number, events: UInt16(events & 3), strikes: 0)
    return item
  }

  /// One with nothing but a plain callback, as nearly all are: without the options, which are many words to copy.
  package static func plainDescriptor(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, number: Int32, events: UInt32, isAcknowledged: Bool
  ) throws(Failure) -> Item {
    try demandOpen(number)
    let item = try create(
      .descriptor, flags: isAcknowledged ? Flag.acknowledged : 0, code: code, info: info, context: nil)
    item.descriptor.pointee = DescriptorCell(number: number, events: UInt16(events & 3), strikes: 0)
    return item
  }

  /// The client means an open one.
  static func demandOpen(_ number: Int32) throws(Failure) {
    if treadle_system_is_open(number) < 0 {
      throw Failure(Status.argument, "fd", "is not an open descriptor", osError: treadle_system_ebadf())
    }
  }

  /// What the next membership watches; a client's callback may answer, so no lock is held.
  func askForDescriptor() -> Int32 {
    guard let get = context?.pointee.getDescriptor else { return watchedNumber }
    return ItemCall.during(self) { get(cell.pointee.info) }
  }

  package var watchedNumber: Int32 {
    lock()
    defer { unlock() }
    return descriptor.pointee.number
  }

  package var watchedEvents: UInt32 {
    lock()
    defer { unlock() }
    return UInt32(descriptor.pointee.events)
  }

  /// Changes what every membership watches for.
  @_optimize(size)
  package func setWatchedEvents(_ events: UInt32) throws(Failure) {
    guard isValid else { throw Failure(Status.state, "descriptor", "is invalid") }
    lock()
    defer { unlock() }
    let old = descriptor.pointee.events
    let new = UInt16(events & 3)
    var failure: Failure?
    change(from: old, to: new, &failure)
    if let failure {
      var ignored: Failure?
      change(from: new, to: old, &ignored)
      throw failure
    }
  }

  /// In every membership: the item's own cell, whose events are the source's, is the first of them. A loop
  /// reads what a member watches under its own lock alone, so only there is it changed. The item's lock is
  /// held.
  @_optimize(size)
  private func change(from old: UInt16, to new: UInt16, _ failure: inout Failure?) {
    var next: Item? = self
    while let member = next {
      if let mode = member.mode, !mode.state.pointee.isRecord, let loop = mode.loop {
        loop.mutex.lock()
        do throws(Failure) { try mode.rewatch(member, from: old, to: new) } catch { failure = error }
        loop.mutex.unlock()
      } else {
        member.descriptor.pointee.events = new
      }
      next = following(member)
    }
  }
}
