// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

#if !hasFeature(Embedded)

  /// The ordinary Swift runtime makes the description of a generic type when code first meets it, under a lock of its
  /// own. If another thread forks at that moment the child finds the lock taken for ever; so the core's
  /// types are met when it starts. (Embedded Swift has no such descriptions.)
  enum Metatypes {
    static func prepare() {
      meet(Buffer<UInt32>.self)
      meet(Buffer<UInt64>.self)
      meet(Buffer<BlockEntry>.self)
      meet(Buffer<QueuedSignal>.self)
      meet(Buffer<NotificationEntry>.self)
      meet(Buffer<PoolEntry>.self)
      meet(Buffer<Int>.self)
      meet(Buffer<TimerHeap.Entry>.self)
      meet(Buffer<StableSort.Keyed>.self)
      meet(Buffer<ObserverSnapshot.Entry>.self)
      meet(Buffer<treadle_system_event>.self)
    }

    /// Not to be left out: the type itself is what matters.
    @inline(never)
    @_optimize(none)
    private static func meet(_ type: Any.Type) {}
  }

#endif
