// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// An argument of a routine that the event supplies.
struct SuppliedArgument: BitwiseCopyable {
  let source: ArgumentSource
  /// Where it lies in the frame.
  let offset: Int
  let size: Int
}
