// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The process-wide state: started on first use, refused in the child of a fork, started again there on
/// request.
package enum Runtime {
  package static let forkedFailure = Failure(
    Status.forked, "process", "is the child of a fork: call treadle_after_fork_child first")

  @inline(__always)
  package static var isStarted: Bool { treadle_system_tag() != 0 }

  /// Makes sure that objects can be made. `threadExit` runs at the end of each thread that asked for it.
  @inline(__always)
  package static func start(threadExit: @convention(c) () -> Void) throws(Failure) {
    if !isStarted { try startSlowly(threadExit) }
  }

  private static func startSlowly(_ threadExit: @convention(c) () -> Void) throws(Failure) {
    let process = treadle_system_process()
    if process.pointee.forked != 0 { throw forkedFailure }
    let lock = Lock(treadle_system_start_lock())
    lock.lock()
    defer { lock.unlock() }
    if treadle_system_tag() != 0 { return }
    if process.pointee.hooks == 0 {
      let result = treadle_system_install_hooks(threadExit, { Runtime.becomeChild() })
      if result < 0 { throw Failure.system("thread-specific key", result) }
      process.pointee.hooks = 1
    }
    process.pointee.last_tag = firstTag
    treadle_system_set_tag(firstTag)
  }

  private static let firstTag: UInt32 = 0x54

  private static func becomeChild() {
    let process = treadle_system_process()
    process.pointee.forked = 1
    treadle_system_set_tag(0)
    treadle_system_thread().pointee.flood = 0
    treadle_system_thread().pointee.in_hand = 0
  }

  /// Starts from nothing in the child of a fork, where only the calling thread lives. False anywhere else.
  @_optimize(size)
  package static func startInChild() -> Bool {
    let process = treadle_system_process()
    if process.pointee.forked == 0 { return false }
    Kind.forEachItemKind { Slab($0).forgetAll() }
    Slab(.loop).forgetAll()
    Slab(.mode).forgetAll()
    Slab(.signature).forgetAll()
    Slab(.routine).forgetAll()
    Slab(.host).forgetAll()
    Slab(.thread).forgetAll()
    Slab(.lock).forgetAll()
    Slab(.condition).forgetAll()
    Slab(.invocation).forgetAll()
    Slab(.closure).forgetAll()
    treadle_system_start_lock().pointee = treadle_system_mutex()
    let thread = treadle_system_thread()
    thread.pointee.loop = nil
    thread.pointee.thread = nil
    thread.pointee.hosts = 0
    process.pointee.main_loop = nil
    process.pointee.main_thread = nil
    process.pointee.closed = 0
    // Those that are on this thread's stack will be counted out when they return.
    process.pointee.calls = thread.pointee.calls
    treadle_system_wait_guard().storeBytes(of: 0, as: UInt32.self)
    treadle_system_forget_barrier()
    // Another tag, so that no handle of the parent's life is taken for one of this life.
    let tag = process.pointee.last_tag &+ 1 & 0xFF
    process.pointee.last_tag = tag == 0 ? 1 : tag
    process.pointee.forked = 0
    treadle_system_set_tag(process.pointee.last_tag)
    return true
  }
}
