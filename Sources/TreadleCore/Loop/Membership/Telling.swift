// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Telling a source of the modes that it joined and left (SRC0-3). The caller holds the source.
extension Item {
  /// Calls the client's schedule for a mode that the source joined.
  func tellScheduled(_ loop: Loop, _ mode: Mode) {
    guard let context, let name = mode.name else { return }
    tell(
      Telling(
        item: self, loop: loop, name: name, kind: Event.Kind.schedule, routine: context.pointee.schedule,
        callback: context.pointee.scheduleIndirect))
  }

  /// Calls the client's cancel for a mode that the source left.
  func tellCancelled(_ loop: Loop, _ mode: Mode) {
    guard let context, let name = mode.name else { return }
    tell(
      Telling(
        item: self, loop: loop, name: name, kind: Event.Kind.cancel, routine: context.pointee.cancel,
        callback: context.pointee.cancelIndirect))
  }

  private func tell(_ telling: Telling) {
    if telling.routine == nil && telling.callback.invoke == nil { return }
    var telling = telling
    ObjectCall.recorded(handle.bits) {
      _ = ClientCall.during(&telling) { $0?.assumingMemoryBound(to: Telling.self).pointee.call() }
    }
    if !telling.isComplete { Loop.existing?.failRun() }
  }
}

/// One such call.
private struct Telling {
  let item: Item
  let loop: Loop
  let name: UnsafePointer<CChar>
  let kind: UInt32
  let routine: Context.Schedule?
  /// In its place.
  let callback: IndirectCallback
  /// A host's callback has completed.
  var isComplete = true

  mutating func call() {
    let (item, loop, name) = (item, loop, name)
    if let routine {
      routine(item.handlePointer, loop.handlePointer, name, item.cell.info)
    } else if let invoke = callback.invoke {
      var event = Event(
        kind, token: item.context?.pointee.token ?? 0, loop: loop.handlePointer, subject: item.handle.bits, mode: name)
      isComplete = invoke(callback.object, &event)
    }
  }
}
