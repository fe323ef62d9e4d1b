// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadleSystem
package import Synchronization

/// The memory of one mode's epoll set. The lock is the loop's, the owner the loop's thread.
package struct PollerState: ~Copyable {
  /// Changed by `Poller.rebuild` alone, on the owner's thread. Lock; the owner reads it without.
  package var epoll: Int32
  /// What is registered for each descriptor number. Lock.
  package var registrations: Buffer<Registration>
  /// Tells registrations of one number apart. Lock.
  package var lastSerial: UInt32
  /// Numbers whose descriptors epoll refuses because they are always ready, such as regular files. Lock.
  package var alwaysReady: Buffer<UInt32>
  /// `alwaysReady.count`, for a look without the lock, which orders nothing: the numbers are read under it. Written
  /// under it.
  package let alwaysReadyCount: Atomic<Int>
  /// There may be a stale epoll entry: of a number that was closed before it was taken out, and whose file lives on.
  /// Written under the lock, and looked at without, which orders nothing.
  package let mayHaveStale: Atomic<Bool>

  /// The set that has this one alone, for other loops to wait for: it stays when this one is made anew. -1 for none.
  /// Written under the lock, by the owner.
  package var pollable: Int32
  /// The interrupt descriptor that is in the set; -1 for none. Owner.
  package var interrupt: Int32
  /// The interrupt descriptor was seen readable. Owner.
  package var wasInterrupted: Bool
  /// The descriptor that tells when the wall clock is set; -1 for none. Written once under the lock.
  package var clock: Int32
  /// It has told so. Owner.
  package var clockWasSet: Bool
  /// What the kernel reported and no pass has handled yet; the next one's index. Owner.
  package var events: Buffer<treadle_system_event>
  package var nextEvent: Int

  package init(epoll: Int32) {
    self.epoll = epoll
    registrations = Buffer()
    lastSerial = 0
    alwaysReady = Buffer()
    alwaysReadyCount = Atomic(0)
    mayHaveStale = Atomic(false)
    pollable = -1
    interrupt = -1
    wasInterrupted = false
    clock = -1
    clockWasSet = false
    events = Buffer()
    nextEvent = 0
  }
}

/// What a mode has registered for one descriptor number. All-zero bytes are nothing.
package struct Registration: BitwiseCopyable {
  /// The slot of the membership that watches it; 0 for none.
  package var member: UInt32 = 0
  /// Of the entry in the kernel's set, which reports it; 0 for none: the member is paused, or always ready.
  package var serial: UInt32 = 0
  /// One more than its place among the numbers that are always ready; 0 for none.
  package var always: UInt32 = 0

  package init(member: UInt32 = 0, serial: UInt32 = 0) {
    self.member = member
    self.serial = serial
  }
}

/// What the kernel's set carries for each entry: a number and the serial of its registration. An event whose serial is
/// not the one that is registered is of an entry that was taken out since, or of a stale one.
package struct EpollData: BitwiseCopyable {
  package let bits: UInt64

  @inline(__always)
  package init(bits: UInt64) { self.bits = bits }
  @inline(__always)
  package init(number: Int32, serial: UInt32) { bits = UInt64(serial) << 32 | UInt64(UInt32(bitPattern: number)) }

  @inline(__always)
  package var number: Int32 { Int32(bitPattern: UInt32(truncatingIfNeeded: bits)) }
  @inline(__always)
  package var serial: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }

  // Entries of the loop's own, whose serial is that of no registration.
  package static let wake = EpollData(number: -1, serial: 0)
  package static let timer = EpollData(number: -2, serial: 0)
  package static let interrupt = EpollData(number: -3, serial: 0)
  package static let clock = EpollData(number: -4, serial: 0)
  /// A descriptor of a client's: none has a negative number.
  @inline(__always)
  package var isOfClient: Bool { number >= 0 }
}
