// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Dispatch
public import Foundation
import Glibc
public import Treadle

extension TreadleRunLoop {
  /// Has Foundation's loop serve this one: while Foundation's runs in one of its modes, so do the timers, sources,
  /// descriptors, posts and requests of this loop's mode, on the same thread, and each of them wakes Foundation's loop.
  /// So a program that is built on Foundation's loop uses Treadle's beside it. A stop of this loop ends a pass of it,
  /// not a run of Foundation's.
  ///
  /// A run of Foundation's loop inside of a callback of this one does not serve this one; a nested run of this one
  /// does. On the loop's own thread.
  /// - Parameters:
  ///   - foundation: the calling thread's loop of Foundation.
  ///   - mode: the mode of this loop that is served; not the common modes.
  ///   - modes: the modes of Foundation's loop that serve it. It keeps them from being empty, so that their runs do not
  ///     end at once.
  /// - Returns: the guest, which Foundation's loop keeps; `invalidate` undoes the call.
  /// - Throws: `TreadleError` of the code `.wrongThread` on another thread; `.argument` for a loop of Foundation's that
  ///   is another thread's, and without a mode; as `openPollable`. Since 1.0.
  @discardableResult
  public func serve(
    inside foundation: Foundation.RunLoop = .current, in mode: RunLoopMode = .default,
    during modes: [Foundation.RunLoop.Mode] = [.common]
  ) throws(TreadleError) -> RunLoopGuest {
    guard foundation === Foundation.RunLoop.current else {
      throw TreadleError(.argument, "foundation is not the calling thread's loop")
    }
    if modes.isEmpty { throw TreadleError(.argument, "modes are empty") }
    let guest = RunLoopGuest(self, in: mode, inside: foundation, during: modes, waitingFor: try openPollable(in: mode))
    try guest.start()
    return guest
  }
}

/// A loop that Foundation's loop on its thread serves; see `serve(inside:)`. The loop that is served keeps it until it
/// is invalid, or the thread ends. Since 1.0.
public final class RunLoopGuest: @unchecked Sendable {
  /// Timers may be added and invalidated by any thread.
  private struct State: @unchecked Sendable {
    var isValid = true
    /// In Foundation's loop, which has been asked to make a pass, and did not yet; the source is suspended meanwhile.
    var pass: Timer?
    /// In a mode of its own of the loop that is served, which so keeps this object, and ends it when it ends itself.
    var keeper: RunLoopSource?
  }

  private let lock = NSLock()
  /// Under the lock, by `withState`.
  private var state = State()
  private let loop: TreadleRunLoop
  private let mode: RunLoopMode
  /// Constant. It ends with its thread, which a guest must not keep it from. Adding a timer is what another thread may
  /// do to it.
  private weak let foundation: Foundation.RunLoop?
  private let modes: [Foundation.RunLoop.Mode]
  private let source: any DispatchSourceRead
  /// Keeps the modes of Foundation's loop, which has it, from being empty. Constant from `start` on.
  private weak var anchor: Timer?

  init(
    _ loop: TreadleRunLoop, in mode: RunLoopMode, inside foundation: Foundation.RunLoop,
    during modes: [Foundation.RunLoop.Mode],
    waitingFor descriptor: Int32
  ) {
    self.loop = loop
    self.mode = mode
    self.foundation = foundation
    self.modes = modes
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "treadle.guest"))
    source.setCancelHandler { close(descriptor) }
    source.setEventHandler { [weak self] in self?.ask() }
    // At once: a source that nobody has activated could not be given up.
    source.activate()
  }

  deinit { source.cancel() }

  /// Not by a `Mutex`: the thread sanitizer does not know it.
  private func withState<Result>(_ body: (inout State) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&state)
  }

  fileprivate func start() throws(TreadleError) {
    do {
      let keeper = try RunLoopSource(
        label: "guest of Foundation", cancel: { _, _ in self.invalidate() }, perform: { _ in })
      withState { $0.keeper = keeper }
      try keeper.start(in: "treadle.guest")
    } catch {
      invalidate()
      throw error
    }
    let anchor = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
    self.anchor = anchor
    for mode in modes { foundation?.add(anchor, forMode: mode) }
  }

  /// Has Foundation's loop make a pass of ours: a timer that is due wakes it, which a block would not. On the source's
  /// queue.
  private func ask() {
    let pass = Timer(fire: Date(), interval: 0, repeats: false) { [weak self] _ in self?.makePass() }
    withState { state in
      guard state.isValid, state.pass == nil else { return }
      state.pass = pass
      source.suspend()
      // With the lock, so that an invalidation finds it there.
      for mode in modes { foundation?.add(pass, forMode: mode) }
    }
  }

  private func makePass() {
    guard isValid else { return }
    do {
      try loop.run(in: mode, for: .zero, whenEmpty: true)
    } catch {
      // The loop has been shut down: there are no passes any more.
      invalidate()
      return
    }
    withState { state in
      guard state.pass != nil, state.isValid else { return }
      state.pass = nil
      source.resume()
    }
  }

  /// True until it is invalidated. Any thread. Since 1.0.
  public var isValid: Bool { withState { $0.isValid } }

  /// Ends it: Foundation's loop serves the other one no more. Any thread; no pass begins once this returned on the
  /// loop's own thread. Since 1.0.
  public func invalidate() {
    let (keeper, pass) = withState { state in
      guard state.isValid else { return (RunLoopSource?.none, Timer?.none) }
      defer { (state.keeper, state.pass) = (nil, nil) }
      state.isValid = false
      source.cancel()
      // A suspended source is told of its end never.
      if state.pass != nil { source.resume() }
      return (state.keeper, state.pass)
    }
    keeper?.invalidate()
    pass?.invalidate()
    anchor?.invalidate()
  }
}

extension RunLoopGuest: CustomStringConvertible {
  /// The loop and the mode that are served, and whether they still are. Since 1.0.
  public var description: String {
    let owner = loop.isCurrent ? "this thread's loop" : "another thread's loop"
    return "RunLoopGuest(\(mode) of \(owner)\(isValid ? "" : ", invalid"))"
  }
}
