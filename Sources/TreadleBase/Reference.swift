// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization

/// The first word of every object in a slab: a versioned reference count. It says which generation lives there, how
/// many references keep it alive, and of an item the few marks that other threads change without a lock. So whoever
/// changes anything through a handle changes it of the generation that the handle names, or finds that one gone
/// (OBJ-11).
///
///     63..40       39..25    24..7   6..0
///     generation   clients   own     marks
///
/// Clients' references and our own are counted apart, so that a client which releases once too often cannot take what a
/// mode or a running callback holds. All-zero bytes are a free slot of generation 0.
///
/// The orders: each change but `holdAgain` and `abandonClients` is a read-modify-write that acquires and releases, so a
/// thread that changes the word sees all that was written before each earlier change. Protocols that pair this word
/// with another one (`Membership`, `Rest`) change the word on both sides, and so need no more. Only `signal` and
/// `seenInOrder` are sequentially consistent, since the loop's note of a wake-up is the other word there, which the two
/// sides do not both change, and `update`.
package struct Reference: ~Copyable {
  private let word: Atomic<UInt64>

  @inline(__always)
  package var seen: Seen { Seen(bits: word.load(ordering: .acquiring)) }
  /// For a thread that has queued a signalled source and looks whether a wake-up is wanted for it. Of the threads that
  /// signal with a wake-up, one that `signal` orders later finds the loop's note of a wake-up cleared, and wakes the
  /// loop itself.
  @inline(__always)
  package var seenInOrder: Seen { Seen(bits: word.load(ordering: .sequentiallyConsistent)) }
  @inline(__always)
  package var generation: UInt32 { Seen(bits: word.load(ordering: .relaxed)).generation }
  @inline(__always)
  package borrowing func isLive(_ generation: UInt32) -> Bool { seen.isLive(generation) }
  /// Whether nothing of ours refers to an object: clients alone do, or its life is over, with all that belongs to its
  /// end.
  package borrowing func isAtRest(_ generation: UInt32) -> Bool {
    let seen = self.seen
    return seen.generation != generation || seen.own == 0 && !seen.isGone
  }

  // MARK: A life

  /// Begins a life with one reference, the client's or one of our own: what was written to the object before
  /// is seen by whoever finds it. The caller owns the free slot.
  @inline(__always)
  package borrowing func begin(forClient: Bool, marks: UInt64 = 0) {
    let counts = forClient ? Reference.client : Reference.one
    word.store(word.load(ordering: .relaxed) & ~(Reference.counts | Mark.all) | counts | marks, ordering: .releasing)
  }

  /// Ends a life that nobody refers to: every handle and every queued mention of it is stale from here on. What was
  /// there until then; after the slot's last generation it must not be used again.
  @inline(__always)
  package borrowing func end() -> Seen {
    let next = (word.load(ordering: .relaxed) >> 40 &+ 1) & Reference.lastGeneration
    return Seen(bits: word.exchange(next << 40, ordering: .acquiringAndReleasing))
  }

  // MARK: Claims

  /// What a claim adds to the references.
  package enum Claim {
    case nothing
    case ours
    /// One of ours in place of the client's.
    case oursForClients

    @inline(__always)
    fileprivate var counts: UInt64 {
      switch self {
      case .nothing: 0
      case .ours: Reference.one
      case .oursForClients: Reference.one &- Reference.client
      }
    }
  }

  /// Claims the own cell of an item and adds references, in one exchange. False for an item that is not the one meant,
  /// that has not the marks that are needed, or whose cell is claimed; also for one that is at its end, unless nothing
  /// is added.
  @inline(__always)
  package borrowing func claim(_ generation: UInt32, needs: UInt64, _ claim: Claim) -> Bool {
    var now = word.load(ordering: .relaxed)
    while Seen(bits: now).generation == generation, claim.counts == 0 || !Seen(bits: now).isGone,
      now & (needs | Mark.claimed) == needs
    {
      let counted = Seen(bits: now).own < Reference.fullOwn ? now &+ claim.counts : now
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: counted | Mark.claimed, ordering: .acquiringAndReleasing)
      if isExchanged { return true }
      now = original
    }
    return false
  }

  /// Returns what a claim has added in place of a client's reference.
  package borrowing func returnToClient() {
    word.wrappingAdd(Reference.client &- Reference.one, ordering: .acquiringAndReleasing)
  }

  /// Drops one of our own references and clears marks, in one exchange, unless it is the last reference of all. What is
  /// left; nil if nothing was changed.
  @inline(__always)
  package borrowing func dropUnlessLast(clearing marks: UInt64) -> Seen? {
    var now = word.load(ordering: .relaxed)
    while now & Reference.counts != Reference.one {
      let left = (Seen(bits: now).own < Reference.manyOwn ? now &- Reference.one : now) & ~marks
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: left, ordering: .acquiringAndReleasing)
      if isExchanged { return Seen(bits: left) }
      now = original
    }
    return nil
  }

  // MARK: Our own references

  /// Adds one, if the object is still the one meant.
  @inline(__always)
  package borrowing func hold(_ generation: UInt32) -> Bool { hold(generation, clearing: 0) != nil }

  /// Adds one of our own references, and clears marks in the same exchange. What was there before; nil for an object
  /// that is not the one meant.
  @inline(__always)
  package borrowing func hold(_ generation: UInt32, clearing marks: UInt64) -> Seen? {
    var now = word.load(ordering: .relaxed)
    while Seen(bits: now).isLive(generation) {
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: Seen(bits: now).withOneMore & ~marks, ordering: .acquiringAndReleasing)
      if isExchanged { return Seen(bits: now) }
      now = original
    }
    return nil
  }

  /// Adds one where one is held already, or a lock keeps one from going.
  @inline(__always)
  package borrowing func holdAgain() {
    let before = Seen(bits: word.add(Reference.one, ordering: .relaxed).oldValue)
    assert(!before.isGone, "only what is held already can be held again")
    if before.own >= Reference.fullOwn { word.subtract(Reference.one, ordering: .relaxed) }
  }

  /// Drops one, or several at a time; what is left.
  @inline(__always)
  package borrowing func drop(_ count: UInt64 = 1) -> Seen {
    let (before, left) = word.subtract(Reference.one &* count, ordering: .acquiringAndReleasing)
    assert(Seen(bits: before).own >= count, "a reference of ours is dropped once")
    if Seen(bits: before).own < Reference.manyOwn { return Seen(bits: left) }
    return Seen(bits: word.add(Reference.one &* count, ordering: .acquiringAndReleasing).newValue)
  }

  /// Drops one or several references, unless they are the last of our own of an object without a mark: then nothing,
  /// for the caller to do what has to be done before. What is left; nil if nothing was dropped.
  @inline(__always)
  package borrowing func dropUnlessLast(_ count: UInt64, without mark: UInt64) -> Seen? {
    var now = word.load(ordering: .acquiring)
    while true {
      let own = Seen(bits: now).own
      if own == count && now & mark == 0 { return nil }
      let left = own < Reference.manyOwn ? now &- Reference.one &* count : now
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: left, ordering: .acquiringAndReleasing)
      if isExchanged { return Seen(bits: left) }
      now = original
    }
  }

  /// Drops a reference of ours and ends the life with it, in one exchange, if it is the only one and nothing else is
  /// noted. False with nothing changed.
  @inline(__always)
  package borrowing func endIfOnly(beside mark: UInt64 = 0) -> Bool {
    let now = word.load(ordering: .relaxed)
    return now & (Reference.counts | Mark.all & ~mark) == Reference.one && end(Seen(bits: now))
  }

  /// Drops the client's reference and ends the life with it, in one exchange, if it is the only one. What is marked of
  /// an item goes with it, unless a thread waits for the end. False with nothing changed.
  @inline(__always)
  package borrowing func endIfOnlyClient(_ generation: UInt32) -> Bool {
    let now = Seen(bits: word.load(ordering: .relaxed))
    return now.generation == generation && now.bits & (Reference.counts | Mark.awaited) == Reference.client && end(now)
  }

  /// Ends the life if the word is as it was seen, and there are more generations.
  @inline(__always)
  private borrowing func end(_ seen: Seen) -> Bool {
    if seen.isLastGeneration { return false }
    return word.compareExchange(
      expected: seen.bits, desired: (seen.bits >> 40 &+ 1) << 40, successOrdering: .acquiringAndReleasing,
      failureOrdering: .relaxed
    ).exchanged
  }

  // MARK: Clients' references

  /// Adds one.
  package borrowing func retainForClient(_ generation: UInt32) -> Int32 {
    var now = word.load(ordering: .relaxed)
    while true {
      if !Seen(bits: now).isLive(generation) || now & Mark.abandoned != 0 { return Status.stale }
      if Seen(bits: now).clients == Reference.mostClients { return Status.range }
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: now &+ Reference.client, ordering: .acquiringAndReleasing)
      if isExchanged { return Status.ok }
      now = original
    }
  }

  /// Drops one; what is left, or nil when the client owns none.
  @inline(__always)
  package borrowing func releaseForClient(_ generation: UInt32) -> Seen? { returnOne(generation, asOurs: false) }

  /// Turns one into one of our own, which the caller then drops; false when the client owns none.
  package borrowing func surrenderClient(_ generation: UInt32) -> Bool {
    returnOne(generation, asOurs: true) != nil
  }

  @inline(__always)
  private borrowing func returnOne(_ generation: UInt32, asOurs: Bool) -> Seen? {
    var now = word.load(ordering: .relaxed)
    while Seen(bits: now).isLive(generation), Seen(bits: now).clients != 0 {
      let left = (asOurs ? Seen(bits: now).withOneMore : now) &- Reference.client
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: left, ordering: .acquiringAndReleasing)
      if isExchanged { return Seen(bits: left) }
      now = original
    }
    return nil
  }

  /// Takes all references from clients, who get none any more. The caller has one of our own, whose drop orders what
  /// follows; a client that finds no reference looks at nothing else.
  package borrowing func abandonClients() {
    word.bitwiseOr(Mark.abandoned, ordering: .relaxed)
    word.bitwiseAnd(~(Reference.mostClients << 25), ordering: .relaxed)
  }

  // MARK: Marks

  /// Clears marks of an object that the caller keeps, unless a client owns it; true if they are cleared. It is an
  /// exchange in either case: whoever releases the last client's reference later sees what the caller wrote before.
  @inline(__always)
  package borrowing func clear(_ marks: UInt64, evenIfOwned: Bool) -> Bool {
    var now = word.load(ordering: .relaxed)
    while true {
      let isCleared = evenIfOwned || Seen(bits: now).clients == 0
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: isCleared ? now & ~marks : now, ordering: .acquiringAndReleasing)
      if isExchanged { return isCleared }
      now = original
    }
  }

  /// Sets marks and clears others in one exchange, if the object is still the one meant and has those that are needed.
  /// It is an exchange also where nothing changes: what the caller wrote before is seen by whoever exchanges the word
  /// next. What was there before; nil if it was not done.
  @inline(__always)
  package borrowing func exchange(_ generation: UInt32, needs: UInt64, set: UInt64, clear: UInt64) -> Seen? {
    var now = word.load(ordering: .relaxed)
    while Seen(bits: now).generation == generation, now & needs == needs {
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: now & ~clear | set, ordering: .acquiringAndReleasing)
      if isExchanged { return Seen(bits: now) }
      now = original
    }
    return nil
  }

  /// Marks a valid source as signalled. What was there before; nil for one that is gone or invalid.
  @inline(__always)
  package borrowing func signal(_ generation: UInt32, wake: Bool) -> Seen? {
    let wanted = wake ? Mark.signalled | Mark.wakeWanted : Mark.signalled
    var now = word.load(ordering: .relaxed)
    while Seen(bits: now).generation == generation, now & Mark.valid != 0 {
      // The mark of a repeated signal is two bits above that of the signal.
      let (isExchanged, original) = word.weakCompareExchange(
        expected: now, desired: now | wanted | (now & Mark.signalled) << 2, ordering: .sequentiallyConsistent)
      if isExchanged { return Seen(bits: now) }
      now = original
    }
    return nil
  }

  /// An exchange that changes nothing, for its order alone: the later of two threads that exchange the word sees what
  /// the earlier wrote. Sequentially consistent, since compilers for x86 make no instruction at all of a weaker one.
  @inline(__always)
  package borrowing func update() { word.bitwiseOr(0, ordering: .sequentiallyConsistent) }

  /// Sets marks of an object that the caller holds; what was there before. At least one: see `update`.
  @inline(__always)
  @discardableResult
  package borrowing func set(_ marks: UInt64) -> Seen {
    Seen(bits: word.bitwiseOr(marks, ordering: .acquiringAndReleasing).oldValue)
  }

  /// Clears marks of an object that the caller holds; what was there before.
  @inline(__always)
  @discardableResult
  package borrowing func clear(_ marks: UInt64) -> Seen {
    Seen(bits: word.bitwiseAnd(~marks, ordering: .acquiringAndReleasing).oldValue)
  }
}
