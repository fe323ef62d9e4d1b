// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// The three things that a loop is asked to do with an item.
private enum Request {
  case add, remove, contains
}

/// Does one of them; whether the item is contained, for that question.
private func ask(
  _ request: Request, _ loop: UInt, _ item: UInt, _ kind: Kind, _ mode: UInt, _ function: StaticString
) -> Bool {
  guard isLoop(loop), let slot = Slot.hold(item, kind), let treadle = Item(slot) else {
    complain(function)
    return false
  }
  let loop = handle(loop)
  let answer = withText(mode, function, false) { mode in
    switch (request, kind) {
    case (.contains, .timer): return treadle_loop_contains_timer(loop, treadle.handle, mode)
    case (.contains, .observer): return treadle_loop_contains_observer(loop, treadle.handle, mode)
    case (.contains, _):
      if treadle.isPort { return portSourceIsIn(item, loop, mode) }
      return treadle.isDescriptor
        ? treadle_loop_contains_descriptor(loop, treadle.handle, mode)
        : treadle_loop_contains_source(loop, treadle.handle, mode)
    case (.add, .timer): check(treadle_loop_add_timer(loop, treadle.handle, mode), function)
    case (.add, .observer): check(treadle_loop_add_observer(loop, treadle.handle, mode), function)
    case (.add, _):
      if treadle.isPort {
        addPortSource(item, UInt(bitPattern: loop), mode, function)
      } else if !treadle.isDescriptor {
        check(treadle_loop_add_source(loop, treadle.handle, mode), function)
      } else {
        adding(item, UInt(bitPattern: loop), function) { treadle_loop_add_descriptor(loop, treadle.handle, mode) }
      }
    case (.remove, .timer): check(treadle_loop_remove_timer(loop, treadle.handle, mode), function)
    case (.remove, .observer): check(treadle_loop_remove_observer(loop, treadle.handle, mode), function)
    case (.remove, _):
      if treadle.isPort {
        removePortSource(item, loop, mode, function)
      } else if !treadle.isDescriptor {
        check(treadle_loop_remove_source(loop, treadle.handle, mode), function)
      } else {
        removing(item, function) { treadle_loop_remove_descriptor(loop, treadle.handle, mode) }
      }
    }
    return false
  }
  slot.drop()
  return answer
}

@_cdecl("CFRunLoopContainsSource")
public func cfRunLoopContainsSource(_ loop: UInt, _ source: UInt, _ mode: UInt) -> UInt8 {
  ask(.contains, loop, source, .source, mode, "CFRunLoopContainsSource") ? 1 : 0
}

@_cdecl("CFRunLoopAddSource")
public func cfRunLoopAddSource(_ loop: UInt, _ source: UInt, _ mode: UInt) {
  _ = ask(.add, loop, source, .source, mode, "CFRunLoopAddSource")
}

@_cdecl("CFRunLoopRemoveSource")
public func cfRunLoopRemoveSource(_ loop: UInt, _ source: UInt, _ mode: UInt) {
  _ = ask(.remove, loop, source, .source, mode, "CFRunLoopRemoveSource")
}

@_cdecl("CFRunLoopContainsObserver")
public func cfRunLoopContainsObserver(_ loop: UInt, _ observer: UInt, _ mode: UInt) -> UInt8 {
  ask(.contains, loop, observer, .observer, mode, "CFRunLoopContainsObserver") ? 1 : 0
}

@_cdecl("CFRunLoopAddObserver")
public func cfRunLoopAddObserver(_ loop: UInt, _ observer: UInt, _ mode: UInt) {
  _ = ask(.add, loop, observer, .observer, mode, "CFRunLoopAddObserver")
}

@_cdecl("CFRunLoopRemoveObserver")
public func cfRunLoopRemoveObserver(_ loop: UInt, _ observer: UInt, _ mode: UInt) {
  _ = ask(.remove, loop, observer, .observer, mode, "CFRunLoopRemoveObserver")
}

@_cdecl("CFRunLoopContainsTimer")
public func cfRunLoopContainsTimer(_ loop: UInt, _ timer: UInt, _ mode: UInt) -> UInt8 {
  ask(.contains, loop, timer, .timer, mode, "CFRunLoopContainsTimer") ? 1 : 0
}

@_cdecl("CFRunLoopAddTimer")
public func cfRunLoopAddTimer(_ loop: UInt, _ timer: UInt, _ mode: UInt) {
  _ = ask(.add, loop, timer, .timer, mode, "CFRunLoopAddTimer")
}

@_cdecl("CFRunLoopRemoveTimer")
public func cfRunLoopRemoveTimer(_ loop: UInt, _ timer: UInt, _ mode: UInt) {
  _ = ask(.remove, loop, timer, .timer, mode, "CFRunLoopRemoveTimer")
}
