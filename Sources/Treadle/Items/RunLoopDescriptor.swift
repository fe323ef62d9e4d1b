// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// The readiness of a descriptor. Since 1.0.
public struct RunLoopReadiness: OptionSet, Hashable, Sendable {
  /// The C interface's bits. Since 1.0.
  public let rawValue: UInt32
  /// A set of these bits. Since 1.0.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  private init(_ bits: Int) { rawValue = UInt32(truncatingIfNeeded: bits) }

  /// There is something to read, or the end. Since 1.0.
  public static let readable = RunLoopReadiness(TREADLE_READABLE)
  /// There is room to write. Since 1.0.
  public static let writable = RunLoopReadiness(TREADLE_WRITABLE)
  /// Reported only: the other end closed. Since 1.0.
  public static let hangup = RunLoopReadiness(TREADLE_HANGUP)
  /// Reported only: an error is pending. Of a descriptor that was closed the kernel says nothing, and its source goes
  /// silent; with `TREADLE_DEBUG=1` in the environment the loop looks before it sleeps, and reports this once. Since
  /// 1.0.
  public static let failed = RunLoopReadiness(TREADLE_FAILED)
}

extension RunLoopReadiness: CustomStringConvertible {
  /// The names of what is in it. Since 1.0.
  public var description: String {
    names(of: self, [(.readable, "readable"), (.writable, "writable"), (.hangup, "hangup"), (.failed, "failed")])
  }
}

/// A descriptor source: performed as long as its descriptor is ready; never reads it (SRC1-2). Since 1.0.
public final class RunLoopDescriptor: RunLoopItem, @unchecked Sendable {
  private typealias Ready = @Sendable (RunLoopDescriptor, RunLoopReadiness) throws -> Void

  private final class Bodies: ItemBody, @unchecked Sendable {
    let ready: Ready
    init(_ ready: @escaping Ready) { self.ready = ready }
  }

  /// Creates a descriptor source, in no mode yet. Any thread.
  /// - Parameters:
  ///   - descriptor: stays the client's to close, after the source has ended.
  ///   - readiness: `.readable`, `.writable` or both.
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: the source's scope; nil: the scope that the thread has entered.
  ///   - ready: called on the loop's thread with the source and what was seen, once a pass (SRC1-5). An error that it
  ///     throws goes to the last-resort handler (THR-19).
  /// - Throws: `TreadleError` for a descriptor that is not open, an empty mask, a label that is too long, when out of
  ///   memory, or when the scope is closed. Since 1.0.
  public convenience init(
    _ descriptor: Int32, for readiness: RunLoopReadiness = .readable, label: String? = nil, scope: RunLoopScope? = nil,
    ready: @escaping @Sendable (RunLoopDescriptor, RunLoopReadiness) throws -> Void
  ) throws(TreadleError) {
    self.init(
      owning: try makeItem(of: Bodies(ready), label: label) { info, label, handle in
        var context = treadle_descriptor_context()
        context.struct_size = MemoryLayout<treadle_descriptor_context>.size
        context.info = info
        context.release = releaseBody
        context.ready = { source, events, info in
          ItemBody.lend(source, info) { (own: Bodies, source: RunLoopDescriptor) in
            try own.ready(source, RunLoopReadiness(rawValue: events))
          }
        }
        context.fd = descriptor
        context.events = readiness.rawValue
        context.label = label
        return scope.use {
          context.scope = $0
          return treadle_descriptor_create(&context, handle)
        }
      })
  }

  /// The events that are watched for. Any thread. Since 1.0.
  public var readiness: RunLoopReadiness {
    var events: UInt32 = 0
    _ = treadle_descriptor_get_events(handle, &events)
    return RunLoopReadiness(rawValue: events)
  }

  /// Changes what is watched for, at once also in a sleeping loop. An empty mask pauses the source, which stays in its
  /// modes and keeps them from being empty. Any thread.
  /// - Throws: `TreadleError` for what cannot be watched for, when the source is invalid, when the kernel refuses, or,
  ///   of the code `.exists`, when the descriptor was closed and another source of a mode watches its number now
  ///   (SRC1-7). Nothing changes then. Since 1.0.
  public func setReadiness(_ readiness: RunLoopReadiness) throws(TreadleError) {
    try check(treadle_descriptor_set_events(handle, readiness.rawValue))
  }

  /// The descriptor that is watched. Any thread. Since 1.0.
  public var descriptor: Int32 {
    var descriptor: Int32 = -1
    _ = treadle_descriptor_get_fd(handle, &descriptor)
    return descriptor
  }
}
