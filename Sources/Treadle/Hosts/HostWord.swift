// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A word of a host's memory by which it makes an end known that threads wait for, as that of a future: a `Completion` there.
package struct HostWord {
  private let completion: UnsafeMutablePointer<Completion>

  @_optimize(size)
  package init(_ word: UnsafeMutablePointer<UInt32>?) throws(Failure) {
    guard let word else { throw Failure(Status.argument, "word", "is NULL") }
    if UInt(bitPattern: word) & 3 != 0 { throw Failure(Status.argument, "word", "is not aligned") }
    assert(MemoryLayout<Completion>.size == MemoryLayout<UInt32>.size)
    completion = UnsafeMutableRawPointer(word).assumingMemoryBound(to: Completion.self)
  }

  package func end() {
    Loop.existing?.state.pointee.answers.note()
    completion.pointee.end()
  }

  /// Until the end, which is to come from this loop. A failure: the timeout, or a signal, after which the host looks and waits
  /// again.
  @_optimize(size)
  package func wait(for loop: Loop, timeout: Int64) throws(Failure) {
    completion.pointee.wait(loop.answers, until: Clock.after(timeout, from: Clock.now()), isRepeated: false)
    if !completion.pointee.isOver {
      throw Failure(Status.timeout, "timeout_ns", "passed, or a signal came, before the end")
    }
  }
}

extension Thread {
  /// The same for the loop of a thread. One that has finished since performs nothing any more, and ends no wait.
  @_optimize(size)
  package func wait(for word: HostWord, timeout: Int64) throws(Failure) {
    let loop = try holdLoop()
    defer { loop.letGo() }
    try word.wait(for: loop, timeout: timeout)
  }
}
