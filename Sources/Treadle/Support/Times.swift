// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

extension Duration {
  /// Rounded up and limited, so that no timeout is cut short; the largest is for ever.
  var nanoseconds: Int64 {
    // Up to nine seconds in registers.
    if let short = Int64(exactly: attoseconds) {
      let (whole, rest) = short.quotientAndRemainder(dividingBy: 1_000_000_000)
      return rest > 0 ? whole + 1 : whole
    }
    let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Int64(clamping: rest > 0 ? whole + 1 : whole)
  }
}

extension Duration? {
  /// A timeout for the library; nil for ever.
  var limit: Int64 {
    if let self { self.nanoseconds } else { Int64.max }
  }
}

/// A date of the monotonic clock, so long from now; the largest for a delay that reaches beyond.
func date(after delay: Duration) -> Int64 {
  let (sum, overflow) = treadle_time_now().addingReportingOverflow(delay.nanoseconds)
  return overflow ? (delay < .zero ? 0 : Int64.max) : sum
}
