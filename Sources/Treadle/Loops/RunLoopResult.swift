// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Why a run returned, with CFRunLoop's numbers (RUN-4). Since 1.0.
public enum RunLoopResult: Int32, Sendable {
  /// The mode has nothing to wait for.
  case finished = 1
  /// Somebody stopped the run.
  case stopped = 2
  /// The timeout passed.
  case timedOut = 3
  /// A source was handled, and the caller asked to return then.
  case handledSource = 4
}
