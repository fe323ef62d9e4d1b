// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors


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
