// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// A thread's run loop, for Swift clients. A reference to it may be kept and used from every thread, also
  /// beyond the life of its own thread: then additions are ignored (RL-9). Since 1.0.
  public final class RunLoop: @unchecked Sendable {
    /// Constant; the core guards its own state.
    package let loop: Loop
    private let life: ProcessLife

    init(retaining loop: Loop) throws(Failure) {
      try Slab(.loop).retainForClient(loop.handle.bits, "loop")
      self.loop = loop
      life = ProcessLife()
    }

    deinit { if life.goesOn { try? Loop.release(loop.handle.bits) } }

    /// The calling thread's loop, made on first use (RL-1).
    /// - Throws: `Failure` when out of memory, or in the child of a fork. Since 1.0.
    public static func current() throws(Failure) -> RunLoop { try RunLoop(retaining: Loop.current()) }

    /// The loop of the process's initial thread, from any thread (RL-3). Since 1.0.
    public static func main() throws(Failure) -> RunLoop { try RunLoop(retaining: Loop.main()) }

    /// Runs the loop in one mode until a result. On the loop's own thread only; may be nested (RUN-12).
    /// - Parameters:
    ///   - mode: the mode to run; an empty one returns `.finished` at once (RUN-1).
    ///   - timeout: nil for no deadline; zero or less makes one pass without blocking (RUN-2).
    ///   - returnAfterSource: return once a source was handled (RUN-6).
    ///   - whenEmpty: sleep while nothing is in the mode, in place of `.finished` (RUN-16).
    /// - Throws: `Failure` on another thread, or when the system refuses to wait. Since 1.0.
    @discardableResult
    public func run(
      in mode: RunLoopMode = .default, for timeout: Duration? = nil, returnAfterSource: Bool = false,
      whenEmpty: Bool = false
    ) throws -> RunLoopResult {
      let limit = timeout.map { $0.nanoseconds } ?? Clock.forever
      let flags = (returnAfterSource ? Frame.Flag.returnAfterSource : 0) | (whenEmpty ? Frame.Flag.whenEmpty : 0)
      let result = try mode.withName { name in try loop.run(name, timeout: limit, flags: flags) }
      return RunLoopResult(rawValue: result) ?? .finished
    }

    /// Ends the innermost run at the end of its pass; not remembered without one (STOP-1, STOP-2). Any thread. Since 1.0.
    public func stop() { _ = loop.stop() }

    /// A stop that is remembered: without a run it ends the next one (STOP-9). Any thread. Since 1.0.
    public func requestStop(allLevels: Bool = false) { loop.requestStop(allLevels: allLevels) }

    /// Ends the current or next sleep of the innermost run (WAKE-1). Any thread. Since 1.0.
    public func wakeUp() { loop.wake() }

    /// Whether the loop's thread blocks, or is about to (WAKE-6). Any thread. Since 1.0.
    public var isWaiting: Bool { loop.isWaiting }

    /// Whether this is the calling thread's loop. Since 1.0.
    public var isCurrent: Bool { loop.isCurrent }

    /// The mode of the innermost run; nil outside of runs (RL-6). Any thread. Since 1.0.
    public var currentMode: RunLoopMode? {
      // It throws what the body does: nothing.
      try? loop.withCurrentModeName { $0.map { RunLoopMode(String(cString: $0)) } }
    }

    /// Every mode that exists (RL-7). Any thread. Since 1.0.
    public var modes: [RunLoopMode] {
      var names: [RunLoopMode] = []
      loop.forEachMode { if let name = $0.name { names.append(RunLoopMode(String(cString: name))) } }
      return names
    }

    /// Puts a mode into the common set, for good (MODE-8). Any thread. Since 1.0.
    public func addCommonMode(_ mode: RunLoopMode) throws { _ = try mode.withName { try loop.addCommonMode($0) } }

    /// Adds an item to a mode, or to all common modes. False when the rules say that it has no effect:
    /// there already, invalid, in another loop, or the loop's thread is gone (MODE-5, MODE-6). Any thread. Since 1.0.
    /// - Throws: `Failure` when out of memory, or when the system refuses a descriptor.
    @discardableResult
    public func add(_ item: RunLoopItem, to mode: RunLoopMode = .default) throws -> Bool {
      try mode.withName { try loop.add(item.item, $0) } == Status.ok
    }

    /// Removes an item from a mode, or from the common set and its modes. Any thread. Since 1.0.
    @discardableResult
    public func remove(_ item: RunLoopItem, from mode: RunLoopMode = .default) -> Bool {
      (try? mode.withName { try loop.remove(item.item, $0) }) == Status.ok
    }

    /// Whether an item is in a mode, or recorded for the common ones. Any thread. Since 1.0.
    public func contains(_ item: RunLoopItem, in mode: RunLoopMode = .default) -> Bool {
      (try? mode.withName { try loop.contains(item.item, $0) }) == true
    }

    /// Queues a block, which a pass of one of the modes runs once, in order; the loop is woken. Dropped
    /// without being run when the loop's thread exits first (BLK-1, RL-8). Any thread. Since 1.0.
    public func perform(in modes: [RunLoopMode] = [.common], _ body: @escaping @Sendable () -> Void) throws {
      let box = Unmanaged.passRetained(Box(body)).toOpaque()
      let node = BlockNode(
        code: unsafeBitCast(Box<@Sendable () -> Void>.call, to: UnsafeMutableRawPointer.self),
        indirect: IndirectCallback(object: nil, invoke: nil, drop: nil), info: box,
        destroy: Box<@Sendable () -> Void>.release)
      do {
        _ = try RunLoopMode.withNames(modes) { names throws(Failure) in try loop.perform(node, modes: names, wakes: true) }
      } catch {
        Box<@Sendable () -> Void>.release(box)
        throw error
      }
    }
  }

  extension Duration {
    /// Rounded up and limited, so that no timeout is cut short.
    var nanoseconds: Int64 {
      let (seconds, attoseconds) = components
      let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
      if overflow { return seconds < 0 ? -Clock.forever : Clock.forever }
      let part = attoseconds / 1_000_000_000 + (attoseconds % 1_000_000_000 > 0 ? 1 : 0)
      return whole.addingReportingOverflow(part).overflow ? Clock.forever : whole &+ part
    }
  }

#endif
