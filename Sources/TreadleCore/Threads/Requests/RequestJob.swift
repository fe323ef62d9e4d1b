// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// A request in the queue of a loop. That of somebody who waits for the end lies on his stack, any other in memory of its own.
struct RequestJob: ~Copyable {
  /// First: the loop's queue knows the request by it.
  var job: Job
  var request: Request
  /// Who waits for the end, if anybody.
  var waiter: UnsafeMutablePointer<Waiter>?

  typealias Pointer = UnsafeMutablePointer<RequestJob>

  init(_ request: Request, waiter: UnsafeMutablePointer<Waiter>? = nil, isForCallMode: Bool = false) {
    job = Job(
      perform: RequestJob.performJob, finish: RequestJob.finishJob, handOut: RequestJob.handOutJob, isForCallMode: isForCallMode)
    job.isAwaited = waiter != nil
    job.name = request.name
    job.isFetched = (request.work.map { ScopeWork.content($0, as: Request.self).pointee.indirect } ?? request.indirect).isFetched
    // A wait cannot hand it out, and must not end by it.
    if job.isFetched { job.isForCallMode = false }
    self.request = request
    self.waiter = waiter
  }

  /// What came of a request for which somebody waits; a `Completion`'s outcome.
  enum Outcome {
    static var done: UInt32 { Completion.over }
    /// The thread that was to do it has ended, or treadle_shutdown was called.
    static var dropped: UInt32 { Completion.over + 1 }
    /// A host's callback did not complete.
    static var failed: UInt32 { Completion.over + 2 }
  }

  static func allocate(_ request: Request, isForCallMode: Bool = false) -> Pointer? {
    guard let memory = treadle_system_allocate(MemoryLayout<RequestJob>.size) else { return nil }
    let node = memory.bindMemory(to: RequestJob.self, capacity: 1)
    node.initialize(to: RequestJob(request, isForCallMode: isForCallMode))
    return node
  }

  /// The memory of a request that is the caller's again, or over.
  static func free(_ node: Pointer) {
    node.pointee.job.modes.free()
    if node.pointee.waiter == nil { treadle_system_free(node) }
  }

  /// The job is the first member.
  static func job(_ node: Pointer) -> UnsafeMutablePointer<Job> {
    UnsafeMutableRawPointer(node).assumingMemoryBound(to: Job.self)
  }
  private static func of(_ job: UnsafeMutableRawPointer) -> Pointer { job.assumingMemoryBound(to: RequestJob.self) }

  /// On the thread that is to do it; false when a host's callback did not complete.
  private static let performJob: Job.Perform = { job, loop, mode in
    let node = of(job)
    guard let waiter = node.pointee.waiter else {
      let isComplete = node.pointee.request.perform(on: loop, mode: mode)
      if isComplete { node.pointee.request.complete() }
      return isComplete
    }
    waiter.pointee.edge.markBegun()
    let own = treadle_system_errno()
    treadle_system_set_errno(waiter.pointee.errno)
    let isComplete = node.pointee.request.perform(on: loop, mode: mode)
    waiter.pointee.errno = treadle_system_errno()
    treadle_system_set_errno(own)
    if isComplete { node.pointee.request.complete() }
    return isComplete
  }

  private static let handOutJob: Job.HandOut = { job, ask, host, event in
    let node = of(job)
    let work = node.pointee.request.work
    let content =
      work.map { ScopeWork.content($0, as: Request.self) } ?? withUnsafeMutablePointer(to: &node.pointee.request) { $0 }
    switch ask {
    case Job.Ask.begin:
      let call = content.pointee.indirect
      guard call.object == host, call.direct == nil, let event = event?.assumingMemoryBound(to: Event.self), ScopeWork.beginHandedOut(work) else { return false }
      node.pointee.waiter?.pointee.edge.markBegun()
      event.pointee = content.pointee.event(on: event.pointee.loop, mode: event.pointee.mode)
      return true
    case Job.Ask.isLeft: return work.map { ScopeWork.isCancelled($0) } != true && content.pointee.indirect.isFetched
    default:
      content.pointee.complete()
      return true
    }
  }

  private static let finishJob: Job.Finish = { job, phase in
    switch phase {
    case Job.Phase.dropped: finish(of(job), Outcome.dropped)
    case Job.Phase.failed: finish(of(job), Outcome.failed)
    default: finish(of(job), Outcome.done)
    }
  }

  /// The request is over: what it holds goes back, then whoever waits for it goes on, and the node with him.
  static func finish(_ node: Pointer, _ outcome: UInt32) {
    let waiter = node.pointee.waiter
    let request = node.pointee.request
    free(node)
    request.dispose()
    guard let waiter else { return }
    waiter.pointee.edge.markOver()
    waiter.pointee.completion.end(outcome)
  }
}

