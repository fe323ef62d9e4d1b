// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

/// An observer: what Treadle does not keep for it.
struct ObserverBody: ItemBody {
  static var kind: Kind { .observer }

  var base: ItemBase
  let callout: treadle_cf_observer_fn?
  /// The info is a block, in place of the callout.
  let isBlock: Bool
}

@_cdecl("CFRunLoopObserverGetTypeID") public func cfRunLoopObserverGetTypeID() -> UInt { Kind.observer.typeID }

@_cdecl("CFRunLoopObserverCreate")
public func cfRunLoopObserverCreate(
  _ allocator: UInt, _ activities: UInt, _ repeats: UInt8, _ order: Int, _ callout: treadle_cf_observer_fn?,
  _ context: UnsafePointer<treadle_cf_context>?
) -> UInt {
  make(activities, repeats, order, ClientContext(context), callout, isBlock: false)
}

@_cdecl("CFRunLoopObserverCreateWithHandler")
public func cfRunLoopObserverCreateWithHandler(
  _ allocator: UInt, _ activities: UInt, _ repeats: UInt8, _ order: Int, _ block: UInt
) -> UInt {
  let copy = treadle_cf_block_copy(block)
  if copy == 0 {
    complain("CFRunLoopObserverCreateWithHandler")
    return 0
  }
  let observer = make(activities, repeats, order, ClientContext(block: copy), nil, isBlock: true)
  treadle_cf_block_release(copy)
  return observer
}

private func make(
  _ activities: UInt, _ repeats: UInt8, _ order: Int, _ client: ClientContext, _ callout: treadle_cf_observer_fn?,
  isBlock: Bool
) -> UInt {
  let body = ObserverBody(base: ItemBase(client: client), callout: callout, isBlock: isBlock)
  let observer = Slot.make(.observer, allocate(body))
  if observer == 0 { return 0 }
  var context = treadle_observer_context()
  context.struct_size = MemoryLayout<treadle_observer_context>.size
  context.info = UnsafeMutableRawPointer(bitPattern: observer)
  context.retain = retainItem
  context.release = releaseItem
  context.describe = describeItem
  context.notify = notify
  context.activities = UInt32(truncatingIfNeeded: activities)
  context.once = repeats == 0 ? 1 : 0
  context.order = Int64(order)
  return finish(observer) { treadle_observer_create(&context, &$0) }
}

private func notify(_ handle: OpaquePointer?, _ activity: UInt32, _ info: UnsafeMutableRawPointer?) {
  let observer = UInt(bitPattern: info)
  access(observer, "CFRunLoopObserverCallBack", ()) { (body: Pointer<ObserverBody>) in
    if body.pointee.isBlock {
      return treadle_cf_block_call_observer(body.pointee.client.info, observer, UInt(activity))
    }
    body.pointee.callout?(observer, UInt(activity), body.pointee.client.info)
  }
}

private func handle(_ observer: UInt, _ function: StaticString) -> OpaquePointer? {
  access(observer, function, nil) { (body: Pointer<ObserverBody>) in body.pointee.handle }
}

@_cdecl("CFRunLoopObserverGetActivities")
public func cfRunLoopObserverGetActivities(_ observer: UInt) -> UInt {
  var activities: UInt32 = 0
  _ = treadle_observer_get_activities(handle(observer, "CFRunLoopObserverGetActivities"), &activities)
  return UInt(activities)
}

@_cdecl("CFRunLoopObserverDoesRepeat")
public func cfRunLoopObserverDoesRepeat(_ observer: UInt) -> UInt8 {
  treadle_observer_repeats(handle(observer, "CFRunLoopObserverDoesRepeat")) ? 1 : 0
}

@_cdecl("CFRunLoopObserverGetOrder")
public func cfRunLoopObserverGetOrder(_ observer: UInt) -> Int {
  var order: Int64 = 0
  _ = treadle_observer_get_order(handle(observer, "CFRunLoopObserverGetOrder"), &order)
  return Int(order)
}

@_cdecl("CFRunLoopObserverInvalidate")
public func cfRunLoopObserverInvalidate(_ observer: UInt) {
  check(treadle_observer_invalidate(handle(observer, "CFRunLoopObserverInvalidate")), "CFRunLoopObserverInvalidate")
}

@_cdecl("CFRunLoopObserverIsValid")
public func cfRunLoopObserverIsValid(_ observer: UInt) -> UInt8 {
  treadle_observer_is_valid(handle(observer, "CFRunLoopObserverIsValid")) ? 1 : 0
}

@_cdecl("CFRunLoopObserverGetContext")
public func cfRunLoopObserverGetContext(_ observer: UInt, _ context: UnsafeMutablePointer<treadle_cf_context>?) {
  access(observer, "CFRunLoopObserverGetContext", ()) { (body: Pointer<ObserverBody>) in
    guard let context else { return complain("CFRunLoopObserverGetContext") }
    let isValid = treadle_observer_is_valid(body.pointee.handle)
    body.pointee.client.store(context, hasInfo: isValid)
  }
}
