// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// What a client gives an item besides its main callback. Allocated only for items that need any of it,
/// so that a plain source, timer or descriptor costs its slot alone.
///
/// Written before the item is published; later only the aliases, which the item's lock guards, and the
/// timer's part, which the lock of the timer's loop (or the item's, while it has none) guards.
package struct Context {
  package typealias Retain = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  package typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
  package typealias Describe = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<CChar>?, Int) -> Void
  package typealias Equal = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
  package typealias Schedule =
    @convention(c) (OpaquePointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void
  package typealias Joining = @convention(c) (UnsafeMutableRawPointer?, UInt) -> Void
  package typealias GetDescriptor = @convention(c) (UnsafeMutableRawPointer?) -> Int32

  /// The item's plain C callback, for which its cell has no room besides the context.
  var code: UnsafeMutableRawPointer? = nil
  var retain: Retain? = nil
  var release: Release? = nil
  var describe: Describe? = nil
  package var equal: Equal? = nil
  package var hash: UInt64 = 0
  var order: Int64 = 0
  /// What events carry for a host; 0 for everybody else.
  var token: UInt64 = 0
  /// Called with the token when the registration is over, for hosts only.
  var retire: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)? = nil
  var host: UnsafeMutableRawPointer? = nil

  /// In place of the item's `code`.
  package var main = IndirectCallback(object: nil, invoke: nil, drop: nil)
  /// Of an item that is more than its kind: called with the main callback's object, once, when the item has become
  /// invalid and left its modes, or nobody refers to it any more. No lock is held.
  package var ending: IndirectCallback.Drop? = nil
  /// Of an item that is more than its kind: called with the main callback's object, and the `identity` of a loop,
  /// whenever the item has joined a mode of that loop. No lock is held.
  package var joining: Joining? = nil
  package var schedule: Schedule? = nil
  package var cancel: Schedule? = nil
  package var scheduleIndirect = IndirectCallback(object: nil, invoke: nil, drop: nil)
  package var cancelIndirect = IndirectCallback(object: nil, invoke: nil, drop: nil)
  package var getDescriptor: GetDescriptor? = nil

  /// What the client calls the item: his own text until it is made, then a copy behind the context. Constant after
  /// that.
  package var label: UnsafePointer<CChar>? = nil
  /// The first of the item's further memberships (see `Item`), and where each is found by the slot of its mode.
  var firstAlias: UInt32 = 0
  /// Observers: what they want to be told.
  var activities: UInt32 = 0
  /// Which host lives at `host`, until that has the token.
  var hostGeneration: UInt32 = 0
  var aliases = HashIndex()
  /// Timers: 0 for one-shots.
  var interval: Int64 = 0
  var tolerance: Int64 = 0
  /// The date on the wall clock, of timers on that.
  var wallDate: Int64 = 0

  package init() {}

  package init(retain: Retain?, release: Release?, describe: Describe?, order: Int64, main: IndirectCallback? = nil) {
    self.retain = retain
    self.release = release
    self.describe = describe
    self.order = order
    if let main { self.main = main }
  }

  /// Whether nothing in it differs from what an item without a context has.
  var isTrivial: Bool {
    retain == nil && release == nil && describe == nil && equal == nil && order == 0 && retire == nil
      && main.invoke == nil && schedule == nil && cancel == nil && scheduleIndirect.invoke == nil
      && cancelIndirect.invoke == nil && getDescriptor == nil && activities == 0 && interval == 0 && tolerance == 0
      && label == nil
  }

  /// Whether a source's cancel is anybody's.
  var isToldOfCancel: Bool { cancel != nil || cancelIndirect.invoke != nil }

  /// Whether the end of the item's activity calls anybody.
  var isToldOfEnd: Bool { release != nil || retire != nil || ending != nil || isToldOfCancel }

  /// Gives up the routines' references, each once.
  mutating func dropCallbacks() {
    main.dropOnce()
    scheduleIndirect.dropOnce()
    cancelIndirect.dropOnce()
  }
}
