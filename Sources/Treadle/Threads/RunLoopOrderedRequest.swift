// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// A body that a loop performs in its next pass, by order (NSR-8). May be dropped: the loop keeps it for as long as it
/// waits. Since 1.0.
public final class RunLoopOrderedRequest: Sendable {
  fileprivate typealias Work = (body: @Sendable () throws -> Void, target: SendableTarget?)

  /// Smaller is performed first. Since 1.0.
  public let order: Int
  fileprivate let number: UInt64
  fileprivate let loop: OpaqueLoop
  /// nil once it was called, cancelled or dropped: whoever takes it is the only one.
  private let work: Locked<Work?>
  /// The source that stands for it in its modes: 0 until that is there. Means nothing once it is gone.
  private let source = Atomic<UInt>(0)
  private let isPerformed = Atomic<Bool>(false)

  fileprivate init(order: Int, number: UInt64, loop: OpaqueLoop, _ work: Work) {
    self.order = order
    self.number = number
    self.loop = loop
    self.work = Locked(work)
  }

  /// Whether it waits still. Any thread. Since 1.0.
  public var isWaiting: Bool { work.withLock { $0 != nil } }

  /// Takes the request back: its body is released, and not called any more, also where others of its pass are called
  /// already (NSR-8). Any thread.
  /// - Returns: whether it was waiting. Since 1.0.
  @discardableResult
  public func cancel() -> Bool {
    guard take() != nil else { return false }
    OrderedRequests.forget(self)
    leaveModes()
    return true
  }

  fileprivate func take() -> Work? {
    work.withLock { work in
      defer { work = nil }
      return work
    }
  }

  /// Its source is in no mode: drops it, unless a pass has taken it out of them and performs it. True if it was dropped
  /// here.
  @discardableResult
  fileprivate func drop() -> Bool { !isPerformed.load(ordering: .acquiring) && cancel() }

  fileprivate func isFor(_ target: AnyObject) -> Bool { work.withLock { $0?.target?.object === target } }

  fileprivate func stands(for source: RunLoopSource) {
    self.source.store(UInt(bitPattern: source.handle), ordering: .releasing)
  }

  fileprivate func isIn(_ mode: UnsafePointer<CChar>) -> Bool {
    let source = UnsafeMutableRawPointer(bitPattern: source.load(ordering: .acquiring))
    return source.map { treadle_loop_contains(loop.handle, $0, mode) } ?? false
  }

  /// A pass performs it: it leaves its modes, and waits for its turn.
  fileprivate func begin() {
    isPerformed.store(true, ordering: .releasing)
    leaveModes()
  }

  private func leaveModes() {
    let source = UnsafeMutableRawPointer(bitPattern: source.load(ordering: .acquiring))
    if let source, treadle_is_valid(source) { _ = treadle_invalidate(source) }
  }
}

extension RunLoopOrderedRequest: CustomStringConvertible {
  /// Its order, and whether it waits, for debugging. Any thread. Since 1.0.
  public var description: String { "RunLoopOrderedRequest(order \(order), \(isWaiting ? "waiting" : "over"))" }
}

/// A loop's handle, which no other loop ever gets.
private struct OpaqueLoop: Hashable, @unchecked Sendable { let handle: OpaquePointer }

/// What a request is for: only its identity is looked at.
private struct SendableTarget: @unchecked Sendable { let object: AnyObject }

/// Held by the body of a request's source alone: its end is the source's, with the loop's thread, or a scope.
private final class OrderedTicket: Sendable {
  private let request: RunLoopOrderedRequest
  init(_ request: RunLoopOrderedRequest) { self.request = request }
  deinit { request.drop() }
  func use() {}
}

/// All that wait, by loop.
private enum OrderedRequests {
  private static let waiting = Locked<[OpaqueLoop: [UInt64: RunLoopOrderedRequest]]>([:])
  private static let numbers = Atomic<UInt64>(0)

