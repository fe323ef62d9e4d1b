// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import Synchronization
import TreadleBase
import TreadleCore

/// When a process that has ended is followed by another one, as the program has said it.
struct RestartPlan: BitwiseCopyable {
  let most: Int
  let within: Int64
  let firstPause: Int64
  let longestPause: Int64
  /// How long each question to the new process may take.
  let timeout: Int64

  private static let mostRestarts: UInt32 = 65_535
  private static let usualTimeout: Int64 = 10_000_000_000

  static func read(_ given: UnsafePointer<treadle_plugin_restart>) throws(Failure) -> RestartPlan {
    let known = try ClientStruct.copy(given, "restart")
    func refuse(_ text: StaticString) -> Failure { Failure(Status.argument, "restart", text) }
    if known.most > mostRestarts { throw refuse("has a most that is more than 65,535") }
    if known.reserved != 0 { throw refuse("has a reserved member that is not 0") }
    if known.within_ns <= 0 { throw refuse("has a within_ns that is not above 0") }
    if known.first_pause_ns < 0 { throw refuse("has a first_pause_ns that is negative") }
    if known.longest_pause_ns != 0 && known.longest_pause_ns < known.first_pause_ns {
      throw refuse("has a longest_pause_ns that is less than first_pause_ns")
    }
    if known.timeout_ns < 0 { throw refuse("has a timeout_ns that is negative") }
    return RestartPlan(
      most: Int(known.most), within: known.within_ns, firstPause: known.first_pause_ns,
      longestPause: max(known.longest_pause_ns, known.first_pause_ns),
      timeout: known.timeout_ns == 0 ? usualTimeout : known.timeout_ns)
  }
}

/// What a plugin's restarts have come to. The link's lock guards it.
struct RestartState {
  /// Constant from the load on; nil: none.
  var plan: RestartPlan?
  /// The dates of those that count still, in order.
  private var dates = Buffer<Int64>()
  /// From the end of the process to the moment when the next one has started.
  var isPending = false
  /// The handle of the timer that ends the pause; 0: none.
  var timer: UInt = 0
  /// Held: the one that is being started.
  var process: IsolatedProcess?

  /// How long the pause before the next one is; nil: there is none, as the plan says, or for want of memory.
  mutating func takePause(_ now: Int64) -> Int64? {
    guard let plan else { return nil }
    if plan.within != Clock.forever {
      let first = Clock.after(0 &- plan.within, from: now)
      while let oldest = dates[0], oldest <= first { dates.remove(0) }
    }
    if dates.count >= plan.most { return nil }
    var pause = plan.firstPause, left = dates.count
    while left > 0, pause > 0, pause < plan.longestPause {
      pause = Clock.after(pause, from: pause)
      left &-= 1
    }
    pause = min(pause, plan.longestPause)
    return dates.append(Clock.after(pause, from: now)) ? pause : nil
  }

  mutating func free() { dates.free() }
}

/// A plugin that has started, whose process has ended, gets another one on its loop, after a pause.
extension IsolatedPlugin {
  /// Whether a process is the one that has ended, while the next one has not started.
  func isInPause(_ process: IsolatedProcess?) -> Bool {
    guard let link = state.pointee.link, let process else { return false }
    return link.locking { state.pointee.restart.isPending && process.state == state.pointee.process?.state }
  }

  static func pauseFailure(during question: UnsafePointer<CChar>, _ id: UnsafePointer<CChar>?) -> Failure {
    LastError.detail(question, id, "in the pause before its restart")
    return Failure(Status.plugin, "plugin", "has no process")
  }

  /// The end of a process was told.
  func restartLater(after process: IsolatedProcess) {
    state.pointee.link?.locking { process.state.pointee.isNoticed = true }
    restartIfEnded()
  }

  /// The end of the process and that of the plugin's start both call this: the later of them begins the pause.
  func restartIfEnded() {
    guard let link = state.pointee.link, let scope = state.pointee.scope, state.pointee.restart.plan != nil else {
      return
    }
    // A plugin that is being closed gets none.
    try? scope.calling(isWatched: false) { () throws(Failure) in
      let phase = try PluginRegistry.locked { () throws(Failure) in PluginRegistry.find(scope)?.state.pointee.phase }
      if phase != PluginState.Phase.started { return }
      let now = Clock.now()
      var isEnded = false
      let pause: Int64? = link.locking {
        guard let process = state.pointee.process, process.state.pointee.isNoticed, !state.pointee.restart.isPending
        else {
          return nil
        }
        isEnded = true
        guard let pause = state.pointee.restart.takePause(now) else { return nil }
        state.pointee.restart.isPending = true
        return pause
      }
      if let pause {
        setTimer(min(Clock.after(pause, from: now), Clock.forever &- 1))
      } else if isEnded {
        tell(0, "it is not started again: it has no restart left")
      }
    }
  }

