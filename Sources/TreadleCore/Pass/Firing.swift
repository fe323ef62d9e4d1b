// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// PASS-12: firing the due timers, one after the other with nothing in between (TMR-12), or performing one ready
/// descriptor.
extension Loop {
  @inline(__always)
  func openTimers(_ frame: Frame.Pointer, _ now: Int64) -> Bool {
    guard frame.pointee.mode.collectTimers(&frame.pointee.batch.entries, now: now) else { return false }
    frame.pointee.mode.state.lastWasTimers = true
    frame.pointee.batch.open(.timers)
    frame.pointee.batch.now = now
    state.awakeSince.store(now, ordering: .relaxed)
    return true
  }

  /// The next collected timer that at its turn is still valid, in this mode, due and at rest (TMR-11, TMR-13). The end
  /// of one callback and the beginning of the next are one step under the lock, unless there is something to drop in
  /// between: that may call the client, who may end everything, or the next timer, or run the loop.
  @inline(__always)
  func nextTimer(_ frame: Frame.Pointer) -> Bool {
    frame.pointee.callout.item?.releaseAfterCall()
    while true {
      let last = frame.pointee.callout.item
      lock()
      let over = frame.pointee.callout.kind == .timer ? last.flatMap { endTimer($0) } : nil
      let dropped = endCallout(frame)
      let mustDrop = over != nil || dropped != nil
      let next = mustDrop || mustEnd(frame) ? nil : takeTimer(frame)
      unlock()
      if mustDrop {
        over?.drop()
        dropped?.drop()
        // In the child of a fork the lock may be held for ever.
        if mustEnd(frame) { return false }
        continue
      }
      guard let next else {
        if mustEnd(frame) { return false }
        state.counters.timers.count(frame.pointee.batch.calledCount)
        return closeBatch(frame)
      }
      // The client may be called here, too, and run the loop, or close the timer.
      next.retainForCall()
      frame.pointee.callout.set(.timer, next)
      return true
    }
  }

  /// The lock is held.
  @inline(__always)
  private func takeTimer(_ frame: Frame.Pointer) -> Item? {
    assertHeld()
    let mode = frame.pointee.mode
    while let entry = frame.pointee.batch.takeFirst() {
      frame.pointee.batch.fetchTimersAhead()
      guard let member = Item(.timer, slot: entry.mention.slot), entry.mention.means(member), member.isIn(mode),
        member.primary.due.date <= frame.pointee.batch.now
      else {
        frame.pointee.batch.keptCount &+= 1
        continue
      }
      let item = member.primary
      if item.beginFiring(isCollected: true) {
        beginCalling(item)
        frame.pointee.callout.prepare(item)
        mode.noteCollected(frame.pointee.batch.first)
        return item
      }
      frame.pointee.batch.keptCount &+= 1
      if !item.isValid { mode.restIfNowhere(member) }
    }
    mode.noteCollected(nil)
    return nil
  }

  // MARK: Descriptors

  /// One ready descriptor source. The kernel is asked at most once a pass, when what it reported before is used up.
  @inline(__always)
  func openDescriptor(_ frame: Frame.Pointer) -> Bool {
    guard let poller = frame.pointee.mode.poller, poller.hasEvents || !frame.pointee.asked && askForDescriptors(frame)
    else {
      return false
    }
    frame.pointee.batch.open(.descriptor)
    return true
  }

  /// Whether a descriptor is ready; the kernel is asked, unless events are left from before.
  @inline(__always)
  func askForDescriptors(_ frame: Frame.Pointer) -> Bool {
    let result = frame.pointee.mode.pollDescriptors()
    if result < 0 { frame.pointee.systemResult = result }
    frame.pointee.asked = true
    return result > 0
  }

