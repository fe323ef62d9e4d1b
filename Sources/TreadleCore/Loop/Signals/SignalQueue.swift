// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

extension Item {
  /// The clean-up of a queue that is going on has seen this membership. False if it had before.
  fileprivate func markCounted() -> Bool {
    cell.notes.bitwiseOr(Note.counted, ordering: .relaxed).oldValue & Note.counted == 0
  }
  fileprivate func clearCounted() { cell.notes.bitwiseAnd(~Note.counted, ordering: .relaxed) }
}

/// The signalled sources of a mode that no pass has collected yet.
extension Mode {
  /// Nobody queues anything here any more: the mode is no loop's from here on.
  func closeSignals() {
    guard let loop else { return }
    loop.state.gate.lock()
    var queue = state.signalled
    state.signalled = Buffer()
    state.signalsAreMixed = false
    noteSignalledCount()
    // A thread that reads this looks at nothing else of the mode.
    state.loop.store(nil, ordering: .relaxed)
    loop.state.gate.unlock()
    queue.free()
  }

  /// Queues a membership of a source. The gate is held. False without room (`takesSignals`).
  @inline(__always)
  func append(_ entry: Entry) -> Bool {
    guard state.signalled.appendInRoom(entry) else { return false }
    noteSignalledCount()
    return true
  }

  /// Whether the mode is the loop's. If so, and there is memory, it has room for one more. The loop's gate is held, and
  /// may have been open meanwhile: nothing that was looked at before holds behind it.
  @inline(__always)
  func takesSignals(of loop: Loop) -> Bool {
    // A mode may become the loop's at any moment, in the slot of one that was: so this is looked at once.
    if !isOf(loop) { return false }
    if state.signalled.isFull { growSignals(loop) }
    return isOf(loop)
  }

  @inline(never)
  private func growSignals(_ loop: Loop) {
    dropStaleSignals()
    while isOf(loop) && state.signalled.isFull {
      let wanted = state.signalled.capacity(for: 0)
      loop.state.gate.unlock()
      var room = Buffer<Entry>()
      let hasMemory = room.reserve(wanted)
      loop.state.gate.lock()
      if !hasMemory { return }
      if isOf(loop) { state.signalled.move(into: &room) }
      loop.state.gate.unlock()
      room.free()
      loop.state.gate.lock()
    }
  }

  /// Queues a membership of a source that the owner has signalled himself. False without memory. Owner.
  @inline(__always)
  func appendOwn(_ entry: Entry) -> Bool {
    state.ownSignals.appendInRoom(entry) || appendOwnSlowly(entry)
  }

  @inline(never)
  private func appendOwnSlowly(_ entry: Entry) -> Bool {
    keepSignals(in: &state.ownSignals)
    state.ownSignalsAreMixed = true
    return state.ownSignals.append(entry)
  }

  /// Asks for the cache line that others' signals write.
  @inline(__always)
  func prefetchSignals() {
    withUnsafeMutablePointer(to: &state.signalled) { treadle_system_prefetch_for_writing($0) }
  }

  /// The gate is held, which orders what is queued: a thread that reads the count takes it before it looks at the
  /// queue.
  @inline(__always)
  func noteSignalledCount() {
    state.signalledCount.store(state.signalled.count, ordering: .relaxed)
  }

  /// Queues a membership of a source that is signalled, whenever that was: where it takes its turn is decided when it
  /// is collected. False without memory.
  func mention(_ member: Item) -> Bool {
    guard let loop else { return true }
    loop.state.gate.lock()
    defer { loop.state.gate.unlock() }
    // The membership may have ended, and the loop have gone, meanwhile.
    if !takesSignals(of: loop) { return true }
    state.signalsAreMixed = true
    return append(Entry(member, SignalTime.any))
  }

  /// Keeps a queue that nobody runs from growing with stale entries. The gate is held.
  @inline(never)
  private func dropStaleSignals() {
    keepSignals(in: &state.signalled)
    state.signalsAreMixed = true
    noteSignalledCount()
  }

  private func keepSignals(in queue: inout Buffer<Entry>) {
    var kept = 0
    for entry in queue.elements {
      guard signalled(entry) != nil, let member = Item(.source, slot: entry.mention.slot), member.markCounted() else {
        continue
      }
      queue.set(kept, entry)
      kept &+= 1
    }
    queue.truncate(kept)
    for entry in queue.elements { Item(.source, slot: entry.mention.slot)?.clearCounted() }
  }

  /// The source of an entry that is not stale: still in that membership of this mode, and signalled, at whatever time.
  /// A time decides about the order alone, since who signals does not hold the source: a late one may write it to a
  /// stranger's.
  @inline(__always)
  func signalled(_ entry: Entry) -> Item? {
    guard let member = Item(.source, slot: entry.mention.slot), entry.mention.means(member), member.isIn(self) else {
      return nil
    }
    let item = member.primary
    return item.isSignalled ? item : nil
  }
}
