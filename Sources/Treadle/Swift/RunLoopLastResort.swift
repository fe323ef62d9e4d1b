// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  public import TreadleBase

  /// What becomes of an error that nobody caught: one that left a thread's body, or something that was performed
  /// without anybody waiting for it (THR-19). Nothing leaves Treadle's own frames. Since 1.0.
  public enum RunLoopLastResort {
    /// Deals with an error: on which thread, of what kind, such as "Swift error", and its text. True when it has dealt
    /// with it. Called on the thread where it happened (THR-19). Since 1.0.
    public typealias Body = @Sendable (_ thread: RunLoopThread?, _ kind: String, _ message: String) -> Bool

    /// Sets the process's handler in place of the one before; nil for the default, which prints one line to standard
    /// error and answers false (THR-19). [any]
    /// - Parameter handler: released when it was replaced and no call of it runs.
    /// - Throws: `Failure` when out of memory, or in the child of a fork; the handler before stays. Since 1.0.
    public static func setHandler(_ handler: Body?) throws(Failure) {
      guard let handler else { return try LastResort.set(nil) }
      let info = Unmanaged.passRetained(LastResortBody(handler)).toOpaque()
      do throws(Failure) {
        try LastResort.set(
          Handler(
            code: unsafeBitCast(LastResortBody.call, to: UnsafeMutableRawPointer.self), info: info,
            destroy: LastResortBody.release))
      } catch {
        LastResortBody.release(info)
        throw error
      }
    }

    /// Hands an error to the handler (THR-19). [any]
    /// - Returns: whether it was dealt with. Since 1.0.
    @discardableResult
    public static func report(kind: String, message: String) -> Bool {
      let thread = (try? Thread.current().handle) ?? Handle(bits: 0)
      return kind.withCString { kind in
        message.withCString { message in LastResort.report(thread, kind, message) }
      }
    }

    /// Hands an error of Swift's to the handler (THR-19). [any]
    /// - Returns: whether it was dealt with. Since 1.0.
    @discardableResult
    public static func report(_ error: any Error) -> Bool {
      report(kind: "Swift error", message: String(describing: error))
    }
  }

  /// The handler; carried through the core's `info`.
  private final class LastResortBody: Sendable {
    private let body: RunLoopLastResort.Body

    init(_ body: @escaping RunLoopLastResort.Body) { self.body = body }

    static let call: LastResort.Plain = { thread, kind, message, info in
      guard let info, let kind, let message else { return false }
      let body = Unmanaged<LastResortBody>.fromOpaque(info).takeUnretainedValue()
      let object = try? RunLoopThread(handle: UInt(bitPattern: thread))
      return body.body(object, String(cString: kind), String(cString: message))
    }
    static let release: Handler.Destroy = { info in
      if let info { Unmanaged<LastResortBody>.fromOpaque(info).release() }
    }
  }
#endif
