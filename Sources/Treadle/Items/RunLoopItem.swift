// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// An item of a run loop: a source, a descriptor source, a port, a timer or an observer. The modes that have it keep it
/// alive; when neither they nor the client refer to it any more it is invalidated (OBJ-4). Two references to one item
/// are equal, but need not be identical. Since 1.0.
public class RunLoopItem: @unchecked Sendable {
  let handle: OpaquePointer
  /// Whether a reference to the item goes with this object. Written once, by the callback that has lent the item and
  /// holds this object, before it gives that up; read when the last one does.
  private var isOwner: Bool

  /// Takes over a client's reference.
  required init(owning handle: OpaquePointer) {
    self.handle = handle
    isOwner = true
  }

  /// For a callback, while which the item lives anyway.
  required init(borrowing handle: OpaquePointer) {
    self.handle = handle
    isOwner = false
  }

  deinit { if isOwner { _ = treadle_release(object) } }

  final var object: UnsafeMutableRawPointer { UnsafeMutableRawPointer(handle) }

  /// What a callback was lent is kept beyond it: then the object keeps the item. An object of an item without a
  /// reference left is told of.
  fileprivate final func own() { isOwner = isRetained(object) }

  /// True until the item is invalidated (OBJ-5). Any thread. Since 1.0.
  public final var isValid: Bool { treadle_is_valid(object) }

  /// Ends the item: it leaves every mode, and no callback of it starts any more on the loop's own thread
  /// once this returned (OBJ-9). Any thread, also inside its own callback. Since 1.0.
  public final func invalidate() { _ = treadle_invalidate(object) }

  /// Ends the item, and waits until no callback of it runs on another thread. Any thread.
  /// - Parameter timeout: nil waits for ever, zero or less does not wait.
  /// - Throws: `TreadleError` when the timeout passes, with the end begun; from inside one of its own callbacks. Since
  ///   1.0.
  public final func close(timeout: Duration? = nil) throws(TreadleError) {
    try check(treadle_close(object, timeout.limit))
  }

  /// The order that the item was made with. Since 1.0.
  public final var order: Int64 {
    var order: Int64 = 0
    _ = treadle_get_order(object, &order)
    return order
  }

  /// Adds the item to a mode of the calling thread's loop, so that one line can create and add it. Any thread.
  /// - Returns: the item.
  /// - Throws: as `RunLoop.add`; `TreadleError` of the code `.state` when the item is invalid or in another loop, or
  ///   when the thread's loop has been torn down. Since 1.0.
  @discardableResult
  public final func start(in mode: RunLoopMode = .default) throws(TreadleError) -> Self {
    let loop = try checkHandle(treadle_loop_current())
    let status = try check(mode.withName { treadle_loop_add(loop, object, $0) })
    if status == TREADLE_IGNORED && !mode.withName({ treadle_loop_contains(loop, object, $0) }) {
      throw TreadleError(.state, "the item is invalid, or in another loop, or the thread's loop is gone")
    }
    return self
  }
}

extension RunLoopItem: Hashable {
  /// Whether both mean the same item. Since 1.0.
  public static func == (left: RunLoopItem, right: RunLoopItem) -> Bool { left.handle == right.handle }
  /// Equal items hash alike. Since 1.0.
  public func hash(into hasher: inout Hasher) { hasher.combine(handle) }
}

extension RunLoopItem: CustomStringConvertible {
  /// Kind, label, handle, validity, order and what its kind has besides, then a line for each mode that has it, for
  /// people who debug (RL-12). Any thread. Since 1.0.
  public final var description: String { text { treadle_describe(object, $0, $1, $2) } ?? "an item that is gone" }
}

/// The bodies of an item, as the info of its callbacks; and the object by which callbacks are told the item, one after
/// the other.
class ItemBody: @unchecked Sendable {
  /// A callback has the object. Another one of the item, nested or on another thread, makes one of its own meanwhile.
  private let isLent = Atomic<Bool>(false)
  /// The object's bits, with a reference to it; 0 for none. Belongs to whoever has set `isLent`.
  private let bits = Atomic<UInt>(0)

  deinit { release(bits.load(ordering: .acquiring)) }

  private final func release(_ bits: UInt) {
    if let object = UnsafeRawPointer(bitPattern: bits) { Unmanaged<RunLoopItem>.fromOpaque(object).release() }
  }

  /// The pointer to hand over, with a reference.
  final func pass() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

  /// Calls `body` with what a callback got, its info and its item. A reference to the item's object that
  /// outlives the callback keeps the item.
  @inline(__always)
  static func lend<Own: ItemBody, Item: RunLoopItem>(
    _ handle: OpaquePointer?, _ info: UnsafeMutableRawPointer?, to body: (Own, Item) throws -> Void
  ) {
    guard let handle, let info else { return }
    Unmanaged<Own>.fromOpaque(info)._withUnsafeGuaranteedRef { own in
      let isFirst = !own.isLent.exchange(true, ordering: .acquiring)
      var bits = isFirst ? own.bits.load(ordering: .relaxed) : 0
      if bits == 0 { bits = UInt(bitPattern: Unmanaged.passRetained(Item(borrowing: handle)).toOpaque()) }
      guard let object = UnsafeRawPointer(bitPattern: bits) else { return }
      Unmanaged<Item>.fromOpaque(object)._withUnsafeGuaranteedRef { item in contain { try body(own, item) } }
      // The one reference is in the bits, unless somebody has kept the object.
      let isUnique = withUnsafeMutablePointer(to: &bits) {
        $0.withMemoryRebound(to: Item.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
      }
      if !isUnique { Unmanaged<Item>.fromOpaque(object)._withUnsafeGuaranteedRef { $0.own() } }
      if !isUnique || !isFirst {
        own.release(bits)
        bits = 0
      }
      if isFirst {
        own.bits.store(bits, ordering: .relaxed)
        own.isLent.store(false, ordering: .releasing)
      }
    }
  }
}

/// Creates an item of its bodies: hands them over with the label, and takes them back if the item is refused.
func makeItem(
  of bodies: ItemBody, label: String?,
  _ make: (UnsafeMutableRawPointer, UnsafePointer<CChar>?, UnsafeMutablePointer<OpaquePointer?>) -> treadle_status
) throws(TreadleError) -> OpaquePointer {
  if let label, label.utf8.contains(0) { throw TreadleError(.argument, "label contains a NUL") }
  let info = bodies.pass()
  var handle: OpaquePointer?
  let status = withText(label) { make(info, $0, &handle) }
  if status < 0 {
    defer { releaseBody(info) }
    throw TreadleError(status)
  }
  return try checkHandle(handle)
}
