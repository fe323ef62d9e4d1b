// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// What a descriptor is ready for. Since 1.0.
  public struct RunLoopReadiness: OptionSet, Sendable {
    /// The C interface's bits. Since 1.0.
    public let rawValue: UInt32
    /// A set of these bits. Since 1.0.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// There is something to read, or the end. Since 1.0.
    public static let readable = RunLoopReadiness(rawValue: Readiness.readable)
    /// There is room to write. Since 1.0.
    public static let writable = RunLoopReadiness(rawValue: Readiness.writable)
    /// Reported only: the other end closed.
    public static let hangup = RunLoopReadiness(rawValue: Readiness.hangup)
    /// Reported only: an error is pending. Of a descriptor that was closed the kernel says nothing, and its source goes silent;
    /// with `TREADLE_DEBUG=1` in the environment the loop looks before it sleeps, and reports this once.
    public static let failed = RunLoopReadiness(rawValue: Readiness.failed)
  }

  /// A descriptor source: performed as long as its descriptor is ready; never reads it (SRC1-2). Since 1.0.
  public final class RunLoopDescriptor: RunLoopItem, @unchecked Sendable {
    /// - Parameters:
    ///   - descriptor: stays the client's to close.
    ///   - readiness: `.readable`, `.writable` or both.
    ///   - label: what reports call it, of 255 bytes of UTF-8 at most.
    ///   - ready: called on the loop's thread with what was seen, one descriptor a pass (SRC1-5).
    /// - Throws: `Failure` for a descriptor that is not open, an empty mask, or when out of memory. Since 1.0.
    public init(
      _ descriptor: Int32, for readiness: RunLoopReadiness = .readable, label: String? = nil,
      ready: @escaping @Sendable (RunLoopReadiness) -> Void
    ) throws(Failure) {
      if readiness.isEmpty || !readiness.isSubset(of: [.readable, .writable]) {
        throw Failure(Status.argument, "readiness", "is neither readable nor writable")
      }
      let closures = ItemClosures(main: { ready(RunLoopReadiness(rawValue: $0)) })
      super.init(
        try closures.make(order: 0, label: label) { context, info throws(Failure) in
          try Item.descriptor(
            code: ItemClosures.codeWithValue, info: info, context: context, number: descriptor,
            events: readiness.rawValue, isAcknowledged: false)
        })
    }
  }
#endif
