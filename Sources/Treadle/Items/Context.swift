// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// What a client gives an item besides its main callback. Allocated only for items that need any of it,
/// so that a plain source, timer or descriptor costs its slot alone.
///
/// Written before the item is published; later only the aliases, which the item's lock guards, and the
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

  /// The first of the item's further memberships (see `Item`), and where each is found by the slot of its mode.
  var firstAlias: UInt32 = 0
  var aliases = HashIndex()
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

/// What a client may give any item besides its callback, in the types of the C ABI.
package struct ItemOptions {
  var value = Context()

  package init() {}

  package init(
    retain: (@convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?)?,
    release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?,
    describe: (@convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<CChar>?, Int) -> Void)?,
    order: Int64, main: IndirectCallback
  ) {
    value.retain = retain
    value.release = release
    value.describe = describe
    value.order = order
    value.main = main
  }

  /// Whether two contexts mean the same; the hash is asked once, now.
  package mutating func setIdentity(
    equal: (@convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32)?, hash: UInt64
  ) {
    value.equal = equal
    value.hash = hash
  }

  package mutating func setSchedule(
    schedule: (@convention(c) (OpaquePointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void)?,
    indirect: IndirectCallback
  ) {
    value.schedule = schedule
    value.scheduleIndirect = indirect
  }

  package mutating func setCancel(
    cancel: (@convention(c) (OpaquePointer?, OpaquePointer?, UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void)?,
    indirect: IndirectCallback
  ) {
    value.cancel = cancel
    value.cancelIndirect = indirect
  }

  package mutating func setGetDescriptor(_ get: (@convention(c) (UnsafeMutableRawPointer?) -> Int32)?) {
    value.getDescriptor = get
  }
}

/// A callback that is one plain C function with a pointer bound to it, and so needs no event to be called. Constant.
package struct DirectCall {
  package typealias Code = @convention(c) () -> Void

  /// What the function takes before its pointer: the types of the items' plain callbacks.
  package enum Form: UInt8 {
    case nothing
    case subject
    case subjectAndValue
  }

  let code: Code
  let info: UnsafeMutableRawPointer?
  let form: Form

  package init(_ code: @escaping Code, info: UnsafeMutableRawPointer?, form: Form) {
    self.code = code
    self.info = info
    self.form = form
  }

  /// Nothing of this is looked at after the function has begun: it may give its routine up.
  @inline(__always)
  func perform(subject: UnsafeMutableRawPointer?, value: UInt32) {
    switch form {
    case .nothing:
      typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void
      unsafeBitCast(code, to: Function.self)(info)
    case .subject:
      typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
      unsafeBitCast(code, to: Function.self)(subject, info)
    case .subjectAndValue:
      typealias Function = @convention(c) (UnsafeMutableRawPointer?, UInt32, UnsafeMutableRawPointer?) -> Void
      unsafeBitCast(code, to: Function.self)(subject, value, info)
    }
  }
}
