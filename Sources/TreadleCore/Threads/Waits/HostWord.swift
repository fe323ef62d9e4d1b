// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A word of a host's memory by which it makes an end known that threads wait for, as that of a future: a `Completion`
/// there.
package struct HostWord {
  private let completion: UnsafeMutablePointer<Completion>
  /// A host that waits for longer does not look again soon.
  private static let longestLook: Int64 = 1_000_000_000

  package init(_ word: UnsafeMutablePointer<UInt32>?, _ subject: StaticString = "word") throws(Failure) {
    guard let word else { throw Failure(Status.argument, subject, "is NULL") }
    if UInt(bitPattern: word) & 3 != 0 { throw Failure(Status.argument, subject, "is not aligned") }
    assert(MemoryLayout<Completion>.size == MemoryLayout<UInt32>.size)
    completion = UnsafeMutableRawPointer(word).assumingMemoryBound(to: Completion.self)
  }

  package func end() {
    Loop.existing?.state.answers.note()
    completion.pointee.end()
  }

  /// Until the end, which is to come from this loop. A failure: the timeout, or a signal, after which the host looks
  /// and waits again; `Status.deadlock` if the loop's thread waits for the calling one.
  package func wait(for loop: Loop, timeout: Int64) throws(Failure) {
    if completion.pointee.isOver { return }
    // What ends it may be queued for the call mode: the host knows.
    guard let status = wait(for: loop, isAdmitted: true, timeout: timeout, { Status.ok }) else {
      throw Failure(Status.deadlock, "thread", "waits for the calling one")
    }
    if status != Status.ok { throw Failure(status, "timeout_ns", "passed, or a signal arrived, before the end") }
  }

  /// Has `queue` queue what ends the word, and waits as above; the status, or that of `queue` if that fails. Nil: the
  /// wait would never end, and nothing is queued.
  func wait(for loop: Loop, isAdmitted: Bool, timeout: Int64, _ queue: () -> Int32) -> Int32? {
    var edge = WaitEdge(for: loop, ending: completion, isAdmitted: isAdmitted, isLook: timeout <= HostWord.longestLook)
    return withUnsafeMutablePointer(to: &edge) { edge in
      var token = WaitToken()
      if timeout > 0, let caller = try? Thread.current() {
        do throws(Failure) { token = try WaitGraph.begin(edge, of: caller) } catch { return nil }
      }
      defer { WaitGraph.end(token) }
      let status = queue()
      if status != Status.ok { return status }
      if timeout > 0 {
        completion.pointee.wait(loop.answers, until: Clock.after(timeout, from: Clock.now()), isRepeated: false)
      }
      return completion.pointee.isOver ? Status.ok : Status.timeout
    }
  }
}
