// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import Synchronization

/// The memory of a source, descriptor source, timer or observer, and of each membership beyond an item's first.
///
/// *Loop lock*: the lock of the loop that the membership is in; while it is in none, the item's lock and a claim
/// (`Item+Memberships`).
package struct ItemCell: ~Copyable {
  package let reference: Reference
  /// `Item.Trait` bits. Constant while the cell lives.
  package let traits: Atomic<UInt8>
  /// `Item.Note` bits. Atomic.
  package let notes: Atomic<UInt8>
  /// `Item.State` bits. Written under the loop lock; of an observer, by the owner of the loop that calls it.
  package let state: Atomic<UInt8>
  /// Tells memberships of this cell from those before: what queues mention is one of them. Goes around. Written with
  /// `membership` when one begins.
  package let joins: Atomic<UInt8>
  /// The slot of the mode that this membership is in; 0 for none. It begins and ends under the loop lock; of an alias,
  /// under the item's lock too. Read anywhere.
  package let membership: Atomic<UInt32>
  /// Neighbours in the mode's list, or in the timer wheel's slot. Loop lock.
  package var previous: UInt32
  package var next: UInt32
  /// The plain C callback with `Item.codeMark`, or the item's `Context`, which has the callback then. Changes once at
  /// most, from the one to the other, under the item's lock. Of an alias instead the slots of its primary (low half)
  /// and of the next alias, changed under the item's lock.
  package let link: Atomic<UInt>
  /// The client's info, constant while the cell lives. Of an alias instead the slot of the alias before it, changed
  /// under the item's lock.
  package var info: UnsafeMutableRawPointer?
}

/// A source's slot.
package struct SourceCell: ~Copyable {
  package let item: ItemCell
  /// The `SignalTime` of the first signal that has not been performed, or of the last one. Atomic.
  package let signalTime: Atomic<UInt64>
}

/// A descriptor source's slot. In an alias it says what that membership watches; the primary's is also what a new
/// membership starts from.
package struct DescriptorCell: ~Copyable {
  package let item: ItemCell
  /// Loop lock.
  package var watched: Watched

  package struct Watched: BitwiseCopyable {
    package var number: Int32
    /// `Readiness` bits to watch for; 0 while it is paused.
    package var events: UInt16
    /// Counts events, so that now and then the kernel is asked whether the registration still stands.
    package var strikes: UInt16

    @inline(__always)
    package init(number: Int32, events: UInt16, strikes: UInt16) {
      self.number = number
      self.events = events
      self.strikes = strikes
    }
  }
}

/// A timer's slot. In an alias it schedules that membership; the primary's date is the timer's.
package struct TimerCell: ~Copyable {
  package let item: ItemCell
  /// Loop lock.
  package var due: Due

  package struct Due: BitwiseCopyable {
    package var date: Int64
    /// Orders timers of one date by insertion (TMR-11).
    package var sequence: UInt32
    /// Where the queue has it: `Place`.
    package var place: UInt32
    /// Its index in the heap of latest dates, of a timer with a tolerance.
    package var latest: UInt32
    /// While a thread fires it by hand: the slot of the timer in whose callback it does so; 0 for none. That thread's.
    package var firedInside: UInt32 = 0

    /// Of one that lies nowhere.
    @inline(__always)
    package init(date: Int64) {
      self.date = date
      sequence = 0
      place = Place.none
      latest = 0
    }
  }

  /// `Due.place`: where a membership lies.
  package enum Place {
    /// Nowhere: collected to be fired, being fired by its loop, or in no mode.
    package static let none: UInt32 = 0
    /// Nowhere, for want of memory; tried again later.
    package static let aside: UInt32 = 1
    /// In the mode's list of timers instead: its callback runs, not for this membership.
    package static let resting: UInt32 = 2
    /// There too: it has no date, and is not counted as content.
    package static let idle: UInt32 = 3
    /// + 64 * level + index: in a slot of the wheel.
    package static let wheel: UInt32 = 0x1000_0000
    /// + its index: in the heap of those that came to the wheel's current slot.
    package static let near: UInt32 = 0x4000_0000
    /// In the run of the wheel's current slot.
    package static let run: UInt32 = 0x7FFF_FFFF
    /// + its index: in the heap of dates of those with a tolerance, or on the wall clock.
    package static let tolerant: UInt32 = 0x8000_0000
  }
}

/// A membership of a timer, as its queue sees it: a cell of the timers' slab.
package struct TimerMember {
  package let slot: UInt32
  package let address: UnsafeMutablePointer<ItemCell>
  /// What the handle leads to.
  @inline(__always)
  package var cell: ItemCell {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  @inline(__always)
  package init(slot: UInt32, address: UnsafeMutablePointer<ItemCell>) {
    self.slot = slot
    self.address = address
  }

  /// Nil for slot 0, which means none.
  @inline(__always)
  init?(slot: UInt32) {
    guard slot != 0, let memory = Slab(.timer).memory(slot) else { return nil }
    self.init(slot: slot, address: memory.assumingMemoryBound(to: ItemCell.self))
  }

  @inline(__always)
  var due: TimerCell.Due {
    unsafeAddress { UnsafePointer(dueAddress) }
    nonmutating unsafeMutableAddress { dueAddress }
  }
  @inline(__always)
  package var dueAddress: UnsafeMutablePointer<TimerCell.Due> {
    let timer = UnsafeMutableRawPointer(address).assumingMemoryBound(to: TimerCell.self)
    return withUnsafeMutablePointer(to: &timer.pointee.due) { $0 }
  }

  @inline(__always)
  func prefetchForWriting() { treadle_system_prefetch_for_writing(UnsafeMutableRawPointer(address)) }
}
