// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
import TreadleBase

/// What an invocation consists of, in one block with its frame, its room for the result and its buffers.
struct InvocationBody: ~Copyable {
  typealias Destroy = Destroying.Function

  /// Guards what says so. Never held while client code runs.
  let mutex: Mutex
  let signature: Signature
  let code: DirectShape.Code
  let destroy: Destroy?
  let info: UnsafeMutableRawPointer?
  /// The arguments as they are passed. Lock; while a call is on its way, the function's.
  let frame: UnsafeMutableRawPointer
  /// What the function returned. Written by the call, read under the lock when it is over.
  let result: UnsafeMutableRawPointer
  /// One for each argument. Lock; while a call is on its way, the function's.
  let buffers: UnsafeMutablePointer<InvocationBuffer>
  /// The call that is on its way, with a reference: until it is over, and who waited for it has taken what it gave
  /// back. Lock.
  var call: CarriedCall?
  /// Its scope is closed: no other call begins. Lock.
  var isEnded = false
  /// What the last call that is over came to. Lock.
  var phase: UInt32
  /// errno when the function had returned. As `result`.
  var errno: Int32
}
