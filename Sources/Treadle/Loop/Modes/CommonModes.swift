// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The two mode names that every loop knows (MODE-2).
enum CommonModes {
  static var defaultName: ModeName { ModeName(treadle_system_default_mode_name()) }
  static var name: ModeName { ModeName(treadle_system_common_modes_name()) }

  /// Whether a name means the common modes. Compared by text, never by pointer (MODE-1).
  static func isCommon(_ mode: ModeName) -> Bool { mode.equals(name.bytes) }
}
