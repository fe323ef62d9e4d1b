// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What a client gives an item besides its main callback. Allocated only for items that need any of it,
/// so that a plain source, timer or descriptor costs its slot alone.
///
/// Written before the item is published; later only `firstAlias`, which the item's lock guards, and the
/// timer's part, which the lock of the timer's loop (or the item's, while it has none) guards.
struct Context {
  typealias Retain = @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
  typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
  typealias Describe = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<CChar>?, Int) -> Void
  typealias Equal = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
  typealias Schedule =
    @convention(c) (OpaquePointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void
  typealias GetDescriptor = @convention(c) (UnsafeMutableRawPointer?) -> Int32

  /// The item's plain C callback, for which its cell has no room besides the context.
  var code: UnsafeMutableRawPointer? = nil
  var retain: Retain? = nil
  var release: Release? = nil
  var describe: Describe? = nil
  var equal: Equal? = nil
  var hash: UInt64 = 0
  var order: Int64 = 0
  /// What events carry for a host; 0 for everybody else.
  var token: UInt64 = 0
  /// Called with the token when the registration is over, for hosts only.
  var retire: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)? = nil
  var host: UnsafeMutableRawPointer? = nil

  /// In place of the item's `code`.
  var main = IndirectCallback(object: nil, invoke: nil, drop: nil)
  var schedule: Schedule? = nil
  var cancel: Schedule? = nil
  var scheduleIndirect = IndirectCallback(object: nil, invoke: nil, drop: nil)
  var cancelIndirect = IndirectCallback(object: nil, invoke: nil, drop: nil)
  var getDescriptor: GetDescriptor? = nil

  /// The first of the item's further memberships (see `Item`).
  var firstAlias: UInt32 = 0
  /// Observers: what they want to be told.
  var activities: UInt32 = 0
  /// Timers: 0 for one-shots.
  var interval: Int64 = 0
  var tolerance: Int64 = 0

  /// Whether nothing in it differs from what an item without a context has.
  var isTrivial: Bool {
    retain == nil && release == nil && describe == nil && equal == nil && order == 0 && retire == nil
      && main.invoke == nil && schedule == nil && cancel == nil && scheduleIndirect.invoke == nil
      && cancelIndirect.invoke == nil && getDescriptor == nil && activities == 0 && interval == 0 && tolerance == 0
  }

  /// Whether a source's cancel is anybody's.
  var isToldOfCancel: Bool { cancel != nil || cancelIndirect.invoke != nil }

  /// Gives up the routines' references.
  func dropCallbacks() {
    main.drop?(main.object)
    scheduleIndirect.drop?(scheduleIndirect.object)
    cancelIndirect.drop?(cancelIndirect.object)
  }
}
