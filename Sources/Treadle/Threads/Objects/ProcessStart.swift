// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The first use of the library in a process, before there is any object.
///
/// The ordinary Swift runtime makes the description of a generic type when code first meets it, under a lock of its own. If
/// another thread forks at that moment the child finds the lock taken for ever; so the core's types are met here. (Embedded
/// Swift has no such descriptions.)
@_cdecl("libtreadle_process_starts")
public func processStarts() {
  #if !hasFeature(Embedded)
    meet(Buffer<UInt32>.self)
    meet(Buffer<UInt64>.self)
    meet(Buffer<Int>.self)
    meet(Buffer<Entry>.self)
    meet(Buffer<Registration>.self)
    meet(Buffer<NotificationEntry>.self)
    meet(Buffer<PoolEntry>.self)
    meet(Buffer<TimerHeap.Entry>.self)
    meet(Buffer<StableSort.Keyed>.self)
    meet(Buffer<treadle_system_event>.self)
  #endif
}

#if !hasFeature(Embedded)
  /// Not to be left out: the type itself is what matters.
  @inline(never)
  @_optimize(none)
  private func meet(_ type: Any.Type) {}
#endif

/// Starting again in the child of a fork (RL-11).
package enum ProcessFork {
  /// False anywhere else.
  package static func startInChild() -> Bool {
    if treadle_system_process().pointee.forked == 0 { return false }
    // Before the runtime starts, since what it starts may use these.
    Pool.forget()
    NotificationList.forget()
    LastResort.forget()
    MultiThreading.endAnnouncement()
    return Runtime.startInChild()
  }
}
