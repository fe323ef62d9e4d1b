// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadleSystem

/// A pthread mutex inside another struct's memory. All-zero bytes are an unlocked one.
///
/// Guards configuration, where a section may make a system call; never held while client code runs.
package struct Lock {
  private let mutex: UnsafeMutablePointer<treadle_system_mutex>

  package init(_ mutex: UnsafeMutablePointer<treadle_system_mutex>) { self.mutex = mutex }

  @inline(__always)
  package func lock() { treadle_system_mutex_lock(mutex) }

  @inline(__always)
  package func unlock() { treadle_system_mutex_unlock(mutex) }
}
