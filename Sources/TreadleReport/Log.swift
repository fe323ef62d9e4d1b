// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
package import TreadleBase

/// Messages for whoever debugs: where they go, and which of them were written already. All of it is guarded by the lock
/// that stands beside it, in the page that is empty in the child of a fork.
package enum Log {
  private struct State {
    var handler: UnsafeMutablePointer<Handler>?
    /// The places that had their message: one is told of once, and a process writes no more than so many.
    var told: HashIndex
    var toldCount: UInt64
    var calls: CallTable
  }
  private static let mostTold: UInt64 = 4096

  private static var lock: UnsafeMutablePointer<Mutex> { Mutex.at(treadle_system_report_lock()) }

  private static func withState<Result>(_ body: (UnsafeMutablePointer<State>) -> Result) -> Result {
    let lock = self.lock
    lock.pointee.lock(.process)
    defer { lock.pointee.unlock(.process) }
    checkInBuild(MemoryLayout<State>.size <= 80)  // for which C has room
    return body(treadle_system_report_words().assumingMemoryBound(to: State.self))
  }

  /// Sets the process's log function in place of the one before, which goes when no call of it runs; while there is
  /// one, messages are written, and else if the environment says so. Takes the new one over on success only.
  package static func set(_ handler: Handler?) throws(Failure) {
    try Runtime.start()
    let new = handler?.allocated()
    if handler != nil && new == nil { throw Failure.noMemory("log") }
    let isOwn = handler?.code != nil
    let (old, isLast) = withState { state in
      let old = state.pointee.handler
      state.pointee.handler = new
      treadle_system_keep_log_handler(new)
      let own = isOwn ? UInt32(TREADLE_SYSTEM_TELLS) | UInt32(TREADLE_SYSTEM_TIMES) : 0
      treadle_system_watch_change(
        UInt32(TREADLE_SYSTEM_TELLS) | UInt32(TREADLE_SYSTEM_TIMES), treadle_system_asked_for() | own)
      return (old, old?.pointee.endUse() ?? false)
    }
    if let old, isLast { Handler.free(old) }
  }

  /// Whether a place is told of now: for the first time. Places of different kinds of messages have different numbers.
  static func isFirst(_ place: UInt64) -> Bool {
    withState { state in
      if state.pointee.toldCount >= mostTold || state.pointee.told.find(place, where: { _ in true }) != nil {
        return false
      }
      state.pointee.toldCount &+= 1
      return state.pointee.told.insert(place, 1)
    }
  }

  /// What the calls have taken.
  static func withCalls<Result>(_ body: (inout CallTable) -> Result) -> Result { withState { body(&$0.pointee.calls) } }

  private static let prefix: StaticString = "treadle: "
  /// What a pipe takes in one piece, and more than any message has.
  private static let capacity = 4096

  /// Writes one line. Dropped inside of another one: whatever a log function does, it does not call itself. The
  /// thread's last error stays as it is.
  static func write(_ body: (inout FixedText) -> Void) {
    let thread = treadle_system_thread()
    if thread.pointee.is_logging { return }
    thread.pointee.is_logging = true
    let failure = treadle_system_failure().pointee
    // On the stack, whatever its size: a temporary allocation of more than 1,024 bytes is on the heap.
    var bytes = InlineArray<4096, UInt8>(repeating: 0)
    withUnsafeMutableBytes(of: &bytes) { room in
      var text = FixedText(room)
      text.append(prefix)
      body(&text)
      if let base = room.bindMemory(to: UInt8.self).baseAddress { send(base, min(text.length, capacity &- 1)) }
    }
    treadle_system_failure().pointee = failure
    thread.pointee.is_logging = false
  }

  private static func send(_ line: UnsafeMutablePointer<UInt8>, _ length: Int) {
    let tag = treadle_system_tag()
    let handler = withState { state -> UnsafeMutablePointer<Handler>? in
      guard let handler = state.pointee.handler, handler.pointee.code != nil else { return nil }
      handler.pointee.use()
      return handler
    }
    guard let handler, let code = handler.pointee.code else {
      // In place of the NUL.
      line[length] = 10
      _ = treadle_system_write(2, line, length &+ 1)
      return
    }
    let text = UnsafeRawPointer(line + prefix.utf8CodeUnitCount).assumingMemoryBound(to: CChar.self)
    ObjectCall.recorded(0, UnsafeMutableRawPointer(handler), endUse) {
      _ = ClientCall.during(code, text, handler.pointee.info)
    }
    // It may have forked: in the child, the handler and the lock are not what they were.
    if treadle_system_tag() == tag { endUse(UnsafeMutableRawPointer(handler)) }
  }

  /// The function has returned, or ends its thread.
  private static let endUse: ObjectCall.Abandon = { memory in
    Handler.endUse(memory.assumingMemoryBound(to: Handler.self), under: lock)
  }
}
