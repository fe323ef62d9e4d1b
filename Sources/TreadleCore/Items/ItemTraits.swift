// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

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
    /// The timer fires once, and ends with that.
    static let ends: UInt8 = 64
    /// The timer's dates are those of the wall clock.
    static let wall: UInt8 = 128
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
    /// It was created while messages are written, and was in no mode and called by nobody since.
    static let unused: UInt8 = 16
  }

  enum State {
    /// A timer's or an observer's callback runs.
    static let running: UInt8 = 1
    /// The timer's date was set while its callback ran.
    static let rescheduled: UInt8 = 2
    /// The timer has a tolerance, or is on the wall clock: it does not lie in the wheel.
    static let tolerant: UInt8 = 4
    /// A one-shot observer has been called.
    static let spent: UInt8 = 8
    /// The timer has no date.
    static let idle: UInt8 = 16
  }
}
