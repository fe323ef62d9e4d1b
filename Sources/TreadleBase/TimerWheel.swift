// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// A hierarchical wheel of exact timers: constant time to insert and to remove. The slot that is being served is put
/// in order, so the order is exact to the nanosecond.
///
/// Time is cut into slots of 2^16 ns. A membership whose slot is the current one, or past, is in the run or in the
/// heap; any other lies in the wheel at the level of the highest six-bit digit in which its slot differs from the
/// current one. When both are empty the next used slot becomes the run, or spreads over the levels below.
///
/// The memberships of a slot of the wheel are linked, in four chains: walking one waits for the memory of each
/// member, walking four in turn does not.
package struct TimerWheel {
  private static let levels = 8
  private static let slotBits: Int64 = 16
  private static let chains = 4

  /// The timers of the current slot that were there when it began, and those that came later.
  private var run = TimerRun()
  private var near = TimerHeap()
  private var slot: Int64
  /// How many memberships lie in the wheel.
  private var far = 0
  /// For each level, then for each level, index and chain: which slots are used, and the first membership there.
  private(set) var used: UnsafeMutablePointer<UInt64>
  private var heads: UnsafeMutablePointer<UInt32>

  package static func make() -> TimerWheel? {
    let size = levels &* MemoryLayout<UInt64>.stride &+ levels &* 64 &* chains &* MemoryLayout<UInt32>.stride
    guard let memory = treadle_system_allocate(size) else { return nil }
    memset(memory, 0, size)
    var wheel = TimerWheel(memory)
    if wheel.run.reserve() { return wheel }
    wheel.free()
    return nil
  }

  private init(_ memory: UnsafeMutableRawPointer) {
    used = memory.bindMemory(to: UInt64.self, capacity: TimerWheel.levels)
    heads = (memory + TimerWheel.levels &* 8).bindMemory(
      to: UInt32.self, capacity: TimerWheel.levels &* 64 &* TimerWheel.chains)
    slot = max(Clock.now(), 0) >> TimerWheel.slotBits
  }

  package mutating func free() {
    run.free()
    near.free()
    treadle_system_free(used)
  }

  @inline(__always)
  package mutating func reserve() -> Bool { near.reserve() }

  private static func noteNear(_ entry: TimerHeap.Entry, _ index: Int) {
    TimerMember(slot: entry.slot)?.due.place = TimerCell.Place.near &+ UInt32(truncatingIfNeeded: index)
  }

  @inline(__always)
  private static func entry(_ member: TimerMember) -> TimerHeap.Entry {
    TimerHeap.Entry(key: member.due.date, sequence: member.due.sequence, slot: member.slot)
  }

  @inline(__always)
  private static func slot(of date: Int64) -> Int64 { max(date, 0) &>> slotBits }

  /// False when there is no memory: the membership lies nowhere then.
  @inline(__always)
  package mutating func insert(_ member: TimerMember) -> Bool {
    let target = TimerWheel.slot(of: member.due.date)
    if target > slot {
      insertFar(member, target)
      return true
    }
    return insertNear(member)
  }

  @inline(never)
  private mutating func insertNear(_ member: TimerMember) -> Bool {
    near.insert(TimerWheel.entry(member), moved: TimerWheel.noteNear)
  }

  @inline(__always)
  private mutating func insertFar(_ member: TimerMember, _ target: Int64) {
    // A sixth of the highest bit's number, without a division.
    let highest = UInt32(truncatingIfNeeded: 63 &- (target ^ slot).leadingZeroBitCount)
    let level = Int(truncatingIfNeeded: (highest &* 43) &>> 8)
    let index = Int(target &>> Int64(6 &* level)) & 63
    let place = 64 &* level &+ index
    let chain = heads + (TimerWheel.chains &* place &+ Int(member.slot & 3))
    let head = chain.pointee
    member.cell.previous = 0
    member.cell.next = head
    TimerMember(slot: head)?.cell.previous = member.slot
    chain.pointee = member.slot
    used[level] |= 1 &<< UInt64(index)
    member.due.place = TimerCell.Place.wheel &+ UInt32(truncatingIfNeeded: place)
    far &+= 1
  }

  package mutating func remove(_ member: TimerMember) {
    let place = member.due.place
    if place < TimerCell.Place.near {
      removeFar(member, place)
    } else if place == TimerCell.Place.run {
      run.remove(TimerWheel.entry(member))
    } else {
      near.remove(at: Int(place &- TimerCell.Place.near), moved: TimerWheel.noteNear)
    }
  }

  @inline(__always)
  private mutating func removeFar(_ member: TimerMember, _ memberPlace: UInt32) {
    let previous = member.cell.previous
    let next = member.cell.next
    TimerMember(slot: next)?.cell.previous = previous
    if let before = TimerMember(slot: previous) {
      before.cell.next = next
    } else {
      setHead(memberPlace, member.slot, next)
    }
    far &-= 1
  }

  /// A chain begins with another membership, or none.
  @inline(__always)
  private func setHead(_ memberPlace: UInt32, _ old: UInt32, _ head: UInt32) {
    let place = Int(memberPlace &- TimerCell.Place.wheel)
    let chains = heads + TimerWheel.chains &* place
    chains[Int(old & 3)] = head
    if chains[0] | chains[1] | chains[2] | chains[3] == 0 { used[place &>> 6] &= ~(1 &<< UInt64(place & 63)) }
  }

  /// The membership that fires first.
  @inline(__always)
  package mutating func first() -> TimerHeap.Entry? {
    while true {
      if let entry = run.first {
        guard let other = near.first, other.precedes(entry) else { return entry }
        return other
      }
      if let entry = near.first { return entry }
      if far == 0 || !advance() { return run.first }
    }
  }

  /// Takes out the membership that `first` has answered. It lies nowhere then.
  @inline(__always)
  package mutating func takeFirst(_ member: TimerMember) {
    if member.due.place == TimerCell.Place.run { run.takeFirst() } else { remove(member) }
  }

  /// With nothing in the current slot: goes on to the next used one. False when there is no memory for it.
  @inline(never)
  private mutating func advance() -> Bool {
    run.clear()
    for level in 0..<TimerWheel.levels {
      let digit = (slot >> Int64(6 &* level)) & 63
      // The current one is used only where memory was out when its turn came.
      let later = used[level] & (~0 << UInt64(digit))
      if later == 0 { continue }
      let index = later.trailingZeroBitCount
      let above = (slot >> Int64(6 &* level &+ 6)) << 6
      slot = (above | Int64(index)) << Int64(6 &* level)
      used[level] &= ~(1 << UInt64(index))
      let isComplete = spread(64 &* level &+ index)
      run.sort()
      return isComplete
    }
    return false
  }

  /// Moves the members of a slot to where they belong now, a chain's turn after the other's. False when there is no
  /// memory: the rest stays, and is found again.
  private mutating func spread(_ place: Int) -> Bool {
    let chains = heads + TimerWheel.chains &* place
    var remaining = true
    while remaining {
      remaining = false
      var chain = 0
      while chain < TimerWheel.chains {
        if let member = TimerMember(slot: chains[chain]) {
          let next = member.cell.next
          TimerMember(slot: next)?.prefetchForWriting()
          chains[chain] = next
          far &-= 1
          if !gather(member) {
            putBack(member, place)
            return false
          }
          remaining = true
        }
        chain &+= 1
      }
    }
    return true
  }

  /// Into the run, if its turn is in the current slot; it may have been put off since it was inserted.
  @inline(__always)
  private mutating func gather(_ member: TimerMember) -> Bool {
    let target = TimerWheel.slot(of: member.due.date)
    if target > slot {
      insertFar(member, target)
      return true
    }
    if !run.append(TimerWheel.entry(member)) { return false }
    member.due.place = TimerCell.Place.run
    return true
  }

  /// A member stays at the head of its chain, as do the heads of the others.
  private mutating func putBack(_ member: TimerMember, _ place: Int) {
    let chains = heads + TimerWheel.chains &* place
    member.cell.next = chains[Int(member.slot & 3)]
    chains[Int(member.slot & 3)] = member.slot
    for chain in 0..<TimerWheel.chains { TimerMember(slot: chains[chain])?.cell.previous = 0 }
    used[place / 64] |= 1 << UInt64(place & 63)
    far &+= 1
  }

  // MARK: Invariants

  /// Counts the memberships, and finds their first date. Returns what is broken, in words, or nil.
  package func brokenInvariant(_ count: inout Int, _ first: inout Int64) -> StaticString? {
    var served = 0
    func holds(_ entry: TimerHeap.Entry, _ place: UInt32) -> Bool {
      served &+= 1
      first = min(first, entry.key)
      guard let member = TimerMember(slot: entry.slot) else { return false }
      return member.due.place == place && member.due.date == entry.key
    }
    if !run.isInOrder({ holds($0, TimerCell.Place.run) }) { return "the run of a timer wheel is in order" }
    if !near.isInOrder({ holds($0, TimerCell.Place.near &+ UInt32(truncatingIfNeeded: $1)) }) {
      return "the heap of a timer wheel is in order"
    }
    count &+= served
    var linked = 0
    for place in 0..<TimerWheel.levels &* 64 {
      let before = linked
      for chain in 0..<TimerWheel.chains {
        var (next, previous) = (heads[TimerWheel.chains &* place &+ chain], UInt32(0))
        while let member = TimerMember(slot: next) {
          let known = Int(member.due.place &- TimerCell.Place.wheel)
          if known != place { return "a timer knows its slot of the wheel" }
          if member.cell.previous != previous { return "a timer is behind the timer before it" }
          linked &+= 1
          first = min(first, member.due.date)
          (previous, next) = (next, member.cell.next)
        }
      }
      let isUsed = used[place &>> 6] & 1 &<< UInt64(place & 63) != 0
      if isUsed != (linked != before) { return "a slot of the wheel that has timers is marked as used" }
    }
    if linked != far { return "the wheel has as many timers as it counts" }
    count &+= linked
    return nil
  }
}
