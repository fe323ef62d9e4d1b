// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization

/// Waiting a little for a partner before one sleeps. To wake a thread that sleeps on another processor takes twenty
/// times as long as most callbacks, so a loop that was just called from another processor, and a thread that waits for
/// the answer of a loop on another processor, look for what they wait for a few microseconds long.
///
/// They do so only if the partner last acted on another processor: one on this processor could not run meanwhile. A
/// wait in vain halves the next one, down to none; a partner who comes soon after the sleep began brings back the
/// longest. Soon is longer than what two threads sleep that both have to be woken each time: otherwise one that has
/// lost its processor for a moment would leave both asleep for good, each too late for the other's wait.
///
/// All of it is a guess: nothing depends on the order in which others see it.
package struct AdaptiveSpin: ~Copyable {
  /// 1 + the processor that the partner last acted on; 0: none, or seen. Atomic.
  private let partner: Atomic<UInt32>
  /// How long the next wait may be, in nanoseconds; 0: the longest, negative: none. Atomic.
  private let budget: Atomic<Int32>

  // Nanoseconds.
  private static let longest: Int32 = 20_000
  private static let shortest: Int32 = 1_000
  private static let shortSleep: Int64 = 250_000

  package func reset() {
    partner.store(0, ordering: .relaxed)
    budget.store(0, ordering: .relaxed)
  }

  /// The partner acts, on the calling thread.
  @inline(__always)
  package func note() { note(AdaptiveSpin.processor) }

  /// The partner is another process, and acts on a processor that it says itself: 1 + its number. What is not true
  /// costs a wait in vain, like a partner that is late.
  @inline(__always)
  package func note(_ processor: UInt32) {
    if partner.load(ordering: .relaxed) != processor { partner.store(processor, ordering: .relaxed) }
  }

  /// What a partner tells others (`note`).
  @inline(__always)
  package static var processor: UInt32 { UInt32(truncatingIfNeeded: treadle_system_processor() &+ 1) }

  /// Whether a wait for the partner may pay.
  package var mayPay: Bool { isElsewhere && budget.load(ordering: .relaxed) >= 0 }

  /// The partner's last act does not count any more. False if there was none to count.
  @inline(__always)
  package func takeNote() -> Bool {
    let last = partner.load(ordering: .relaxed)
    if last == 0 { return false }
    partner.store(0, ordering: .relaxed)
    return last != AdaptiveSpin.processor
  }

  @inline(__always)
  package var isElsewhere: Bool {
    let last = partner.load(ordering: .relaxed)
    return last != 0 && last != AdaptiveSpin.processor
  }

  /// Waits for a partner who is elsewhere, until a time at most. True as soon as it is there.
  @inline(__always)
  package func spin(limit: Int64, _ isThere: () -> Bool) -> Bool {
    let budget = self.budget.load(ordering: .relaxed)
    if budget < 0 { return false }
    let spin = budget == 0 ? AdaptiveSpin.longest : budget
    let until = min(Clock.after(Int64(spin), from: Clock.now()), limit)
    repeat {
      for _ in 0..<16 {
        if isThere() {
          self.budget.store(min(spin &* 2, AdaptiveSpin.longest), ordering: .relaxed)
          return true
        }
        treadle_system_pause()
      }
    } while Clock.now() < until
    self.budget.store(spin / 2 < AdaptiveSpin.shortest ? -1 : spin / 2, ordering: .relaxed)
    return false
  }

  /// When a sleep begins that may tell whether waits are to be longer again; 0 if they are not shorter.
  @inline(__always)
  package func sleepBegins() -> Int64 { budget.load(ordering: .relaxed) == 0 ? 0 : Clock.now() }

  /// A sleep ended after a time in which a partner that had to be woken itself may have come: the next wait is as long
  /// as possible.
  @inline(__always)
  package func sleepEnded(since start: Int64) {
    if start != 0 && Clock.now() &- start < AdaptiveSpin.shortSleep { budget.store(0, ordering: .relaxed) }
  }
}
