// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  import TreadleBase

  /// What a thread is asked to perform; carried as the target of a request.
  final class PerformedBody: @unchecked Sendable {
    private let body: @Sendable () throws -> Void
    /// Somebody waits, and gets the error.
    private let isAwaited: Bool
    /// Written by the thread that performs, read after it by the one that waits.
    private(set) var error: (any Error)?

    init(_ body: @escaping @Sendable () throws -> Void, isAwaited: Bool) {
      self.body = body
      self.isAwaited = isAwaited
    }

    /// A request that holds this object.
    func makeRequest() -> Request {
      var request = Request(
        function: PerformedBody.function, target: Unmanaged.passRetained(self).toOpaque(), argument: nil)
      request.releaseTarget = PerformedBody.release
      return request
    }

    /// Nothing leaves the callback (PERF-11).
    private func perform() {
      do { try body() } catch {
        if isAwaited { self.error = error } else { RunLoopLastResort.report(error) }
      }
    }

    private static let function: Request.Function = { target, _ in
      if let target { Unmanaged<PerformedBody>.fromOpaque(target).takeUnretainedValue().perform() }
    }
    private static let release: Request.Release = { target in
      if let target { Unmanaged<PerformedBody>.fromOpaque(target).release() }
    }
  }
#endif
