// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The end of all loops (THR-21): one flag that every pass looks at before each callout, and every start, perform and
/// run before it begins.
package enum Shutdown {
  package static let failure = Failure(Status.closed, "process", "was shut down")
}

/// Calling a client's function outside of any run: a schedule or cancel, a notification. Counted, so that a
/// shutdown can wait for the last; those of runs are counted by the runs themselves.
///
/// Nothing is put on the heap here: it would be lost where the client ends its thread, and without memory Swift would
/// trap. So the client's function is given with its arguments as words, or work around it as a C function with its
/// state; never as a closure, whose context would have to outlive the call as far as Swift knows.
package enum ClientCall {
  /// The word of a function with at most four integers or pointers. Nil, with nothing called, after a shutdown.
  @inline(__always)
  package static func during<Function>(
    _ code: Function, _ a: UnsafeRawPointer?, _ b: UnsafeRawPointer? = nil, _ c: UnsafeRawPointer? = nil,
    _ d: UnsafeRawPointer? = nil
  ) -> UInt? {
    var result: UInt?
    _ = counted { result = guarded(code, a, b, c, d) }
    return result
  }

  /// Work that calls a client. False, with `body` not called, after a shutdown.
  package static func during<Value>(_ value: inout Value, _ body: @convention(c) (UnsafeMutableRawPointer?) -> Void)
    -> Bool
  {
    counted { withUnsafeMutablePointer(to: &value) { treadle_system_call_clients(body, $0) } }
  }

  @inline(__always)
  private static func counted(_ call: () -> Void) -> Bool {
    assert(LockOrder.isClear, "no lock is held while client code runs")
    let isOpen = begin()
    if isOpen { call() }
    end()
    return isOpen
  }

  /// Calls a client's function that is not counted: no exception leaves it (THR-19). `Function` is a C function's type.
  @inline(__always)
  package static func guarded<Function>(
    _ code: Function, _ a: UnsafeRawPointer?, _ b: UnsafeRawPointer? = nil, _ c: UnsafeRawPointer? = nil,
    _ d: UnsafeRawPointer? = nil
  ) -> UInt {
    treadle_system_call_client(
      unsafeBitCast(code, to: UnsafeMutableRawPointer.self), UInt(bitPattern: a), UInt(bitPattern: b),
      UInt(bitPattern: c),
      UInt(bitPattern: d))
  }

  /// A status, or another number of 32 bits, that a function returns.
  @inline(__always)
  package static func status<Function>(
    _ code: Function, _ a: UnsafeRawPointer?, _ b: UnsafeRawPointer? = nil, _ c: UnsafeRawPointer? = nil,
    _ d: UnsafeRawPointer? = nil
  ) -> Int32 {
    Int32(truncatingIfNeeded: guarded(code, a, b, c, d))
  }

  /// Gives back what a client's function came with.
  @inline(__always)
  package static func giveBack(
    _ release: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, _ info: UnsafeMutableRawPointer?
  ) {
    if let release { _ = guarded(release, info) }
  }

  /// Work that calls a client, not counted.
  package static func guarded<Value>(_ value: inout Value, _ body: @convention(c) (UnsafeMutableRawPointer?) -> Void) {
    withUnsafeMutablePointer(to: &value) { treadle_system_call_clients(body, $0) }
  }

  /// False after a shutdown: the client must not be called. Ended by `end` all the same.
  package static func begin() -> Bool {
    _ = treadle_system_count_call(1)
    treadle_system_thread().pointee.calls &+= 1
    // In order by the count.
    return !treadle_system_is_closed()
  }

  package static func end() { end(1) }

  /// The thread has ended inside of those that it had begun.
  package static func endAll() {
    let count = treadle_system_thread().pointee.calls
    if count != 0 { end(count) }
  }

  private static func end(_ count: UInt32) {
    treadle_system_thread().pointee.calls &-= count
    _ = treadle_system_count_call(0 &- count)
    if treadle_system_is_closed() { Rest.announce() }
  }

  /// How many run now on other threads than this one.
  package static var countElsewhere: UInt32 { treadle_system_count_call(0) &- treadle_system_thread().pointee.calls }
}
