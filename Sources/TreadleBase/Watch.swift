// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Whether somebody debugs, by the environment or with a log function of his own. The word lies beside the one that
/// tells of a shutdown, which every pass looks at anyway.
package enum Watch {
  /// Callouts are timed.
  @inline(__always)
  package static var isTiming: Bool { treadle_system_watched() & UInt32(TREADLE_SYSTEM_TIMES) != 0 }
  /// Somebody debugs, or a trace is recorded.
  @inline(__always)
  package static var isOn: Bool { treadle_system_watched() != 0 }
  /// Somebody debugs, a trace is recorded, or a probe has a listener: passes, sleeps and callouts go the way on which
  /// that is looked at.
  @inline(__always)
  package static var isObserved: Bool { treadle_system_watched() | UInt32(treadle_system_listener_count()) != 0 }
  /// A probe has a listener (`CTreadleProbes.h`).
  @inline(__always)
  package static var isListened: Bool { treadle_system_listener_count() != 0 }
  /// Somebody debugs, which a trace alone is not.
  @inline(__always)
  package static var isDebugging: Bool { treadle_system_watched() & ~UInt32(TREADLE_SYSTEM_TRACES) != 0 }
  /// A trace is recorded.
  @inline(__always)
  package static var isTracing: Bool { treadle_system_watched() & UInt32(TREADLE_SYSTEM_TRACES) != 0 }
  /// There is a watchdog.
  @inline(__always)
  package static var isGuarded: Bool { treadle_system_watched() & UInt32(TREADLE_SYSTEM_GUARDS) != 0 }
  /// Messages are written.
  @inline(__always)
  package static var isTelling: Bool { treadle_system_watched() & UInt32(TREADLE_SYSTEM_TELLS) != 0 }
}