  static func make(order: Int, on loop: OpaqueLoop, _ work: RunLoopOrderedRequest.Work) -> RunLoopOrderedRequest {
    let number = numbers.add(1, ordering: .relaxed).newValue
    let request = RunLoopOrderedRequest(order: order, number: number, loop: loop, work)
    waiting.withLock { $0[loop, default: [:]][number] = request }
    return request
  }

  static func forget(_ request: RunLoopOrderedRequest) {
    waiting.withLock { waiting in
      waiting[request.loop]?[request.number] = nil
      if waiting[request.loop]?.isEmpty ?? false { waiting[request.loop] = nil }
    }
  }

  static func all(of loop: OpaqueLoop) -> [RunLoopOrderedRequest] {
    waiting.withLock { $0[loop].map { Array($0.values) } ?? [] }
  }

  /// Calls all that the loop's current mode has. They leave their modes before any of them is called.
  static func perform(on loop: OpaqueLoop) {
    guard let mode = text({ treadle_loop_get_current_mode(loop.handle, $0, $1, $2) }) else { return }
    let batch = mode.withCString { mode in all(of: loop).filter { $0.isIn(mode) } }
      .sorted { ($0.order, $0.number) < ($1.order, $1.number) }
    for request in batch { request.begin() }
    for request in batch {
      forget(request)
      if let work = request.take() { contain(work.body) }
    }
  }
}

extension RunLoop {
  /// Has the loop perform a body once, at the start of its next pass of one of the modes, and wakes it: before the
  /// sources that are signalled. All that wait for the mode are performed in that pass, in ascending order, equal ones
  /// in the order of these calls; what one of them asks for waits for the next pass. It counts as a handled source, and
  /// keeps the modes from being empty (NSR-8, PERF-5, PERF-6). Dropped without being called when the loop's thread ends
  /// first, or with the scope that the calling thread has entered. Any thread.
  /// - Parameters:
  ///   - order: smaller is performed first.
  ///   - modes: nil: the common modes. With an empty list nothing is performed.
  ///   - target: kept until then; `cancelPerforms` finds the request by it.
  ///   - body: released when it was called, or never will be. An error that it throws is passed to the last-resort
  ///     handler (PERF-11).
  /// - Returns: the request, to cancel it; nil for an empty list of modes.
  /// - Throws: `TreadleError` of the code `.closed` when the loop's thread is gone, or the scope closed; when out of
  ///   memory. Since 1.0.
  @discardableResult
  public func perform(
    order: Int, in modes: [RunLoopMode]? = nil, for target: AnyObject? = nil,
    _ body: @escaping @Sendable () throws -> Void
  ) throws(TreadleError) -> RunLoopOrderedRequest? {
    let modes = modes ?? [.common]
    if modes.isEmpty { return nil }
    let loop = OpaqueLoop(handle: handle)
    let request = OrderedRequests.make(order: order, on: loop, (body, target.map(SendableTarget.init)))
    do throws(TreadleError) {
      let ticket = OrderedTicket(request)
      let source = try RunLoopSource(order: .min, label: "ordered perform") { _ in
        ticket.use()
        OrderedRequests.perform(on: loop)
      }
      request.stands(for: source)
      // A pass may perform it between these.
      for mode in modes where try !add(source, to: mode) && !source.isValid { return request }
      if !modes.contains(where: { contains(source, in: $0) }), request.drop() {
        throw TreadleError(.closed, "the loop's thread has ended")
      }
      source.signal()
    } catch {
      request.cancel()
      throw error
    }
    return request
  }

  /// Takes back all requests of `perform(order:)` for this target, by identity; their bodies are released (NSR-8). Any
  /// thread.
  /// - Returns: whether there was one. Since 1.0.
  @discardableResult
  public func cancelPerforms(for target: AnyObject) -> Bool {
    var found = false
    for request in OrderedRequests.all(of: OpaqueLoop(handle: handle)) where request.isFor(target) {
      if request.cancel() { found = true }
    }
    return found
  }
}