/// A request that somebody will make later, with all that this needs, so that it cannot fail for want of memory then. Ends
/// with `post` or `discard`.
package struct LaterRequest {
  private let node: RequestJob.Pointer
  private let loop: Loop

  /// In the common modes and the call mode of a loop. Takes the request over unless it throws.
  package init(_ request: Request, on loop: Loop) throws(Failure) {
    _ = try loop.findOrMakeCallMode()
    guard let node = RequestJob.allocate(request, isForCallMode: true) else { throw Failure.noMemory("completion") }
    loop.holdAgain()
    self.node = node
    self.loop = loop
  }

  /// Has it performed; when the loop has ended, only its releases are called.
  package consuming func post() {
    if !loop.enqueue(RequestJob.job(node)) { RequestJob.finish(node, RequestJob.Outcome.dropped) }
    loop.drop()
  }

  /// Gives the request back to its maker, who still has it.
  package consuming func discard() {
    RequestJob.free(node)
    loop.drop()
  }
}

/// A function with its target and argument, to be performed on a thread (§17 of the rules).
package struct Request {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
  package typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
  package typealias Equal = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32

  package var function: Function?
  package var target: UnsafeMutableRawPointer?
  package var argument: UnsafeMutableRawPointer?
  /// In place of `function`: a routine, or a host's dispatch.
  package var indirect = IndirectCallback(object: nil, invoke: nil, drop: nil)
  package var releaseTarget: Release?
  package var releaseArgument: Release?
  package var equal: Equal?
  package var token: UInt64 = 0
  /// For descriptions; one that is kept for ever (`Labels`).
  package var label: UnsafePointer<CChar>? = nil
  var retire: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)? = nil
  var host: UnsafeMutableRawPointer? = nil
  /// In place of `retire` where the host has completed the request: it has used its token up.
  var retireUsed: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)? = nil

  package init(function: Function?, target: UnsafeMutableRawPointer?, argument: UnsafeMutableRawPointer?) {
    self.function = function
    self.target = target
    self.argument = argument
  }

  /// What descriptions call it by.
  var name: CallName { CallName(requestCode: unsafeBitCast(function, to: UInt.self), label: label) }

  /// False when a host's callback did not complete.
  func perform(on loop: OpaquePointer?, mode: UnsafePointer<CChar>?) -> Bool {
    if let function {
      function(target, argument)
      return true
    }
    guard let invoke = indirect.invoke else { return true }
    if let direct = indirect.direct {
      direct.pointee.perform(subject: target, value: 0)
      return true
    }
    var event = event(on: loop, mode: mode)
    return invoke(indirect.object, &event)
  }

  func event(on loop: OpaquePointer?, mode: UnsafePointer<CChar>?) -> Event {
    var event = Event(
      Event.Kind.request, token: token, loop: loop, subject: UInt(bitPattern: target), mode: mode)
    event.argument = argument
    return event
  }

  /// Its host has completed it.
  @inline(__always)
  mutating func complete() {
    if let retireUsed { retire = retireUsed }
  }

  /// It is the caller's again, whose releases are not called.
  package func forget() {
    if let work {
      let content = ScopeWork.content(work, as: Request.self).pointee
      if ScopeWork.takeBack(work) { content.forget() }
      return
    }
    retireUsed?(host, token)
    indirect.drop?(indirect.object)
  }

  /// It was performed, or never will be.
  package func dispose() {
    retire?(host, token)
    ClientCall.giveBack(releaseTarget, target)
    ClientCall.giveBack(releaseArgument, argument)
    indirect.drop?(indirect.object)
  }

  /// Whether this waiting request is meant by another one that is only a description (PERF-15).
  func matches(_ like: Request) -> Bool {
    guard let work else { return isLike(like) }
    // The scope does not end it while its `equal` is asked.
    guard ScopeWork.begin(work) else { return false }
    defer { ScopeWork.putBack(work) }
    return ScopeWork.content(work, as: Request.self).pointee.isLike(like)
  }

  private func isLike(_ other: Request) -> Bool {
    if target != other.target || indirect.object != other.indirect.object || token != other.token { return false }
    if unsafeBitCast(function, to: UInt.self) != unsafeBitCast(other.function, to: UInt.self) { return false }
    if argument == other.argument { return true }
    guard let equal else { return false }
    return equal(argument, other.argument) != 0
  }

  /// A number that all requests share which one description may mean: those that identity decides on, or those of the target
  /// whose `equal` is to be asked. Others may share it, too.
  func likeness(isAsked: Bool) -> UInt64 {
    var hash = UInt64(UInt(bitPattern: target))
    if isAsked { return hash }
    func add(_ word: UInt64) { hash = (hash ^ word) &* 0xBF58_476D_1CE4_E5B9 ^ hash >> 29 }
    add(UInt64(unsafeBitCast(function, to: UInt.self)))
    add(UInt64(UInt(bitPattern: argument)))
    add(UInt64(UInt(bitPattern: indirect.object)))
    add(token)
    return hash
  }
}
