// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleCore
package import TreadleBase

/// What was in a loop's modes a moment ago, each item and its mode held until `free`: sources first, then descriptor
/// sources, ports, timers and observers, those of one kind by their slots, and those of one item by the modes' slots.
package struct Members {
  /// By kind and slot of the item; the slot of the mode; the item's tag.
  private var found = Buffer<StableSort.Keyed>()
  private let loop: Loop

  /// The members of a mode, of the common modes those that are recorded, and with nil of all modes. Timers that a pass
  /// has taken lie in no list, so every item there is gets a look, and the lock is taken for each that may be a member.
  package init(of loop: Loop, in name: ModeName?) throws(Failure) {
    self.loop = loop
    var wanted: Mode??
    if let name { wanted = .some(try loop.holdMode(name)) }
    defer { if case .some(.some(let mode)) = wanted { loop.letGo(mode) } }
    var room = Buffer<StableSort.Keyed>()
    defer { room.free() }
    var rank: Int64 = 0
    var hasMemory = true
    Kind.forEachItemKind { kind in
      rank &+= 1
      Slab(kind).forEachLive { slot, _ in
        if let cell = Item(kind, slot: slot) { hasMemory = take(cell, rank, wanted) }
        return hasMemory
      }
    }
    if hasMemory && StableSort.sort(&found, with: &room) { return }
    free()
    throw Failure.noMemory("items")
  }

  private mutating func take(_ cell: Item, _ rank: Int64, _ wanted: Mode??) -> Bool {
    guard let mode = cell.mode, mode.isOf(loop) else { return true }
    loop.lock()
    defer { loop.unlock() }
    guard cell.isIn(mode), mode.isOf(loop), wanted.map({ $0?.slot == mode.slot }) ?? !mode.isRecord else { return true }
    let item = cell.primary
    let key = rank << 32 | Int64(item.slot)
    if !found.append(StableSort.Keyed(key: key, second: UInt64(mode.slot), value: UInt64(item.tag))) { return false }
    item.holdAgain()
    mode.holdAgain()
    return true
  }

  package var count: Int { found.count }
  package func item(_ index: Int) -> Item? { found[index].flatMap { Item(tag: UInt32(truncatingIfNeeded: $0.value)) } }
  package func mode(_ index: Int) -> Mode? {
    found[index].flatMap { Mode(slot: UInt32(truncatingIfNeeded: $0.second)) }
  }
  /// Whether it is not the one before by another membership.
  package func isFirst(_ index: Int) -> Bool { found[index]?.key != found[index &- 1]?.key }

  /// The same, sorted by their modes. They are kept by this one.
  func byMode() throws(Failure) -> MembersByMode {
    var sorted = Buffer<StableSort.Keyed>()
    var room = Buffer<StableSort.Keyed>()
    defer { room.free() }
    var hasMemory = true
    for member in found.elements where hasMemory {
      let keyed = StableSort.Keyed(
        key: Int64(bitPattern: member.second), second: UInt64(bitPattern: member.key), value: member.value)
      hasMemory = sorted.append(keyed)
    }
    if hasMemory && StableSort.sort(&sorted, with: &room) { return MembersByMode(sorted: sorted) }
    sorted.free()
    throw Failure.noMemory("items")
  }

  package mutating func free() {
    for index in 0..<found.count {
      item(index)?.letGo()
      mode(index)?.drop()
    }
    found.free()
  }
}

/// Members in the order of their modes' slots, then in their own: those of a mode are found in a logarithm of steps.
struct MembersByMode {
  /// By the slot of the mode, then by kind and slot of the item; the item's tag.
  fileprivate var sorted: Buffer<StableSort.Keyed>

  func forEachItem(of mode: Mode, _ body: (Item) -> Void) {
    let wanted = Int64(mode.slot)
    var first = 0
    var end = sorted.count
    while first < end {
      let middle = first &+ (end &- first) / 2
      if let member = sorted[middle], member.key < wanted { first = middle &+ 1 } else { end = middle }
    }
    while let member = sorted[first], member.key == wanted {
      if let item = Item(tag: UInt32(truncatingIfNeeded: member.value)) { body(item) }
      first &+= 1
    }
  }

  mutating func free() { sorted.free() }
}
