// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The memory of one mode's epoll set. Guards as in `LoopState`.
struct PollerState: ~Copyable {
  /// Changed by `Poller.rebuild` alone, on the owner's thread. Lock; the owner reads it without.
  var epoll: Int32
  /// What is registered for each descriptor number. Lock.
  var registrations: Buffer<Registration>
  /// Tells registrations of one number apart. Lock.
  var lastSerial: UInt32
  /// Numbers whose descriptors epoll refuses because they are always ready, such as regular files. Lock.
  var alwaysReady: Buffer<UInt32>
  /// `alwaysReady.count`, for a look without the lock. Written under it.
  let alwaysReadyCount: Atomic<Int>
  /// There may be a stale epoll entry: of a number that was closed before it was taken out, and whose file lives on. Written
  /// under the lock.
  let mayHaveStale: Atomic<Bool>

  /// The interrupt descriptor that is in the set; -1 for none. Owner.
  var interrupt: Int32
  /// The interrupt descriptor was seen readable. Owner.
  var wasInterrupted: Bool
  /// What the kernel reported and no pass has handled yet; the next one's index. Owner.
  var events: Buffer<treadle_system_event>
  var nextEvent: Int

  init(epoll: Int32) {
    self.epoll = epoll
    registrations = Buffer()
    lastSerial = 0
    alwaysReady = Buffer()
    alwaysReadyCount = Atomic(0)
    mayHaveStale = Atomic(false)
    interrupt = -1
    wasInterrupted = false
    events = Buffer()
    nextEvent = 0
  }
}

/// What a mode has registered for one descriptor number. All-zero bytes are nothing.
struct Registration: BitwiseCopyable {
  /// The slot of the membership that watches it; 0 for none.
  var member: UInt32 = 0
  /// Of the entry in the kernel's set, which reports it; 0 for none: the member is paused, or always ready.
  var serial: UInt32 = 0
}

/// What the kernel's set carries for each entry: a number and the serial of its registration. An event whose serial is not
/// the one that is registered is of an entry that was taken out since, or of a stale one.
struct EpollData {
  let bits: UInt64

  @inline(__always)
  init(bits: UInt64) { self.bits = bits }
  @inline(__always)
  init(number: Int32, serial: UInt32) { bits = UInt64(serial) << 32 | UInt64(UInt32(bitPattern: number)) }

  @inline(__always)
  var number: Int32 { Int32(bitPattern: UInt32(truncatingIfNeeded: bits)) }
  @inline(__always)
  var serial: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }

  // Entries of the loop's own, whose serial is that of no registration.
  static let wake = EpollData(number: -1, serial: 0)
  static let timer = EpollData(number: -2, serial: 0)
  static let interrupt = EpollData(number: -3, serial: 0)
  /// A descriptor of a client's: none has a negative number.
  @inline(__always)
  var isOfClient: Bool { number >= 0 }
}
