// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
import TreadleBase

/// What the calls of a descriptor's callback have left. The commonest reason for a loop that never sleeps is a
/// descriptor that is ready again as soon as its callback has returned, since nobody reads from it, or since it is
/// watched for room to write though nothing is to be written.
///
/// The kernel is asked behind every eighth call how much there is to read, or to be sent. Where that and the readiness
/// stay the same for 128 calls, nobody drains the descriptor. If a callback takes something away each time, or all of
/// it, it is not meant, however busy it is.
struct DrainRecord: BitwiseCopyable {
  private var calls: UInt32 = 0
  private var undrained: UInt32 = 0
  private var last = treadle_system_left()

  private static let callsOfLook: UInt32 = 8
  private static let looks: UInt32 = 16
  static var manyCalls: Int64 { Int64(callsOfLook &* looks) }

  /// Another call. Whether the kernel is to be asked.
  mutating func count() -> Bool {
    calls &+= 1
    return calls % DrainRecord.callsOfLook == 0 && undrained < DrainRecord.looks
  }

  /// What the kernel says behind a call. True if this makes it one that nobody drains.
  mutating func note(_ now: treadle_system_left) -> Bool {
    undrained = now.events != 0 && now.events == last.events && now.bytes == last.bytes ? undrained &+ 1 : 0
    last = now
    return undrained == DrainRecord.looks
  }
}

extension Log {
  /// A descriptor's callback has returned.
  static func lookForSpin(_ loop: Loop, _ item: Item) {
    let handle = item.handle.bits
    let isToAsk = withCalls { $0.withDrain(of: handle) { $0.count() } }
    let events = item.watchedEvents
    guard isToAsk == true, item.isValid, events != 0, let mode = loop.currentMode else { return }
    let left = treadle_system_left_ready(item.descriptorNumber(in: mode), UInt32(events))
    if withCalls({ $0.withDrain(of: handle) { $0.note(left) } }) == true { tellSpin(item, mode, left) }
  }
}
