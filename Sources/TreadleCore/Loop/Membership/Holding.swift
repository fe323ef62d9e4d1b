// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// References that are held while a client may be called: by schedule and cancel, by the functions that name a
/// descriptor or compare sources. Where the client ends the thread, nothing behind the call is executed, and the
/// reference is dropped by a record on the stack (`ObjectCall`). Otherwise the caller drops it as usual.
extension Item {
  @inline(__always)
  package func droppedIfThreadEnds<Result, Refusal: Error>(_ body: () throws(Refusal) -> Result) throws(Refusal)
    -> Result
  {
    try ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: Item.self).pointee.drop() }, body)
  }
}

extension Loop {
  @inline(__always)
  package func droppedIfThreadEnds<Result, Refusal: Error>(_ body: () throws(Refusal) -> Result) throws(Refusal)
    -> Result
  {
    try ObjectCall.recorded(0, holding: self, { $0.assumingMemoryBound(to: Loop.self).pointee.drop() }, body)
  }

  /// The same of a mode that `holdMode` has returned.
  @inline(__always)
  func droppingIfThreadEnds<Result, Refusal: Error>(_ mode: Mode, _ body: () throws(Refusal) -> Result) throws(Refusal)
    -> Result
  {
    if mode.address == state.defaultMode { return try body() }
    return try ObjectCall.recorded(0, holding: mode, { $0.assumingMemoryBound(to: Mode.self).pointee.drop() }, body)
  }
}
