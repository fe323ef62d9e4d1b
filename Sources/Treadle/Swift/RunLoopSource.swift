// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// A custom input source: signalled by anybody, performed by a loop that has it (SRC0-6, SRC0-7). Since 1.0.
  public final class RunLoopSource: RunLoopItem, @unchecked Sendable {
    /// - Parameters:
    ///   - order: smaller is performed first; equal ones in the order of their signals.
    ///   - label: what reports call it, of 255 bytes of UTF-8 at most.
    ///   - schedule: called for each mode that the source joined, on the thread that adds it (SRC0-3).
    ///   - cancel: called for each mode that the source left, on the thread that removes it.
    ///   - perform: called on the loop's thread once it was signalled.
    /// - Throws: `Failure` when out of memory. Since 1.0.
    public init(
      order: Int64 = 0, label: String? = nil, schedule: (@Sendable (RunLoopMode) -> Void)? = nil,
      cancel: (@Sendable (RunLoopMode) -> Void)? = nil, perform: @escaping @Sendable () -> Void
    ) throws(Failure) {
      let closures = ItemClosures(main: { _ in perform() }, schedule: schedule, cancel: cancel)
      super.init(
        try closures.make(order: order, label: label) { context, info throws(Failure) in
          try Item.source(code: ItemClosures.code, info: info, context: context)
        })
    }

    /// Marks the source; with `wake`, every loop that has it is woken too. Any thread. Since 1.0.
    public func signal(wake: Bool = true) { _ = try? item.signal(wake: wake) }

    /// True between a signal and the perform that it leads to (SRC0-14). Since 1.0.
    public var isSignalled: Bool { item.isSignalled }
  }
#endif
