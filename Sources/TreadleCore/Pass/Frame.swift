// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// One run in progress: where its pass stands, and everything that must outlive a callout. Nested runs are a stack of
/// frames. Touched by the loop's own thread alone.
package struct Frame: ~Copyable {
  /// Where a run goes on, in the order of the steps (§4 of the rules).
  enum Step: UInt8 {
    case enter
    case entered
    case open
    case beforeSources
    case firstBlocks
    case sources
    case blocksAfterSources
    case beforeWaiting
    case sleep
    case afterWaiting
    case events
    case lastBlocks
    case close
    case leave
    case left
    /// Of no pass: the one notification of a loop that is prepared (`Guest.swift`).
    case prepare
  }

  typealias Pointer = UnsafeMutablePointer<Frame>

  var outer: Pointer?
  var mode: Mode
  var timeout: Int64
  var deadline: Int64
  var flags: UInt32
  /// What the run waits for: it ends when that is over, and only then but for the deadline.
  var awaited: Awaited?
  /// A host whose run this is: it serves the signals that end a sleep, and the run goes on.
  var interrupt: IndirectCallback?
  var step: Step = .enter
  var result = Status.finished
  /// Not 0: the kernel refused to wait, with this result.
  var systemResult: Int32 = 0
  /// Whose events this run's are that are handed out, and by which number its host names it; 0: it is no run of that
  /// kind.
  var host: FrameHost?
  var number: UInt64 = 0
  /// It stands between two calls of its host.
  var isLeft = false
  /// It is dispatched in slices (`Guest.swift`), and whether this pass has called anybody but observers.
  var isGuest = false
  var hasCalled = false
  /// How many blocks were handed out besides the callout: those before it in the batch.
  var handedCount = 0
  /// What the outer run had of these; they live and die with a run (RUN-1).
  var outerStop: UInt32 = 0
  var outerWake: UInt32 = 0
  /// A wake-up was for this run, or for one inside of it.
  var wasWoken = false
  /// What is told of the callback that the outer run is in.
  var outerCall = CalloutRecord()

  // One pass.

  /// A source was handled (RUN-7).
  var handled = false
  /// The pass does not sleep (RUN-5).
  var polls = false
  /// The kernel was asked for descriptors in this pass.
  var asked = false
  var wasInterrupted = false
  /// How much was in the thread's pool when the pass began (POOL-3).
  var poolMark = 0
  /// What the step hands to the client, one callout after the other.
  var batch: Batch
  /// The callout that is being made.
  var callout = Callout()
  /// The scope whose posts are called, if there is one, and how many entries of the batch of blocks were passed that
  /// are no calls.
  var posts = ScopePosts()
  var uncalledCount = 0

  package enum Flag {
    package static let returnAfterSource: UInt32 = 1
    package static let returnOnInterrupt: UInt32 = 2
    package static let whenEmpty: UInt32 = 4
  }

  /// A fresh one, with the rooms of one that is over.
  init(mode: Mode, timeout: Int64, flags: UInt32, batch: Batch) {
    outer = nil
    self.mode = mode
    self.timeout = timeout
    self.flags = flags
    self.batch = batch
    deadline = Clock.forever
  }

  // MARK: Frames of a loop

  /// How many a loop keeps for its next runs.
  private static let mostKept = 4

  /// A frame for a run of a loop; its spare ones spare the allocation.
  static func take(_ loop: Loop, _ mode: Mode, timeout: Int64, flags: UInt32) throws(Failure) -> Pointer {
    try reserve(loop)
    guard let spare = loop.spareFrames else { throw Failure.noMemory("run") }
    loop.spareFrames = spare.pointee.outer
    spare.pointee = Frame(mode: mode, timeout: timeout, flags: flags, batch: spare.pointee.batch)
    return spare
  }

  /// Has one to spare, so that the next run does not fail for want of memory.
  static func reserve(_ loop: Loop) throws(Failure) {
    if loop.spareFrames != nil { return }
    guard let mode = loop.defaultMode, let memory = treadle_system_allocate(MemoryLayout<Frame>.size) else {
      throw Failure.noMemory("run")
    }
    let frame = memory.bindMemory(to: Frame.self, capacity: 1)
    frame.initialize(to: Frame(mode: mode, timeout: 0, flags: 0, batch: Batch()))
    loop.spareFrames = frame
  }

  /// A few wait for the next runs; more than that came of a deep recursion.
  static func giveBack(_ frame: Pointer, to loop: Loop) {
    dropHost(frame)
    var kept = 0
    var spare = loop.spareFrames
    while let next = spare, kept < mostKept {
      kept &+= 1
      spare = next.pointee.outer
    }
    if kept == mostKept { return free(frame) }
    frame.pointee.outer = loop.spareFrames
    loop.spareFrames = frame
  }

  static func freeSpare(of loop: Loop) {
    while let frame = loop.spareFrames {
      loop.spareFrames = frame.pointee.outer
      free(frame)
    }
  }

  private static func dropHost(_ frame: Pointer) {
    guard let host = frame.pointee.host else { return }
    frame.pointee.host = nil
    host.letGo(host.object)
  }

  static func free(_ frame: Pointer) {
    dropHost(frame)
    frame.pointee.batch.free()
    treadle_system_free(frame)
  }
}

/// A host whose run it is, in whose place the events are handed out.
struct FrameHost {
  let object: UnsafeMutableRawPointer
  /// Not 0: it takes no events any more.
  let closed: UnsafePointer<Atomic<UInt32>>
  /// Drops the reference of the run.
  let letGo: @convention(c) (UnsafeMutableRawPointer) -> Void
}

extension Loop {
  /// The innermost run. Owner.
  @inline(__always)
  var frame: Frame.Pointer? {
    get { state.frame?.assumingMemoryBound(to: Frame.self) }
    nonmutating set { state.frame = newValue.map { UnsafeMutableRawPointer($0) } }
  }
  /// Frames to use again, linked by `outer`. Owner.
  fileprivate var spareFrames: Frame.Pointer? {
    get { state.spareFrames?.assumingMemoryBound(to: Frame.self) }
    nonmutating set { state.spareFrames = newValue.map { UnsafeMutableRawPointer($0) } }
  }
}

/// Something whose end a run waits for, which another thread says, and then wakes the loop.
package struct Awaited {
  /// Whether it goes on.
  package typealias IsOngoing = @convention(c) (UnsafeMutableRawPointer) -> Bool
  /// The waiting thread ends inside of the run: nobody waits any more.
  package typealias Abandon = @convention(c) (UnsafeMutableRawPointer) -> Void

  let object: UnsafeMutableRawPointer
  private let ask: IsOngoing
  private let giveUp: Abandon

  package init(_ object: UnsafeMutableRawPointer, isOngoing: @escaping IsOngoing, abandon: @escaping Abandon) {
    self.object = object
    ask = isOngoing
    giveUp = abandon
  }

  var isOver: Bool { !ask(object) }
  func abandon() { giveUp(object) }
}
