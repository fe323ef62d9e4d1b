// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// The memory of a source, descriptor source, timer or observer, and of each membership beyond an item's first.
///
/// *Loop lock*: the lock of the loop that the membership is in; while it is in none, the item's lock (`ItemLocks`).
struct ItemCell: ~Copyable {
  let reference: Reference
  /// `Item.Trait` bits. Constant while the cell lives.
  let traits: Atomic<UInt8>
  /// `Item.Note` bits. Atomic.
  let notes: Atomic<UInt8>
  /// `Item.State` bits. Written under the loop lock; of an observer, by the owner of the loop that calls it.
  let state: Atomic<UInt8>
  /// Tells memberships of this cell from those before: what queues mention is one of them. Goes around. Written with
  /// `membership` when one begins.
  let joins: Atomic<UInt8>
  /// The slot of the mode that this membership is in; 0 for none. It begins under the item's lock and the loop lock, and
  /// ends under the loop lock; read anywhere.
  let membership: Atomic<UInt32>
  /// Neighbours in the mode's list, or in the timer wheel's slot. Loop lock.
  var previous: UInt32
  var next: UInt32
  /// The plain C callback with `Item.codeMark`, or the item's `Context`, which has the callback then. Changes once at most,
  /// from the one to the other, under the item's lock. Of an alias instead the slots of its primary (low half) and of the
  /// next alias, changed under the item's lock.
  let link: Atomic<UInt>
  /// The client's info, constant while the cell lives. Of an alias instead the slot of the alias before it, changed under the
  /// item's lock.
  var info: UnsafeMutableRawPointer?
}

/// A source's slot.
struct SourceCell: ~Copyable {
  let item: ItemCell
  /// The `SignalTime` of the first signal that has not been performed, or of the last one. Atomic.
  let signalTime: Atomic<UInt64>
}

/// A descriptor source's slot. In an alias it says what that membership watches; the primary's is also what a new
/// membership starts from.
struct DescriptorCell: ~Copyable {
  let item: ItemCell
  /// Loop lock.
  var watched: Watched

  struct Watched: BitwiseCopyable {
    var number: Int32
    /// `Readiness` bits to watch for; 0 while it is paused.
    var events: UInt16
    /// Counts events, so that now and then the kernel is asked whether the registration still stands.
    var strikes: UInt16
  }
}

/// A timer's slot. In an alias it schedules that membership; the primary's date is the timer's.
struct TimerCell: ~Copyable {
  let item: ItemCell
  /// Loop lock.
  var due: Due

  struct Due: BitwiseCopyable {
    var date: Int64
    /// Orders timers of one date by insertion (TMR-11).
    var sequence: UInt32
    /// Where the queue has it: `TimerQueue.Place`.
    var place: UInt32
    /// Its index in the heap of latest dates, of a timer with a tolerance.
    var latest: UInt32
    /// While a thread fires it by hand: the slot of the timer in whose callback it does so; 0 for none. That thread's.
    var firedInside: UInt32 = 0
  }
}

extension Item {
  /// What an item is, all its life.
  enum Trait {
    /// The cell is a further membership of another item.
    static let alias: UInt8 = 1
    /// The order is not 0.
    static let ordered: UInt8 = 2
    /// An observer that is called once, or a timer that fires once.
    static let once: UInt8 = 4
    /// The callback is the context's `main`, not `code`.
    static let indirect: UInt8 = 8
    /// The source has an `equal` callback.
    static let comparable: UInt8 = 16
    /// The runtime reads the descriptor's counter.
    static let acknowledged: UInt8 = 32
  }

  enum Note {
    /// It has, or had, aliases.
    static let aliased: UInt8 = 1
    /// One of them is, or was, in a mode, and not the record of common items.
    static let scattered: UInt8 = 2
    /// The info was given back.
    static let released: UInt8 = 4
    /// Seen by the clean-up of a queue that is going on.
    static let counted: UInt8 = 8
  }

  enum State {
    /// A timer's or an observer's callback runs.
    static let running: UInt8 = 1
    /// The timer's date was set while its callback ran.
    static let rescheduled: UInt8 = 2
    /// The timer has a tolerance.
    static let tolerant: UInt8 = 4
    /// A one-shot observer has been called.
    static let spent: UInt8 = 8
  }
}