  private func setTimer(_ date: Int64) {
    guard let link = state.pointee.link else { return }
    let fire: @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?) -> Void = { _, info in
      IsolatedPlugin.of(info)?.restartNow()
    }
    let drop: Context.Release = { info in IsolatedPlugin.of(info)?.letGo() }
    hold()
    let timer: Item
    do throws(Failure) {
      timer = try Scope.outside { () throws(Failure) in
        try Item.timer(
          code: unsafeBitCast(fire, to: UnsafeMutableRawPointer.self), info: UnsafeMutableRawPointer(state),
          context: Context(retain: nil, release: drop, describe: nil, order: 0), date: date, interval: 0, tolerance: 0)
      }
    } catch {
      letGo()
      return giveUp()
    }
    let handle = timer.handle.bits
    let isLate = link.locking {
      let isLate = state.pointee.isClosing.load(ordering: .acquiring) != 0
      if !isLate { state.pointee.restart.timer = handle }
      return isLate
    }
    if isLate { return endTimer(handle) }
    do throws(Failure) {
      let held = try Item.hold(.timer, handle, "plugin")
      defer { held.letGo() }
      _ = try link.state.pointee.home.add(held, CommonModes.name)
    } catch {
      // A close may have ended it.
      if state.pointee.isClosing.load(ordering: .acquiring) == 0 { giveUp() }
    }
  }

  private func giveUp() {
    state.pointee.link?.locking { state.pointee.restart.isPending = false }
    tell(0, "it is not started again: there is no memory, or its loop has ended")
  }

  private func endTimer(_ handle: UInt) {
    if handle == 0 { return }
    try? Item.invalidate(.timer, handle, "plugin")
    _ = try? Item.release(.timer, handle, "plugin")
  }
  private func takeTimer() -> UInt {
    state.pointee.link?.locking {
      defer { state.pointee.restart.timer = 0 }
      return state.pointee.restart.timer
    } ?? 0
  }

  /// The plugin is being closed: no other process is started, and one that is being started is killed. True in the
  /// pause.
  @discardableResult
  func endRestarts() -> Bool {
    state.pointee.isClosing.store(1, ordering: .releasing)
    guard let link = state.pointee.link else { return false }
    endTimer(takeTimer())
    let (isPending, process) = link.locking {
      state.pointee.restart.process?.hold()
      return (state.pointee.restart.isPending, state.pointee.restart.process)
    }
    process?.kill()
    process?.letGo()
    return isPending
  }

  // MARK: The next process

  private func restartNow() {
    guard let scope = state.pointee.scope else { return }
    endTimer(takeTimer())
    try? scope.calling(isWatched: true) { () throws(Failure) in
      if begin() { tell(2, "its process has been started again") } else { fail() }
    }
  }

  /// The pause is over, and nothing has come of it.
  private func fail() {
    state.pointee.link?.locking { state.pointee.restart.isPending = false }
    if state.pointee.isClosing.load(ordering: .acquiring) == 0 { restartIfEnded() }
  }

  /// Starts a process in the place of the one that has ended, whose last lines are told.
  private func begin() -> Bool {
    guard let link = state.pointee.link, let plan = state.pointee.restart.plan else { return false }
    let old = link.locking { state.pointee.process }
    var left = 256
    while left > 0, old?.readOutput(nil) == true { left &-= 1 }
    old?.end()
    if let old { link.forgetHeard(old.state.pointee.serial) }
    var made: IsolatedProcess?
    var isStarted = false
    do throws(Failure) {
      let process = try IsolatedProcess.make(of: self, on: link.state.pointee.home)
      made = process
      state.pointee.serial.store(process.state.pointee.serial, ordering: .relaxed)
      link.locking { state.pointee.restart.process = process }
      // A close that has not seen it is seen here.
      if state.pointee.isClosing.load(ordering: .acquiring) != 0 {
        throw Failure(Status.closed, "plugin", "is being closed")
      }
      try askToLoad(process, again: plan.timeout)
      try askToStart(process, timeout: plan.timeout)
      isStarted = true
    } catch {
      LastError.record(error, in: "treadle_plugin_load")
    }
    let isTaken = link.locking {
      state.pointee.restart.process = nil
      guard let made, isStarted, !made.state.pointee.isNoticed else { return false }
      state.pointee.process = made
      link.state.pointee.peer = made.peer
      state.pointee.restart.isPending = false
      return true
    }
    if isTaken {
      old?.letGo()
      return true
    }
    if !isStarted && state.pointee.isClosing.load(ordering: .acquiring) == 0 {
      LinkReply.withLastError { text in if let text { tell(0, text) } }
    }
    made?.kill()
    made?.end()
    made?.letGo()
    return false
  }
}
