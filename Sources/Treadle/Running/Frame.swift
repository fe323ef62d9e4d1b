// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// One run in progress: where its pass stands, and everything that must outlive a callout. Nested runs
/// are a stack of frames. Touched by the loop's own thread alone.
///
/// All-zero bytes are a fresh frame, but for `mode`.
struct Frame {
  /// The steps of a run, in their order (§4 of the rules).
  enum Step: UInt8 {
    case enter
    case open
    case beforeTimers
    case beforeSources
    case firstBlocks
    case sources
    case blocksAfterSources
    case beforeWaiting
    case afterWaiting
    case timers
    case lastBlocks
    case leave
  }

  var outer: UnsafeMutablePointer<Frame>?
  var mode: Mode
  var timeout: Int64
  var deadline: Int64
  var flags: UInt32
  /// The call whose end is the run's, and the only one but for the deadline.
  var awaited: CarriedCall?
  var step: Step
  var result: Int32
  /// What the outer run had of these; they live and die with a run (RUN-1).
  var outerStop: UInt32
  var outerWake: UInt32

  // One pass.

  /// A source was handled (RUN-7).
  var handled: Bool
  /// The pass does not sleep (RUN-5).
  var polls: Bool
  /// The kernel was asked for descriptors in this pass.
  var asked: Bool
  var isDraining: Bool
  /// A host's callback did not complete: the run ends here.
  private(set) var failed: Bool
  var wasInterrupted: Bool
  /// Nothing but a stop or an empty mode ends the run, and there is none around it (`Loop.startQuietPass`).
  var mayBeQuiet: Bool
  /// The loop's `revision` as of which the passes are quiet, and no observer or descriptor is to be looked after;
  /// `unknown` where that was not looked at, or something else was done since.
  var quietRevision: UInt64
  /// Not 0: the kernel refused to wait, with this result.
  var systemResult: Int32

  /// The notification in progress.
  var sweep: UnsafeMutablePointer<ObserverSnapshot>?
  var sweepIndex: Int
  /// The last of the requests that this pass performs, by its number, while there may be one left; else 0.
  /// Whether it has begun with them, the one before the next, and what that was looked up for.
  var requestLimit: UInt64
  var requestRemovals: UInt64
  var beforeRequest: UnsafeMutablePointer<RequestNode>?
  var requestsBegan: Bool
  /// How much was in the thread's pool when the pass began (POOL-3).
  var poolMark: Int
  /// Signalled sources that this pass has taken, and the next one's index.
  var collected: Buffer<UInt64>
  var collectedIndex: Int
  /// Owned sources that a quiet pass has taken in their stead, and the next one's index. For each of them there is room in
  /// `collected`, where they go before anything else looks at what was taken (`Loop.collectRest`).
  var owned: Buffer<QueuedSignal>
  var ownedIndex: Int
  /// The loop's clock as of which all of them were owned, and nothing but that has to be looked at between two of their
  /// callbacks; or `Loop.never`.
  var ownedAsOf: UInt64
  /// What sorting them takes.
  var sorted: Buffer<StableSort.Keyed>
  var sortingRoom: Buffer<StableSort.Keyed>
  /// Blocks that this drain has taken, the next one's index, and how many of those passed are kept.
  var batch: Buffer<BlockEntry>
  var batchIndex: Int
  var keptCount: Int
  /// Due timers that this pass has collected.
  var timers: TimerBatch

  /// What the run loop is to do next, or has just done.
  var callout: Callout

  /// A fresh one in new memory.
  init(mode: Mode, timeout: Int64, flags: UInt32) {
    self.init(mode: mode, timeout: timeout, flags: flags, collected: Buffer(), owned: Buffer(), sorted: Buffer(), sortingRoom: Buffer(), timers: TimerBatch())
  }

  /// A fresh one in the memory, and with the rooms, of one that is over.
  init(mode: Mode, timeout: Int64, flags: UInt32, reusing old: UnsafeMutablePointer<Frame>) {
    self.init(
      mode: mode, timeout: timeout, flags: flags, collected: old.pointee.collected, owned: old.pointee.owned,
      sorted: old.pointee.sorted, sortingRoom: old.pointee.sortingRoom, timers: old.pointee.timers.emptied())
    self.collected.removeAll()
    self.owned.removeAll()
  }

  private init(
    mode: Mode, timeout: Int64, flags: UInt32, collected: Buffer<UInt64>, owned: Buffer<QueuedSignal>,
    sorted: Buffer<StableSort.Keyed>, sortingRoom: Buffer<StableSort.Keyed>, timers: TimerBatch
  ) {
    outer = nil
    self.mode = mode
    self.timeout = timeout
    deadline = Clock.forever
    self.flags = flags
    awaited = nil
    step = .enter
    result = Status.finished
    outerStop = 0
    outerWake = 0
    handled = false
    polls = false
    asked = false
    isDraining = false
    failed = false
    wasInterrupted = false
    mayBeQuiet = false
    quietRevision = Frame.unknown
    systemResult = 0
    sweep = nil
    sweepIndex = 0
    requestLimit = 0
    requestRemovals = 0
    beforeRequest = nil
    requestsBegan = false
    poolMark = 0
    self.collected = collected
    collectedIndex = 0
    self.owned = owned
    ownedIndex = 0
    ownedAsOf = Loop.never
    self.sorted = sorted
    self.sortingRoom = sortingRoom
    batch = Buffer()
    batchIndex = 0
    keptCount = 0
    self.timers = timers
    callout = Callout()
  }

  @inline(__always)
  mutating func beginPass() {
    handled = false
    asked = false
  }

  mutating func fail() {
    failed = true
    ownedAsOf = Loop.never
  }
  mutating func forgetFailure() { failed = false }

  /// Nothing that was signalled is left to perform.
  @inline(__always)
  mutating func clearCollected() {
    collected.removeAll()
    collectedIndex = 0
  }

  /// No revision of a loop.
  static let unknown = UInt64.max

  /// How many a loop keeps for its next runs.
  static let mostKept = 4

  enum Flag {
    static let returnAfterSource: UInt32 = 1
    static let returnOnInterrupt: UInt32 = 2
  }

  static func free(_ frame: UnsafeMutablePointer<Frame>) {
    frame.pointee.collected.free()
    frame.pointee.owned.free()
    frame.pointee.sorted.free()
    frame.pointee.sortingRoom.free()
    frame.pointee.batch.free()
    frame.pointee.timers.free()
    treadle_system_free(frame)
  }
}
