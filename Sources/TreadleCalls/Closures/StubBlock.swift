// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import CTreadleStubs
import CTreadleSystem
import Synchronization

/// Stubs in memory that is mapped for them, for kept pointers of one signature and one default result: 16 KiB of code,
/// which is the same memory in all blocks, and 16 KiB of slots, of which the last one holds a `Header`.
///
/// When all closures of a block are gone its slots do not change any more, and those of all such blocks are alike: they
/// are replaced by the tombstones' image, mapped once more. What is left of the pointers are their addresses, which
/// never mean anything else. A call that comes meanwhile finds the same in the old slots and in the new ones.
struct StubBlock {
  private struct Header: ~Copyable {
    let shared: SharedTombstone.Pointer
    let sealed = Atomic<UInt32>(0)
    /// Guarded by the pool's gate.
    var taken = 0

    init(_ shared: SharedTombstone.Pointer) { self.shared = shared }
  }

  private let slots: UnsafeMutableRawPointer

  private static let size = Int(TREADLE_STUB_BLOCK)
  private static let slotSize = Int(TREADLE_STUB_ROOM)
  private static let count = size / slotSize &- 1
  /// A process has as many at most: two million pointers. Each uses two of the kernel's mappings, of which there are
  /// 65,530.
  static let limit: UInt32 = 8192
  /// The code that all blocks show.
  private static let code = Atomic<UInt>(0)

  /// Nil when there is no memory, no more mappings, or none that may be executed.
  static func make(_ shared: SharedTombstone.Pointer) -> StubBlock? {
    guard let code = sharedCode, let memory = treadle_system_map(2 &* size, false) else { return nil }
    guard treadle_system_map_again(code, size, memory) else {
      treadle_system_unmap(memory, 2 &* size)
      return nil
    }
    let block = StubBlock(slots: memory + size)
    block.header.initialize(to: Header(shared))
    return block
  }

  /// For one that was never shown to anybody.
  func free() { treadle_system_unmap(slots - StubBlock.size, 2 &* StubBlock.size) }

  private static var sharedCode: UnsafeMutableRawPointer? {
    once(code) { memory in treadle_stub_write_block(memory) && treadle_system_make_code(memory, size) }
  }

  /// Pages that are written once for all blocks.
  private static func once(
    _ place: borrowing Atomic<UInt>, _ write: (UnsafeMutableRawPointer) -> Bool
  ) -> UnsafeMutableRawPointer? {
    if let known = UnsafeMutableRawPointer(bitPattern: place.load(ordering: .acquiring)) { return known }
    guard let memory = treadle_system_map(size, true) else { return nil }
    guard write(memory) else {
      treadle_system_unmap(memory, size)
      return nil
    }
    let entered = place.compareExchange(
      expected: 0, desired: UInt(bitPattern: memory), ordering: .acquiringAndReleasing)
    if entered.exchanged { return memory }
    treadle_system_unmap(memory, size)
    return UnsafeMutableRawPointer(bitPattern: entered.original)
  }

  // MARK: Stubs

  private var header: UnsafeMutablePointer<Header> {
    (slots + StubBlock.count &* StubBlock.slotSize).assumingMemoryBound(to: Header.self)
  }

  /// Guarded by the pool's gate.
  var isUsedUp: Bool { header.pointee.taken == StubBlock.count }

  /// A blank stub that leads calls to `ClosureEntry`; nil if the signature cannot. Guarded by the pool's gate.
  func take() -> Stub? {
    guard !isUsedUp, let words = StubPool.words(header.pointee.shared.pointee.body.pointee.signature) else {
      return nil
    }
    let offset = header.pointee.taken &* StubBlock.slotSize
    header.pointee.taken &+= 1
    let slot = (slots + offset).bindMemory(to: StubSlot.self, capacity: 1)
    slot.initialize(
      to: StubSlot(
        code: slots - StubBlock.size + offset, words, word: StubWord(bits: 0), body: nil, tag: 0,
        flags: StubSlot.Flag.block))
    slot.pointee.next = UnsafeMutableRawPointer(header).assumingMemoryBound(to: StubSlot.self)
    return Stub(slot)
  }

  private static func block(of stub: Stub) -> StubBlock? {
    guard let header = stub.slot.pointee.next else { return nil }
    return StubBlock(slots: UnsafeMutableRawPointer(header) - count &* slotSize)
  }

  // MARK: The end

  /// A stub that was taken and not used.
  static func seal(_ stub: Stub) {
    guard let block = block(of: stub) else { return }
    stub.seal(naming: block.header.pointee.shared.pointee.body)
    countSealed(stub)
  }

  /// One more stub is sealed. Nobody writes to its slot any more.
  static func countSealed(_ stub: Stub) {
    guard let block = block(of: stub) else { return }
    let sealed = block.header.pointee.sealed.add(1, ordering: .acquiringAndReleasing).newValue
    if sealed < count { return }
    // Without memory for the image the block stays as it is.
    guard let image = image(block.header.pointee.shared) else { return }
    _ = treadle_system_map_again(image, size, block.slots)
    // The same code, which counts as pages of this process only where it is called again.
    if let code = sharedCode { _ = treadle_system_map_again(code, size, block.slots - size) }
  }

  /// The slots of a block whose closures are gone. They are writable: calls tell the first of them that they were
  /// reported, and one that has read a word before it was sealed may still try to exchange it.
  private static func image(_ shared: SharedTombstone.Pointer) -> UnsafeMutableRawPointer? {
    once(shared.pointee.image) { memory in
      let body = shared.pointee.body
      guard let words = StubPool.words(body.pointee.signature) else { return false }
      var index = 0
      while index < count {
        (memory + index &* slotSize).bindMemory(to: StubSlot.self, capacity: 1).initialize(
          to: StubSlot(
            code: nil, words, word: StubWord.sealed, body: body, tag: body.pointee.tag,
            flags: StubSlot.Flag.block | StubSlot.Flag.kept))
        index &+= 1
      }
      return true
    }
  }
}
