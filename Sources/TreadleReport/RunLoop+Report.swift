// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  import struct Synchronization.Atomic
  public import Treadle
  public import TreadleBase

  extension RunLoop: CustomStringConvertible {
    /// The items of a mode, of the common modes those recorded there, and with nil those of all modes, each once: sources
    /// first, then descriptor sources, timers and observers. What it gives are further references to them. For who debugs:
    /// it looks at all items of the process. Any thread. Since 1.0.
    /// - Throws: `Failure` when out of memory.
    public func items(in mode: RunLoopMode? = nil) throws(Failure) -> [RunLoopItem] {
      var members: Members
      if let mode {
        members = try mode.name.utf8CString.withUnsafeBufferPointer { name throws(Failure) in
          try Members(of: loop, in: name.baseAddress.map { ModeName($0) })
        }
      } else {
        members = try Members(of: loop, in: nil)
      }
      defer { members.free() }
      var items: [RunLoopItem] = []
      for index in 0..<members.count where members.isFirst(index) {
        guard let item = members.item(index), !DelayedRequest.isTimer(item),
          (try? Slab(item.kind).retainForClient(item.handle.bits, item.kind.name)) != nil
        else { continue }
        items.append(RunLoopItem(item))
      }
      return items
    }

    /// The loop's thread and what that does, then its modes with a line for each of their items, for people who debug. Any
    /// thread. Since 1.0.
    public var description: String { textOf { text throws(Failure) in try loop.report(&text) } }
  }

  /// What a loop has done since it was made. Since 1.0.
  public struct RunLoopCounters: Sendable {
    public internal(set) var passes: UInt64
    /// In the kernel. Since 1.0.
    public internal(set) var sleeps: UInt64
    /// Sleeps that a wake-up ended, or kept from beginning. Since 1.0.
    public internal(set) var wakes: UInt64
    /// What was called: blocks, sources, timers, descriptor sources and requests. Since 1.0.
    public internal(set) var posts, signals, timers, descriptors, requests: UInt64
    /// Why the last run that finished did. Since 1.0.
    public internal(set) var lastFinish: Finish

    public enum Finish: UInt32, Sendable {
      case none
      /// At once: there is no such mode, or it was that of the common modes (RUN-1, MODE-9).
      case unknownMode
      /// At once: nothing was in the mode or queued for it (RUN-1).
      case emptyAtOnce
      /// After a pass: nothing was left in the mode (RUN-10).
      case becameEmpty
    }
  }

  extension RunLoop {
    /// What the loop has done. Those of a batch count when it is over. Any thread. Since 1.0.
    public var counters: RunLoopCounters {
      let counters = loop.counters
      return RunLoopCounters(
        passes: counters.pointee.passes.load(ordering: .relaxed), sleeps: counters.pointee.sleeps.load(ordering: .relaxed),
        wakes: counters.pointee.wakes.load(ordering: .relaxed), posts: counters.pointee.posts.load(ordering: .relaxed),
        signals: counters.pointee.signals.load(ordering: .relaxed), timers: counters.pointee.timers.load(ordering: .relaxed),
        descriptors: counters.pointee.descriptors.load(ordering: .relaxed),
        requests: counters.pointee.requests.load(ordering: .relaxed),
        lastFinish: RunLoopCounters.Finish(rawValue: counters.pointee.lastFinish.load(ordering: .relaxed)) ?? .none)
    }
  }

  extension RunLoopItem: CustomStringConvertible {
    /// Kind, label, handle, validity, order and what its kind has besides, then a line for each mode that has it, for people
    /// who debug. Any thread. Since 1.0.
    public final var description: String { textOf { text throws(Failure) in try item.report(&text) } }
  }

  /// As much room as it takes, though the text may grow meanwhile.
  private func textOf(_ write: (inout FixedText) throws(Failure) -> Void) -> String {
    var room = 1024
    while true {
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
      defer { bytes.deallocate() }
      var text = FixedText(bytes)
      do throws(Failure) { try write(&text) } catch { return "out of memory" }
      if text.length < room { return String(decoding: bytes.prefix(text.length), as: UTF8.self) }
      room = text.length + 1
    }
  }
#endif
