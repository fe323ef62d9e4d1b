// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

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

    /// The name as it was set, whole; empty if none was (THR-13). [any] Since 1.0.
    public var name: String {
      var text = ""
      thread.withName { if let name = $0 { text = String(cString: name) } }
      return text
    }

    /// Sets the name, at any time; the kernel shows as many whole characters of it as fit into 15 bytes (THR-13).
    /// [any]
    /// - Throws: `Failure` for a NUL in the name, for more than 65,535 bytes of UTF-8, or when out of memory.
    ///   Since 1.0.
    public func setName(_ name: String) throws(Failure) {
      if name.utf8.contains(0) { throw Failure(Status.argument, "name", "contains a NUL") }
      let bytes = name.utf8CString
      try bytes.withUnsafeBufferPointer { text throws(Failure) in
        if let start = text.baseAddress { try thread.setName(start) }
      }
    }

    /// The stack's size in bytes, as it was set; 0 for threads of others (THR-13). [any] Since 1.0.
    public var stackSize: Int { thread.stackSize }

    /// Sets the stack's size in bytes for the start: 16,384 to 1 GiB, a multiple of 4,096. What the system itself
    /// needs is added to it (THR-13). [any]
    /// - Throws: `Failure` for any other size, and after the start; the old value stays. Since 1.0.
    public func setStackSize(_ size: Int) throws(Failure) { try thread.setStackSize(size) }

    /// The priority from 0 to 1 as it was set, whether the kernel has it or not; 0.5 by default (THR-13).
    /// [any] Since 1.0.
    public var priority: Double { thread.priority }

    /// Whether the kernel has the priority: false if it refused it, or was not asked yet. One that was never set
    /// counts as applied (THR-13). [any] Since 1.0.
    public var isPriorityApplied: Bool { thread.isPriorityApplied }

    /// Sets the priority, limited to 0 to 1: before the start for any thread, later for the calling thread alone.
    /// With the default policy it sets the nice value (0: 19, 0.5: 0, 1: -20) (THR-13). [any]
    /// - Throws: `Failure` for NaN, and for another thread that was started. Since 1.0.
    public func setPriority(_ priority: Double) throws(Failure) { try thread.setPriority(priority) }

    /// The policy as it was set (THR-13). [any] Since 1.0.
    public var policy: Policy { Policy(rawValue: thread.policy) ?? .default }

    /// Sets the policy for the start. If the system does not permit it, the thread starts with the default one, and
    /// its priority counts as not applied (THR-13). [any]
    /// - Throws: `Failure` after the start. Since 1.0.
    public func setPolicy(_ policy: Policy) throws(Failure) { try thread.setPolicy(policy.rawValue) }

    /// The quality of service as it was set; 0 by default (THR-13). [any] Since 1.0.
    public var qualityOfService: Int32 { thread.qualityOfService }

    /// Sets the quality of service: any number, kept without effect (THR-13). [any]
    /// - Throws: `Failure` after the start. Since 1.0.
    public func setQualityOfService(_ quality: Int32) throws(Failure) { try thread.setQualityOfService(quality) }
  }
#endif
