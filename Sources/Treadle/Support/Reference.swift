// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// One reference to an object of the C interface, given back with the owner's end. The handle is a number that tells
/// stale entries, so that a call with it after that is refused, never served by another object.
struct Reference: ~Copyable, @unchecked Sendable {
  let handle: OpaquePointer

  /// Takes over a reference that the caller was given.
  init(owning handle: OpaquePointer) { self.handle = handle }

  /// Adds a reference to what the caller borrows.
  init(retaining handle: OpaquePointer) throws(TreadleError) {
    try check(treadle_retain(UnsafeMutableRawPointer(handle)))
    self.handle = handle
  }

  /// In the child of a fork there is nothing to give back, and the call says so (RL-11).
  deinit { _ = treadle_release(UnsafeMutableRawPointer(handle)) }

  var object: UnsafeMutableRawPointer { UnsafeMutableRawPointer(handle) }
}

/// Adds a reference for a caller that cannot throw. That an object has as many as it can have is reported to the last
/// resort.
func isRetained(_ object: UnsafeMutableRawPointer) -> Bool {
  let status = treadle_retain(object)
  if status == TREADLE_E_RANGE { RunLoopLastResort.report(TreadleError(status)) }
  return status >= 0
}

/// What a call that makes something stores; the status and the handle tell apart whether there is one.
@inline(__always)
func made(_ make: (UnsafeMutablePointer<OpaquePointer?>) -> treadle_status) throws(TreadleError) -> OpaquePointer {
  var handle: OpaquePointer?
  try check(withUnsafeMutablePointer(to: &handle) { make($0) })
  return try checkHandle(handle)
}
