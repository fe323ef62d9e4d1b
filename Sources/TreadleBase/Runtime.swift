// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The process-wide state: started on first use, refused in the child of a fork, started again there on request.
package enum Runtime {
  package static let endedThreadFailure = Failure(
    Status.state, "thread", "is ending: nothing more can be created for it")
  package static let forkedFailure = Failure(
    Status.forked, "process", "is the child of a fork: call treadle_after_fork_child first")

  @inline(__always)
  package static var isStarted: Bool { treadle_system_tag() != 0 }

  /// Makes sure that objects can be made.
  @inline(__always)
  package static func start() throws(Failure) {
    if !isStarted { try startSlowly() }
  }

  @inline(never)
  private static func startSlowly() throws(Failure) {
    let process = treadle_system_process()
    if treadle_system_is_forked() { throw forkedFailure }
    let lock = Mutex.at(treadle_system_start_lock())
    lock.pointee.lock(.process)
    defer { lock.pointee.unlock(.process) }
    if treadle_system_tag() != 0 { return }
    if process.pointee.hooks == 0 {
      let result = treadle_system_install_hooks {
        treadle_system_end_life()
        treadle_system_sockets_close_in_child()
      }
      if result < 0 { throw Failure.system("thread-specific key", result) }
      process.pointee.hooks = 1
    }
    libtreadle_process_starts()
    beginLife()
  }

  /// Another tag than that of any copy of the library and of any life before, so that none takes a handle of another
  /// for one of its own; where there is none left, another than that of the life before.
  private static func beginLife() {
    let process = treadle_system_process()
    let new = treadle_system_new_tag()
    treadle_system_begin_life(new != 0 ? new : process.pointee.last_tag % 0xFF &+ 1)
  }

  /// The kernel's id of the calling thread, which is asked for once.
  package static var threadID: Int32 { Int32(bitPattern: Inheritance.ownID) }

  /// Before anything is made for the calling thread, whose kernel id this returns: its end will be told, and is not
  /// past.
  package static func watchThread() throws(Failure) -> Int32 {
    try start()
    if treadle_system_thread().pointee.left != 0 { throw endedThreadFailure }
    let result = treadle_system_watch_thread()
    if result < 0 { throw Failure.system("thread-specific data", result) }
    let id = Runtime.threadID
    if !treadle_system_thread().pointee.is_seen {
      if id == treadle_system_process_id() { treadle_system_know_main() }
      treadle_system_thread().pointee.is_seen = true
    }
    return id
  }

  /// Starts from nothing in the child of a fork, where only the calling thread lives. False anywhere else.
  package static func startInChild() -> Bool {
    let process = treadle_system_process()
    if !treadle_system_is_forked() { return false }
    for number in Kind.all { if let kind = Kind(rawValue: number) { Slab(kind).forgetAll() } }
    let thread = treadle_system_thread()
    thread.pointee.id = 0
    thread.pointee.is_seen = false
    thread.pointee.loop = nil
    thread.pointee.thread = nil
    thread.pointee.hosts = 0
    thread.pointee.last_wait = 0
    thread.pointee.fired_timer = 0
    thread.pointee.ending_message = 0
    thread.pointee.is_ending_messages = false
    thread.pointee.scope = nil
    thread.pointee.finishing = 0
    treadle_system_forget_calls()
    process.pointee.main_loop = nil
    process.pointee.main_thread = nil
    process.pointee.main_is_known = 0
    thread.pointee.left = 0
    process.pointee.closed = 0
    // Those that are on this thread's stack will be counted out when they return.
    process.pointee.calls = thread.pointee.calls
    thread.pointee.held_locks = 0
    beginLife()
    return true
  }
}
