// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A custom input source: signalled by any thread, performed by a loop that has it (SRC0-6, SRC0-7). Since 1.0.
public final class RunLoopSource: RunLoopItem, @unchecked Sendable {
  /// Called for a mode that the source joined or left. Since 1.0.
  public typealias ModeBody = @Sendable (RunLoopSource, RunLoopMode) throws -> Void

  private final class Bodies: ItemBody, @unchecked Sendable {
    let perform: @Sendable (RunLoopSource) throws -> Void
    let schedule: ModeBody?, cancel: ModeBody?

    init(perform: @escaping @Sendable (RunLoopSource) throws -> Void, schedule: ModeBody?, cancel: ModeBody?) {
      (self.perform, self.schedule, self.cancel) = (perform, schedule, cancel)
    }
  }

  /// Creates a source, in no mode yet. An error that a body throws is passed to the last-resort handler (THR-19). Any
  /// thread.
  /// - Parameters:
  ///   - order: smaller is performed first; equal ones in the order of their signals.
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: the source's scope; nil: the scope that the thread has entered.
  ///   - schedule: called for each mode that the source joined, on the thread that adds it (SRC0-3).
  ///   - cancel: called for each mode that the source left, on the thread that removes it.
  ///   - perform: called with the source on the loop's thread once it was signalled.
  /// - Throws: `TreadleError` when out of memory, for a label that is too long, or when the scope is closed. Since 1.0.
  public convenience init(
    order: Int64 = 0, label: String? = nil, scope: RunLoopScope? = nil, schedule: ModeBody? = nil,
    cancel: ModeBody? = nil,
    perform: @escaping @Sendable (RunLoopSource) throws -> Void
  ) throws(TreadleError) {
    let bodies = Bodies(perform: perform, schedule: schedule, cancel: cancel)
    self.init(
      owning: try makeItem(of: bodies, label: label) { info, label, handle in
        var context = treadle_source_context()
        context.struct_size = MemoryLayout<treadle_source_context>.size
        context.info = info
        context.release = releaseBody
        context.perform = { source, info in
          ItemBody.lend(source, info) { (own: Bodies, source: RunLoopSource) in try own.perform(source) }
        }
        if schedule != nil {
          context.schedule = { source, _, mode, info in
            ItemBody.lend(source, info) { (own: Bodies, source: RunLoopSource) in
              try own.schedule?(source, RunLoopMode(mode))
            }
          }
        }
        if cancel != nil {
          context.cancel = { source, _, mode, info in
            ItemBody.lend(source, info) { (own: Bodies, source: RunLoopSource) in
              try own.cancel?(source, RunLoopMode(mode))
            }
          }
        }
        context.order = order
        context.label = label
        return scope.use {
          context.scope = $0
          return treadle_source_create(&context, handle)
        }
      })
  }

  /// Marks the source, which is performed in the next pass of a mode that has it; signals before that coalesce
  /// (SRC0-6). With `wake`, every loop that has it is woken too. Any thread.
  /// - Returns: false when the source is invalid, or when out of memory. Since 1.0.
  @discardableResult
  public func signal(wake: Bool = true) -> Bool {
    (wake ? treadle_source_signal_and_wake(handle) : treadle_source_signal(handle)) == TREADLE_OK
  }

  /// True between a signal and the perform that it leads to (SRC0-14). Any thread. Since 1.0.
  public var isSignalled: Bool { treadle_source_is_signalled(handle) }
}

extension RunLoopMode {
  /// As a callback is told it.
  fileprivate init(_ name: UnsafePointer<CChar>?) { self.init(name.map { String(cString: $0) } ?? "") }
}
