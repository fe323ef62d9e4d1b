// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// The C library's search for a symbol; NULL searches all that the process has loaded.
@_silgen_name("dlsym")
private func symbol(_ library: UnsafeMutableRawPointer?, _ name: UnsafePointer<CChar>) -> UnsafeMutableRawPointer?

/// What libdispatch has for run loops of others. It is looked up by name: a program that does not ask for this does not
/// need libdispatch.
private final class MainQueue: @unchecked Sendable {
  private typealias Handle = @convention(c) () -> Int32
  private typealias Serve = @convention(c) (UnsafeMutableRawPointer?) -> Void

  /// An eventfd, which is libdispatch's.
  let descriptor: Int32
  private let serve: Serve
  /// Both are touched by the main thread alone.
  private var isServing = false, isAskedAgain = false

  /// One for the process, as the queue is.
  static let shared = Result<MainQueue, TreadleError> { () throws(TreadleError) in try MainQueue() }

  private init() throws(TreadleError) {
    guard let handle = symbol(nil, "_dispatch_get_main_queue_handle_4CF"),
      let serve = symbol(nil, "_dispatch_main_queue_callback_4CF")
    else { throw TreadleError(.notSupported, "libdispatch is not in the process") }
    descriptor = unsafeBitCast(handle, to: Handle.self)()
    self.serve = unsafeBitCast(serve, to: Serve.self)
  }

  /// Runs what is queued. A nested run inside of it does not run the rest: that is done when the outer one is over.
  func run() {
    isAskedAgain = true
    if isServing { return }
    isServing = true
    while isAskedAgain {
      isAskedAgain = false
      serve(nil)
    }
    isServing = false
  }
}

private final class Bodies: ItemBody, @unchecked Sendable {
  let queue: MainQueue
  init(_ queue: MainQueue) { self.queue = queue }
}

extension RunLoop {
  /// Has the main loop serve the main actor: while it runs, on the process's initial thread, so do the tasks and
  /// methods of `@MainActor`, and what is queued for `DispatchQueue.main`. Without this nothing on Linux runs them but
  /// `dispatchMain`, and an asynchronous `main`. The loop is an ordinary one in all else (RL-10); the item keeps its
  /// modes from being empty, so that a run goes on until it is stopped.
  ///
  /// A nested run inside of the main actor's code does not serve it, as nothing else may run there then; one inside of
  /// other callbacks of the loop does. Any thread.
  /// - Parameter mode: where the main actor is served.
  /// - Returns: the item, which the loop keeps; `invalidate` undoes the call.
  /// - Throws: `TreadleError` of the code `.notSupported` where libdispatch is not in the process, or not as a shared
  ///   library; `.exists` when the mode serves the main actor already; as `main`. Since 1.0.
  @discardableResult
  public static func serveMainActor(in mode: RunLoopMode = .common) throws(TreadleError) -> RunLoopDescriptor {
    let loop = try main()
    let queue = try MainQueue.shared.get()
    let item = RunLoopDescriptor(
      owning: try makeItem(of: Bodies(queue), label: "main actor") { info, label, handle in
        var context = treadle_descriptor_context()
        context.struct_size = MemoryLayout<treadle_descriptor_context>.size
        context.info = info
        context.release = releaseBody
        context.ready = { source, _, info in
          ItemBody.lend(source, info) { (own: Bodies, _: RunLoopDescriptor) in own.queue.run() }
        }
        context.fd = queue.descriptor
        context.events = RunLoopReadiness.readable.rawValue
        context.flags = UInt32(TREADLE_DESCRIPTOR_ACKNOWLEDGED)
        context.label = label
        return treadle_descriptor_create(&context, handle)
      })
    if try !loop.add(item, to: mode) { throw TreadleError(.closed, "the main thread has ended") }
    return item
  }
}
