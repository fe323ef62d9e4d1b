// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// What a thread is configured with (THR-13).
extension RunLoopThread {
  /// How the kernel schedules a thread, with the C interface's numbers (THR-13). Since 1.0.
  public enum Policy: UInt32, Sendable {
    /// Time sharing; the priority sets the nice value. Since 1.0.
    case `default` = 0
    /// Real time, first in, first out; the priority selects one of its levels. Since 1.0.
    case fifo = 1
    /// Real time, in turns. Since 1.0.
    case roundRobin = 2
  }

  /// The name as it was set, whole; empty if none was (THR-13). Any thread. Since 1.0.
  public var name: String { text { treadle_thread_get_name(handle, $0, $1, $2) } ?? "" }

  /// Sets the name, at any time; the kernel shows as many whole characters of it as fit into 15 bytes (THR-13).
  /// Any thread.
  /// - Throws: `TreadleError` for a NUL in the name, for more than 65,535 bytes of UTF-8, or when out of memory.
  ///   Since 1.0.
  public func setName(_ name: String) throws(TreadleError) {
    if name.utf8.contains(0) { throw TreadleError(.argument, "name contains a NUL") }
    try check(treadle_thread_set_name(handle, name))
  }

  /// The stack's size in bytes, as it was set; 0 for threads of others (THR-13). Any thread. Since 1.0.
  public var stackSize: Int {
    var size = 0
    _ = treadle_thread_get_stack_size(handle, &size)
    return size
  }

  /// Sets the stack's size in bytes for the start: 16,384 to 1 GiB, a multiple of 4,096. The system's
  /// minimum is added to it (THR-13). Any thread.
  /// - Throws: `TreadleError` for any other size, and after the start; the old value stays. Since 1.0.
  public func setStackSize(_ size: Int) throws(TreadleError) {
    try check(treadle_thread_set_stack_size(handle, max(size, 0)))
  }

  /// The priority from 0 to 1 as it was set, whether the kernel has it or not; 0.5 by default (THR-13).
  /// Any thread. Since 1.0.
  public var priority: Double { prioritySetting.priority }

  /// Whether the kernel has the priority: false if it refused it, or was not asked yet. One that was never set
  /// counts as applied (THR-13). Any thread. Since 1.0.
  public var isPriorityApplied: Bool { prioritySetting.isApplied }

  private var prioritySetting: (priority: Double, isApplied: Bool) {
    var priority = 0.5
    var isApplied: Int32 = 0
    _ = treadle_thread_get_priority(handle, &priority, &isApplied)
    return (priority, isApplied != 0)
  }

  /// Sets the priority, limited to 0 to 1: before the start for any thread, later for the calling thread alone.
  /// With the default policy it sets the nice value (0: 19, 0.5: 0, 1: -20) (THR-13). Any thread.
  /// - Throws: `TreadleError` for NaN, and for another thread that was started. Since 1.0.
  public func setPriority(_ priority: Double) throws(TreadleError) {
    try check(treadle_thread_set_priority(handle, priority))
  }

  /// The policy as it was set (THR-13). Any thread. Since 1.0.
  public var policy: Policy {
    var policy: UInt32 = 0
    _ = treadle_thread_get_policy(handle, &policy)
    return Policy(rawValue: policy) ?? .default
  }

  /// Sets the policy for the start. If the system does not permit it, the thread starts with the default one, and
  /// its priority counts as not applied (THR-13). Any thread.
  /// - Throws: `TreadleError` after the start. Since 1.0.
  public func setPolicy(_ policy: Policy) throws(TreadleError) {
    try check(treadle_thread_set_policy(handle, policy.rawValue))
  }
}
