// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Telling a source of the modes that it joined and left (SRC0-3). The caller holds the source.
extension Item {
  /// Calls the client's schedule for a mode that the source joined.
  func tellScheduled(_ loop: Loop, _ mode: Mode) {
    guard let context, let name = mode.name else { return }
    if let schedule = context.pointee.schedule {
      call(schedule, loop, name)
    } else if context.pointee.scheduleIndirect.invoke != nil {
      tell(Event.Kind.schedule, context.pointee.scheduleIndirect, loop, name)
    }
  }

  /// Calls the client's cancel for a mode that the source left.
  func tellCancelled(_ loop: Loop, _ mode: Mode) {
    guard let context, let name = mode.name else { return }
    if let cancel = context.pointee.cancel {
      call(cancel, loop, name)
    } else if context.pointee.cancelIndirect.invoke != nil {
      tell(Event.Kind.cancel, context.pointee.cancelIndirect, loop, name)
    }
  }

  private func call(_ routine: Context.Schedule, _ loop: Loop, _ name: UnsafePointer<CChar>) {
    _ = ClientCall.during {
      ItemCall.during(self) { routine(handlePointer, loop.handlePointer, name, cell.pointee.info) }
    }
  }

  private func tell(_ kind: UInt32, _ callback: IndirectCallback, _ loop: Loop, _ name: UnsafePointer<CChar>) {
    var event = Event(kind, token: context?.pointee.token ?? 0, loop: loop.handlePointer, subject: handle.bits, mode: name)
    guard let invoke = callback.invoke else { return }
    var isComplete = true
    _ = ClientCall.during { ItemCall.during(self) { isComplete = invoke(callback.object, &event) } }
    if !isComplete { Loop.existing?.failRun() }
  }
}
