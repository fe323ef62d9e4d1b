// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  import CTreadleSystem

  /// The life of the process in which an object was made: the child of a fork begins another one, where the
  /// objects of its parent are not its own to release (RL-11). Made after the object, which starts the runtime.
  struct ProcessLife: Sendable {
    private let tag = treadle_system_tag()

    var goesOn: Bool { tag != 0 && tag == treadle_system_tag() }
  }
#endif
