// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A wait that is in a thread's list, for those who end it: harmless when it has ended already, and its memory is
/// gone.
struct WaitToken {
  /// The slot of the thread that waits; 0: none does.
  var thread: UInt32 = 0
  var serial: UInt64 = 0
}
