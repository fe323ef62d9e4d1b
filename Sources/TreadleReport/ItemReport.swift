// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
package import TreadleBase

/// An item in words. The caller holds it, and no lock.
extension Item {
  /// All of it: a line, with what the client's describe adds, then one for each mode that has it.
  package func report(_ text: inout FixedText) throws(Failure) {
    reportLine(&text, in: nil)
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
      guard let base = room.baseAddress, describeInfo(base, 256) else { return }
      base[255] = 0
      text.append(", ")
      text.append(base)
    }
    var modes = try HeldModes(of: self)
    defer { modes.free() }
    modes.forEach { mode in
      text.append((mode.isRecord ? "\n  recorded for the common modes" : "\n  in mode ") as StaticString)
      if !mode.isRecord, let name = mode.name { text.append(quoted: name) }
      text.append(" of the run loop of thread ")
      text.append(Int64(mode.loop?.threadID ?? 0))
    }
  }

  /// Its kind, label and handle.
  func reportName(_ text: inout FixedText) {
    text.append(kind.name)
    text.append(" ")
    if let label {
      text.append(quoted: label)
      text.append(" ")
    }
    text.append(handle: handle)
  }

  /// One line of it, as a member of a mode.
  func reportLine(_ text: inout FixedText, in mode: Mode?) {
    reportName(&text)
    text.append((isValid ? ", valid" : ", invalid") as StaticString)
    text.append(", order ")
    text.append(order)
    switch kind {
    case .source: text.append((isSignalled ? ", signalled" : ", not signalled") as StaticString)
    case .descriptor: reportWatched(&text, mode.map { descriptorNumber(in: $0) } ?? watchedNumber)
    case .port: reportMessages(&text)
    case .timer: reportDates(&text)
    default: reportActivities(&text)
    }
    if let calls = Watch.isTiming ? Log.withCalls({ $0.record(of: handle.bits) }) : nil {
      text.append(", called ")
      text.append(Int64(truncatingIfNeeded: calls.count))
      text.append(" times for ")
      text.append(nanoseconds: calls.duration)
    }
  }

  private func reportWatched(_ text: inout FixedText, _ number: Int32) {
    let words: (StaticString, StaticString, StaticString, StaticString) = (
      ", paused", ", readable", ", writable", ", readable or writable"
    )
    text.append(", fd ")
    text.append(Int64(number))
    switch watchedEvents {
    case 0: text.append(words.0)
    case Readiness.readable: text.append(words.1)
    case Readiness.writable: text.append(words.2)
    default: text.append(words.3)
    }
  }

  private func reportMessages(_ text: inout FixedText) {
    text.append(", ")
    text.append(Int64(messageCount))
    text.append(" of ")
    text.append(Int64(messageCapacity))
    text.append(" messages")
  }

  private func reportDates(_ text: inout FixedText) {
    let date = nextFire()
    if isValid && date == 0 {
      text.append(", idle")
    } else if isValid {
      text.append(", due in ")
      text.append(nanoseconds: Clock.after(0 &- max(isOnWallClock ? Clock.wall() : Clock.now(), 0), from: date))
      if isOnWallClock { text.append(" by the wall clock") }
    }
    if interval > 0 {
      text.append(", every ")
      text.append(nanoseconds: interval)
    }
    let tolerance = currentTolerance()
    if tolerance > 0 {
      text.append(", tolerance ")
      text.append(nanoseconds: tolerance)
    }
    if DelayedRequest.isTimer(self) { text.append(", of a delayed request") }
  }

  private func reportActivities(_ text: inout FixedText) {
    text.append(", activities ")
    text.append(Int64(activities))
    if !repeats { text.append(", once") }
  }
}
