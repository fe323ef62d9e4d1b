// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A loop's modes.
extension RunLoop {
  /// The mode of the innermost run; nil outside of runs (RL-6). Any thread. Since 1.0.
  public var currentMode: RunLoopMode? {
    text { treadle_loop_get_current_mode(handle, $0, $1, $2) }.map { RunLoopMode($0) }
  }

  /// Every mode that exists, in no order (RL-7). Any thread. Since 1.0.
  public var modes: [RunLoopMode] {
    let names = bytes { treadle_loop_get_modes(handle, $0, $1, $2) } ?? []
    return names.split(separator: 0).map { RunLoopMode(String(decoding: $0, as: UTF8.self)) }
  }

  /// Puts a mode into the common set, for good (MODE-8). Any thread.
  /// - Returns: false if it is there already.
  /// - Throws: `TreadleError` for the common modes themselves, and when out of memory. Since 1.0.
  @discardableResult
  public func addCommonMode(_ mode: RunLoopMode) throws(TreadleError) -> Bool {
    try check(mode.withName { treadle_loop_add_common_mode(handle, $0) }) == TREADLE_OK
  }

  /// Whether a mode is in the common set (MODE-8). Any thread. Since 1.0.
  public func isCommonMode(_ mode: RunLoopMode) -> Bool { mode.withName { treadle_loop_is_common_mode(handle, $0) } }

  /// The date of the timer that is next in the mode; nil if there is none, or no such mode (TMR-9). Any thread. Since
  /// 1.0.
  public func nextFire(in mode: RunLoopMode = .default) -> RunLoopInstant? {
    var date: Int64 = 0
    _ = mode.withName { treadle_loop_get_next_fire(handle, $0, &date) }
    return date == 0 ? nil : RunLoopInstant(nanoseconds: date)
  }
}
