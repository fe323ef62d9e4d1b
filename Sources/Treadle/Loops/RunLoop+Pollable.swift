// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

extension RunLoop {
  /// Opens a descriptor by which another loop waits for this one, in place of a run: readable whenever a run of the mode would not
  /// sleep, or would be woken, by a timer, too (ABI-9). The other loop then makes passes on this thread, as long as it is
  /// readable: `run(in: mode, for: .zero, whenEmpty: true)`. It may be readable for nothing. For Foundation's loop there is
  /// `serve(inside:)` in `TreadleFoundation`. On the loop's own thread.
  /// - Parameter mode: made if there is none; not the common modes.
  /// - Returns: the caller's, to close when it waits no more; never read from it. Each call opens another one for the same. After
  ///   the loop's thread has ended it is readable never again.
  /// - Throws: `TreadleError` on another thread; of the code `.argument` for the common modes; `.system` when the kernel refuses a
  ///   descriptor; `.noMemory`. Since 1.0.
  public func openPollable(in mode: RunLoopMode = .default) throws(TreadleError) -> Int32 {
    var descriptor: Int32 = -1
    try check(mode.withName { treadle_loop_open_pollable(handle, $0, &descriptor) })
    return descriptor
  }
}
