// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  import TreadleBase

  /// What a run loop watches: a source, a descriptor source, a timer or an observer. The modes that have it
  /// keep it alive; when neither they nor the client refer to it any more it is invalidated (OBJ-4). Since 1.0.
  public class RunLoopItem: @unchecked Sendable {
    /// Constant; the core guards its own state.
    package let item: Item
    private let life: ProcessLife

    /// Takes over a client's reference.
    package init(_ item: Item) {
      self.item = item
      life = ProcessLife()
    }

    deinit { if life.goesOn { item.giveUp() } }

    /// True until the item is invalidated (OBJ-5). Any thread. Since 1.0.
    public final var isValid: Bool { item.isValid }

    /// Ends the item: it leaves every mode, and no callback of it starts any more on the loop's own thread
    /// once this returned (OBJ-9). Any thread, also inside its own callback. Since 1.0.
    public final func invalidate() { item.invalidate() }

    /// The order that the item was made with. Since 1.0.
    public final var order: Int64 { item.order }

    /// What the item was called when it was made, for people; nil without a label. Since 1.0.
    public final var label: String? { item.label.map { String(cString: $0) } }
  }

  /// What a client gave an item to call; carried through the core's `info`.
  struct ItemClosures: Sendable {
    /// Gets the activity or the readiness; sources and timers ignore it.
    var main: @Sendable (UInt32) -> Void
    var schedule: (@Sendable (RunLoopMode) -> Void)?
    var cancel: (@Sendable (RunLoopMode) -> Void)?

    /// Makes an item of closures, with a context, which copies the label, and an info. The core gives the info back when it will
    /// never call again; here it is given back if that fails.
    func make(
      order: Int64, label: String?, _ body: (Context, UnsafeMutableRawPointer) throws(Failure) -> Item
    ) throws(Failure) -> Item {
      guard let label else { return try make(order: order, text: nil, body) }
      if label.utf8.count > 255 { throw Failure(Status.range, "label", "is longer than 255 bytes") }
      return try label.utf8CString.withUnsafeBufferPointer { text throws(Failure) in
        try make(order: order, text: text.baseAddress, body)
      }
    }

    private func make(
      order: Int64, text: UnsafePointer<CChar>?, _ body: (Context, UnsafeMutableRawPointer) throws(Failure) -> Item
    ) throws(Failure) -> Item {
      var context = Context(retain: nil, release: ItemClosures.release, describe: nil, order: order)
      context.label = text
      if schedule != nil { context.schedule = ItemClosures.tellScheduled }
      if cancel != nil { context.cancel = ItemClosures.tellCancelled }
      let info = Unmanaged.passRetained(Box(self)).toOpaque()
      do throws(Failure) {
        return try body(context, info)
      } catch {
        ItemClosures.release(info)
        throw error
      }
    }

    static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { info in
      if let info { Unmanaged<Box<ItemClosures>>.fromOpaque(info).release() }
    }
    private static let tellScheduled: Context.Schedule = { _, _, mode, info in
      if let mode { Box<ItemClosures>.value(info)?.schedule?(RunLoopMode(String(cString: mode))) }
    }
    private static let tellCancelled: Context.Schedule = { _, _, mode, info in
      if let mode { Box<ItemClosures>.value(info)?.cancel?(RunLoopMode(String(cString: mode))) }
    }
    private static let plain: Loop.PlainItem = { _, info in Box<ItemClosures>.value(info)?.main(0) }
    private static let plainWithValue: Loop.PlainItemWithValue = { _, value, info in
      Box<ItemClosures>.value(info)?.main(value)
    }
    /// The core's plain callbacks.
    static var code: UnsafeMutableRawPointer { unsafeBitCast(plain, to: UnsafeMutableRawPointer.self) }
    static var codeWithValue: UnsafeMutableRawPointer {
      unsafeBitCast(plainWithValue, to: UnsafeMutableRawPointer.self)
    }
  }
#endif