  /// The one descriptor source of the pass (SRC1-5): reports that mean nothing are passed over.
  @inline(__always)
  func nextDescriptor(_ frame: Frame.Pointer) -> Bool {
    if frame.pointee.callout.item != nil {
      settleItem(frame)
      return closeBatch(frame)
    }
    while !mustEnd(frame) {
      guard case (let item, var events)? = frame.pointee.mode.takeReady() else {
        // What was reported before was all of sources that have ended since.
        if frame.pointee.asked || !askForDescriptors(frame) { break }
        continue
      }
      frame.pointee.callout.prepare(item)
      if item.hasTrait(Item.Trait.acknowledged) && events != Readiness.failed && !isLeftToHost(item, frame) {
        switch item.acknowledge(frame.pointee.mode) {
        case .read: break
        case .nothing:
          settleItem(frame)
          continue
        case .gone: events = Readiness.failed
        }
      }
      frame.pointee.handled = true
      state.counters.descriptors.count()
      frame.pointee.mode.state.lastWasTimers = false
      frame.pointee.callout.set(.descriptor, item, value: events)
      return true
    }
    return closeBatch(frame)
  }
}

extension Loop {
  /// Whether its host fetches it, and cannot now: its counter is not read, its message not taken.
  func isLeftToHost(_ item: Item, _ frame: Frame.Pointer) -> Bool {
    guard item.hasTrait(Item.Trait.indirect), let context = item.context else { return false }
    return context.pointee.main.object != frame.pointee.host?.object && context.pointee.main.isFetched
  }
}

/// Firing a timer by hand (NST-3). The caller holds the timer.
///
/// A thread names the innermost timer that it fires so, and that one the timer around it: a timer has one callback at a
/// time, so the list lies in the cells. The end of the thread finds there whose callbacks it has ended in.
extension Item {
  /// Calls the callback here and now, whatever the date.
  package func fireByHand() throws(Failure) -> Int32 {
    if let context { try context.pointee.main.demandCall() }
    let result = treadle_system_watch_thread()
    if result < 0 { throw Failure.system("thread-specific data", result) }
    // As when it is due: no mode has it queued while it runs.
    if !withDueLocked({ _ in beginFiring(isCollected: false) }) { return Status.ignored }
    noteUse()
    let thread = treadle_system_thread()
    due.firedInside = thread.pointee.fired_timer
    thread.pointee.fired_timer = slot
    retainForCall()
    // No run of a loop knows of this call.
    let tag = treadle_system_tag()
    var item = self
    let isOpen = ClientCall.during(&item) { $0?.assumingMemoryBound(to: Item.self).pointee.callByHand() }
    if treadle_system_tag() != tag { return Status.forked }
    endFiringByHand()
    return isOpen ? Status.ok : Status.closed
  }

  private func endFiringByHand() {
    let thread = treadle_system_thread()
    // Not in the child of a fork that began anew inside of the callback.
    if thread.pointee.fired_timer == slot { thread.pointee.fired_timer = due.firedInside }
    releaseAfterCall()
    settleFiring(.byHand)
  }

  /// The thread ends inside of such callbacks: who fired the timers lets go of them.
  static func abandonFiredByHand() {
    while let item = Item(.timer, slot: treadle_system_thread().pointee.fired_timer) {
      item.endFiringByHand()
      item.drop()
    }
  }

  /// Whether the calling thread is inside of such a callback of this timer.
  var isFiredOnThisThread: Bool {
    if !isOf(.timer) { return false }
    var next = treadle_system_thread().pointee.fired_timer
    while let item = Item(.timer, slot: next), item.slot != slot { next = item.due.firedInside }
    return next != 0
  }

  private func callByHand() {
    if let invoke = context?.pointee.main.invoke {
      var event = Event(
        Event.Kind.timer, token: context?.pointee.token ?? 0, loop: Loop.existing?.handlePointer, subject: handle.bits,
        mode: nil)
      event.late = max(Clock.now() &- withDueLocked { _ in due.date }, 0)
      if !invoke(context?.pointee.main.object, &event) { Loop.existing?.failRun() }
    } else if let code {
      // Also of a timer that another thread has made invalid meanwhile: it is not given up while the caller holds the
      // timer.
      unsafeBitCast(code, to: Loop.PlainItem.self)(handlePointer, cell.info)
    }
  }
}
