// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Says what holds of constants, such as the sizes of types. The compiler of the shipped library knows them: where it
/// holds, nothing is left of this, else a call of a function that is defined nowhere, and the library is not linked
/// (`scripts/check-rooms` shows both). Builds that do not fold constants assert it while they run.
@inline(__always)
package func checkInBuild(_ holds: Bool) {
  assert(holds, "a constant is not what other code takes it for")
  #if hasFeature(Embedded)
    if !holds && !_isDebugAssertConfiguration() { libtreadle_does_not_hold_in_this_build() }
  #endif
}
