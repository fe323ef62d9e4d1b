// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import TreadleBase

/// The memory of a host language that has registered itself. Never freed.
struct HostState: ~Copyable {
  let reference: Reference
  let touched: Atomic<UInt64>
  /// Constant: which of the process's hosts it is, and its functions.
  var slot: UInt32
  var dispatch: Host.Dispatch?
  var enter: Host.ThreadHook?
  var exit: Host.ThreadHook?
  var user: UnsafeMutableRawPointer?
  /// 1: no event starts any more.
  let closed: Atomic<UInt32>
  /// How many calls into the host run now, on all threads.
  let inFlight: Atomic<UInt32>
  let dropped: Atomic<UInt64>
  /// Guards `retired`.
  let gate: Gate
  var retired: Buffer<UInt64>
  /// Registrations whose tokens are not retired yet: `retired` has room for all of them. Gate.
  var registrations: Int
  /// `retired.count`, where the host may look without calling.
  let retiredCount: Atomic<UInt64>
}
