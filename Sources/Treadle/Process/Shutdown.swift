// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// The end of all loops (THR-21): one flag that every pass looks at before each callout, and every start, perform and run
/// before it begins.
package enum Shutdown {
  package static let failure = Failure(Status.closed, "process", "was shut down")
}
