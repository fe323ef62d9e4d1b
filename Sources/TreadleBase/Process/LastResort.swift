// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Errors that nobody caught (THR-19): one handler for the process, and what happens without one.
package enum LastResort {
  package typealias Plain =
    @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Bool

  private static var lock: UnsafeMutablePointer<Mutex> { Mutex.at(treadle_system_last_resort_lock()) }
  /// The handler, in static memory; guarded by the lock. One without a function stands for the default.
  private static var current: UnsafeMutablePointer<UnsafeMutablePointer<Handler>?> {
    treadle_system_last_resort_handler().assumingMemoryBound(to: UnsafeMutablePointer<Handler>?.self)
  }

  /// Puts a handler, or with nil the default, in place of the one before, which goes when no call of it runs.
  /// Takes the new one over on success only.
  package static func set(_ handler: Handler?) throws(Failure) {
    try Runtime.start()
    var new: UnsafeMutablePointer<Handler>?
    if let handler {
      new = handler.allocated()
      if new == nil { throw Failure.noMemory("handler") }
    }
    lock.pointee.lock(.process)
    let old = current.pointee
    current.pointee = new
    let isLast = old?.pointee.endUse() ?? false
    lock.pointee.unlock(.process)
    if let old, isLast { Handler.free(old) }
  }

  /// Whether there is a handler, and not the default.
  package static var isSet: Bool {
    lock.pointee.lock(.process)
    defer { lock.pointee.unlock(.process) }
    return current.pointee?.pointee.code != nil
  }

  /// Asks the handler; true if it has dealt with the error.
  package static func report(
    _ thread: Handle, _ kind: UnsafePointer<CChar>, _ message: UnsafePointer<CChar>
  ) -> Bool {
    let tag = treadle_system_tag()
    lock.pointee.lock(.process)
    let handler = current.pointee
    handler?.pointee.use()
    lock.pointee.unlock(.process)
    guard let handler else { return printLine(kind, message) }
    var isDealtWith: Bool?
    if let code = handler.pointee.code {
      let answer = ObjectCall.recorded(0, UnsafeMutableRawPointer(handler), endUse) {
        ClientCall.during(code, UnsafeRawPointer(bitPattern: thread.bits), kind, message, handler.pointee.info)
      }
      // A bool, which is in the lowest byte alone.
      isDealtWith = answer.map { UInt8(truncatingIfNeeded: $0) != 0 }
    }
    // It may have forked: in the child, the handler and the lock are not what they were.
    if treadle_system_tag() == tag { endUse(UnsafeMutableRawPointer(handler)) }
    return isDealtWith ?? printLine(kind, message)
  }

  /// The handler has returned, or ends its thread.
  private static let endUse: ObjectCall.Abandon = { memory in
    Handler.endUse(memory.assumingMemoryBound(to: Handler.self), under: lock)
  }

  /// The default: one line on standard error, of what a pipe takes in one piece. Nothing is dealt with by that.
  private static func printLine(_ kind: UnsafePointer<CChar>, _ message: UnsafePointer<CChar>) -> Bool {
    // On the stack, whatever its size: a temporary allocation of more than 1,024 bytes is on the heap.
    var bytes = InlineArray<4096, UInt8>(repeating: 0)
    withUnsafeMutableBytes(of: &bytes) { room in
      var line = TextLine(room.bindMemory(to: UInt8.self))
      line.append("treadle: uncaught ")
      if kind.pointee == 0 { line.append("error") } else { line.append(kind) }
      line.append(" on thread ")
      line.append(UInt32(bitPattern: treadle_system_thread_id()))
      if message.pointee != 0 {
        line.append(": ")
        line.append(message)
      }
      line.write(to: 2)
    }
    return false
  }

  /// In the child of a fork: the default, with an open lock; the parent's handler is left as it is.
  package static func forget() {
    lock.pointee.forget()
    if let handler = current.pointee { treadle_system_forget(handler) }
    current.pointee = nil
  }
}
