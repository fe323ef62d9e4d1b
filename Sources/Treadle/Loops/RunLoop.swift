// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// A thread's run loop: what the C interface, CoreFoundation's names, C++ and Python have of that thread, too. A
/// reference to it may be kept and used from every thread, also beyond the life of its own thread: then additions are
/// ignored (RL-9). Two references to one loop are equal, but need not be identical. Where Foundation is imported as
/// well, say `Treadle.RunLoop`, or `TreadleRunLoop`. Since 1.0.
public final class RunLoop: Sendable {
  private let reference: Reference
  /// Made on first use, by whichever thread is first.
  let ownExecutor = AtomicLazyReference<LoopExecutor>()

  var handle: OpaquePointer { reference.handle }

  private init(_ reference: consuming Reference) { self.reference = reference }

  /// The loop of a handle that the caller borrows.
  convenience init(retaining handle: OpaquePointer) throws(TreadleError) {
    self.init(try Reference(retaining: handle))
  }

  /// Takes over a reference that the caller was given.
  convenience init(owning handle: OpaquePointer) { self.init(Reference(owning: handle)) }

  /// The calling thread's loop, made on first use (RL-1).
  /// - Throws: `TreadleError` when out of memory, or in the child of a fork. Since 1.0.
  public static func current() throws(TreadleError) -> RunLoop {
    try RunLoop(retaining: checkHandle(treadle_loop_current()))
  }

  /// The loop of the process's initial thread, from any thread (RL-3).
  /// - Throws: as `current`, and when that thread has ended. Since 1.0.
  public static func main() throws(TreadleError) -> RunLoop { try RunLoop(retaining: checkHandle(treadle_loop_main())) }

  // MARK: Running

  /// Runs the loop in one mode until a result. On the loop's own thread only; may be nested (RUN-12).
  /// - Parameters:
  ///   - mode: the mode to run; an empty one returns `.finished` at once (RUN-1).
  ///   - timeout: nil for no deadline; zero or less makes one pass without blocking (RUN-2).
  ///   - returnAfterSource: return once a source was handled (RUN-6).
  ///   - whenEmpty: sleep while nothing is in the mode, in place of `.finished` (RUN-16).
  /// - Throws: `TreadleError` on another thread, when the system refuses to wait, or after `shutDown`. Since 1.0.
  @discardableResult
  public func run(
    in mode: RunLoopMode = .default, for timeout: Duration? = nil, returnAfterSource: Bool = false,
    whenEmpty: Bool = false
  ) throws(TreadleError) -> RunLoopResult {
    let flags =
      (returnAfterSource ? TREADLE_RUN_RETURN_AFTER_SOURCE : 0) | (whenEmpty ? TREADLE_RUN_WHEN_EMPTY : 0)
    let status = mode.withName { treadle_loop_run(handle, $0, timeout.limit, UInt32(flags)) }
    return RunLoopResult(rawValue: try check(status)) ?? .finished
  }

  /// Ends the innermost run at the end of its pass; not remembered without one (STOP-1, STOP-2). Any thread.
  /// - Returns: whether there was a run. Since 1.0.
  @discardableResult
  public func stop() -> Bool { treadle_loop_stop(handle) == TREADLE_OK }

  /// A stop that is remembered: without a run it ends the next one (STOP-9). With `atOnce` the run ends after the
  /// callback that runs, and the rest of its pass is queued as before. Any thread. Since 1.0.
  public func requestStop(allLevels: Bool = false, atOnce: Bool = false) {
    let flags = (allLevels ? TREADLE_STOP_ALL_LEVELS : 0) | (atOnce ? TREADLE_STOP_AT_ONCE : 0)
    _ = treadle_loop_request_stop(handle, UInt32(flags))
  }

  /// Ends the current or next sleep of the innermost run (WAKE-1). Any thread. Since 1.0.
  public func wakeUp() { _ = treadle_loop_wake(handle) }

  /// Whether the loop's thread blocks, or is about to (WAKE-6). Any thread. Since 1.0.
  public var isWaiting: Bool { treadle_loop_is_waiting(handle) }

  /// Whether this is the calling thread's loop. Since 1.0.
  public var isCurrent: Bool { treadle_loop_is_current(handle) }

  // MARK: Posting

  /// Queues a body, which a pass of one of the modes calls once, in order; the loop is woken (BLK-1 to BLK-5). Dropped
  /// without being called when the loop's thread ends first (RL-8). Any thread.
  /// - Parameters:
  ///   - modes: nil, or an empty list: the common modes.
  ///   - wakes: false leaves the loop asleep: the body is called after the sleep (BLK-2, NSR-6).
  ///   - body: what it throws goes to the last-resort handler (THR-19).
  /// - Throws: `TreadleError` when the loop's thread is gone, or when out of memory: the body is released then. Since
  ///   1.0.
  public func post(
    in modes: [RunLoopMode]? = nil, wakes: Bool = true, _ body: consuming @escaping @Sendable () throws -> Void
  ) throws(TreadleError) {
    var post = treadle_post()
    post.struct_size = MemoryLayout<treadle_post>.size
    post.fn = CallableBody.call
    post.info = try CallableBody.pass(body)
    post.destroy = CallableBody.giveBack
    post.flags = wakes ? 0 : UInt32(TREADLE_POST_WITHOUT_WAKE)
    if try check(queue(&post, in: modes)) == TREADLE_IGNORED {
      throw TreadleError(.closed, "the loop's thread has ended")
    }
  }

  /// Has a post queued, with its modes.
  func queue(_ post: inout treadle_post, in modes: [RunLoopMode]?) -> treadle_status {
    guard let modes else { return treadle_loop_post_in(handle, &post) }
    return RunLoopMode.withNames(modes) { names, count in
      post.modes = names
      post.mode_count = count
      return treadle_loop_post_in(handle, &post)
    }
  }

  // MARK: Items

  /// Adds an item to a mode, or to all common modes. False when the rules say that it has no effect:
  /// there already, invalid, in another loop, or the loop's thread is gone (MODE-5, MODE-6). Any thread.
  /// - Throws: `TreadleError` when out of memory, when the system refuses a descriptor, or when another source watches
  ///   that in the mode. Since 1.0.
  @discardableResult
  public func add(_ item: RunLoopItem, to mode: RunLoopMode = .default) throws(TreadleError) -> Bool {
    try check(mode.withName { treadle_loop_add(handle, item.object, $0) }) == TREADLE_OK
  }

  /// Removes an item from a mode, or from the common set and its modes. Any thread.
  /// - Returns: whether it was there. Since 1.0.
  @discardableResult
  public func remove(_ item: RunLoopItem, from mode: RunLoopMode = .default) -> Bool {
    mode.withName { treadle_loop_remove(handle, item.object, $0) } == TREADLE_OK
  }

  /// Whether an item is in a mode, or recorded for the common ones. Any thread. Since 1.0.
  public func contains(_ item: RunLoopItem, in mode: RunLoopMode = .default) -> Bool {
    mode.withName { treadle_loop_contains(handle, item.object, $0) }
  }
}

extension RunLoop: Hashable {
  /// Whether both mean the same loop. Since 1.0.
  public static func == (left: RunLoop, right: RunLoop) -> Bool { left.handle == right.handle }
  /// Equal loops hash alike. Since 1.0.
  public func hash(into hasher: inout Hasher) { hasher.combine(handle) }
}

/// `RunLoop` under a name that nothing of Foundation has. Since 1.0.
public typealias TreadleRunLoop = RunLoop
