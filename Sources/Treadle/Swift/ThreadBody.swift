// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  import TreadleBase

  /// What a thread of a Swift client runs; carried through the core's `info`. Not generic: threads begin at
  /// the same time.
  final class ThreadBody: Sendable {
    private let run: @Sendable () throws -> Void

    init(_ run: @escaping @Sendable () throws -> Void) { self.run = run }

    /// A thread that runs this and is not started yet. The client's reference is the caller's.
    func makeThread() throws(Failure) -> Thread {
      let info = Unmanaged.passRetained(self).toOpaque()
      do throws(Failure) {
        return try Thread.create(ThreadEntry(code: ThreadBody.enter, info: info, destroy: ThreadBody.release))
      } catch {
        ThreadBody.release(info)
        throw error
      }
    }

    /// Nothing leaves the thread's first function (THR-19).
    private static let enter: ThreadEntry.Function = { info in
      guard let info else { return nil }
      let body = Unmanaged<ThreadBody>.fromOpaque(info).takeUnretainedValue()
      do { try body.run() } catch { RunLoopLastResort.report(error) }
      return nil
    }
    private static let release: ThreadEntry.Destroy = { info in
      if let info { Unmanaged<ThreadBody>.fromOpaque(info).release() }
    }
  }
#endif
