// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase
import TreadleCalls
import TreadleReport
import TreadleScopes

// The verbs that all handles understand. A handle says of which kind its object is; whether there is one is seen where
// it is looked up.

@implementation @_cdecl("treadle_retain")
public func treadle_retain(_ object: UnsafeMutableRawPointer?) -> treadle_status {
  status("treadle_retain") { () throws(Failure) in
    let kind = try countedKind(object)
    try Slab(kind).retainForClient(UInt(bitPattern: object), "object")
    return Status.ok
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_release")
public func treadle_release(_ object: UnsafeMutableRawPointer?) -> treadle_status {
  status("treadle_release") { () throws(Failure) in
    let handle = UInt(bitPattern: object)
    let kind = try countedKind(object)
    if kind.isItem { try Item.release(kind, handle, "object") } else { try releaseOther(kind, handle) }
    return Status.ok
  }
}

@inline(never)
private func releaseOther(_ kind: Kind, _ handle: UInt) throws(Failure) {
  try naming("object") { () throws(Failure) in
    switch kind {
    case .loop: try Loop.release(handle)
    case .thread: try Thread.release(handle)
    case .lock: try ClientLock.release(handle)
    case .condition: try ClientCondition.release(handle)
    case .routine: try Routine.releaseForClient(handle)
    case .invocation: try Invocation.releaseForClient(handle)
    case .closure: try Closure.releaseForClient(handle)
    case .scope: try Scope.releaseForClient(handle)
    case .message: try Message.releaseForClient(handle)
    default: throw Handle(bits: handle).failure("object")
    }
  }
}

/// Looks an object up whose kind has a name of its own for the failure: the failure names the parameter instead.
@inline(__always)
private func naming<Result>(_ subject: StaticString, _ find: () throws(Failure) -> Result) throws(Failure) -> Result {
  do throws(Failure) { return try find() } catch {
    throw Failure(error.status, subject, error.text, osError: error.osError)
  }
}

/// The kind of a handle whose object clients count references to.
@inline(__always)
private func countedKind(_ object: UnsafeMutableRawPointer?) throws(Failure) -> Kind {
  let handle = Handle(bits: UInt(bitPattern: object))
  guard let kind = handle.kind, kind != .signature, kind != .host, kind != .mode else { throw handle.failure("object") }
  return kind
}

/// The kind of an item's handle.
@inline(__always)
private func itemKind(_ item: UnsafeMutableRawPointer?) throws(Failure) -> Kind {
  let handle = Handle(bits: UInt(bitPattern: item))
  guard let kind = handle.kind, kind.isItem else { throw handle.failure("item") }
  return kind
}

@_optimize(speed)
@implementation @_cdecl("treadle_invalidate")
public func treadle_invalidate(_ item: UnsafeMutableRawPointer?) -> treadle_status {
  status("treadle_invalidate") { () throws(Failure) in
    let handle = Handle(bits: UInt(bitPattern: item))
    if handle.kind == .closure {
      let closure = try naming("item") { () throws(Failure) in try Closure.retained(handle.bits) }
      defer { closure.drop() }
      _ = closure.droppedIfThreadEnds { closure.retire() }
      return Status.ok
    }
    let kind = try itemKind(item)
    try Item.invalidate(kind, handle.bits, "item")
    return Status.ok
  }
}

@implementation @_cdecl("treadle_close")
public func treadle_close(_ object: UnsafeMutableRawPointer?, _ timeout_ns: Int64) -> treadle_status {
  status("treadle_close") { () throws(Failure) in
    let handle = Handle(bits: UInt(bitPattern: object))
    if handle.kind == .closure {
      let closure = try naming("object") { () throws(Failure) in try Closure.retained(handle.bits) }
      defer { closure.drop() }
      try closure.droppedIfThreadEnds { () throws(Failure) in try closure.close(timeout: timeout_ns) }
      return Status.ok
    }
    if handle.kind == .scope {
      return try Scope.holding(handle.bits, "object") { scope throws(Failure) in
        try scope.close(timeout: timeout_ns) ? Status.ok : Status.deferred
      }
    }
    guard let kind = handle.kind, kind.isItem else { throw handle.failure("object") }
    try Item.hold(kind, handle.bits, "object").close(timeout: timeout_ns, "object")
    return Status.ok
  }
}

@implementation @_cdecl("treadle_is_valid")
public func treadle_is_valid(_ item: UnsafeMutableRawPointer?) -> Bool {
  answer("treadle_is_valid", false) { () throws(Failure) in
    let handle = Handle(bits: UInt(bitPattern: item))
    if handle.kind == .closure {
      let closure = try naming("item") { () throws(Failure) in try Closure.retained(handle.bits) }
      defer { closure.drop() }
      return closure.isActive
    }
    if handle.kind == .scope { return try Scope.holding(handle.bits, "item") { !$0.isClosing } }
    let kind = try itemKind(item)
    return try Item.isValid(kind, UInt(bitPattern: item), "item")
  }
}

@implementation @_cdecl("treadle_get_context_info")
public func treadle_get_context_info(
  _ item: UnsafeMutableRawPointer?, _ out_info: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> treadle_status {
  status("treadle_get_context_info") { () throws(Failure) in
    let out = try need(out_info, nil, "out_info")
    out.pointee = try holding(item) { $0.info }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_get_order")
public func treadle_get_order(
  _ item: UnsafeMutableRawPointer?, _ out_order: UnsafeMutablePointer<Int64>?
) -> treadle_status {
  status("treadle_get_order") { () throws(Failure) in
    let out = try need(out_order, 0, "out_order")
    out.pointee = try holding(item) { $0.order }
    return Status.ok
  }
}

@inline(__always)
private func holding<Result>(
  _ item: UnsafeMutableRawPointer?, _ body: (Item) throws(Failure) -> Result
) throws(Failure) -> Result {
  let kind = try itemKind(item)
  return try Item.holding(kind, UInt(bitPattern: item), "item", body)
}

// MARK: Describing

@implementation @_cdecl("treadle_get_kind")
public func treadle_get_kind(
  _ object: UnsafeMutableRawPointer?, _ out_kind: UnsafeMutablePointer<UInt32>?
) -> treadle_status {
  status("treadle_get_kind") { () throws(Failure) in
    let out = try need(out_kind, 0, "out_kind")
    let handle = Handle(bits: UInt(bitPattern: object))
    guard let kind = handle.kind, Slab(kind).find(handle) != nil else { throw handle.failure("object") }
    out.pointee = kind.rawValue
    return Status.ok
  }
}

@implementation @_cdecl("treadle_get_pthread")
public func treadle_get_pthread(
  _ object: UnsafeMutableRawPointer?, _ out_pthread: UnsafeMutablePointer<UInt>?
) -> treadle_status {
  status("treadle_get_pthread") { () throws(Failure) in
    let out = try need(out_pthread, 0, "out_pthread")
    let handle = Handle(bits: UInt(bitPattern: object))
    switch handle.kind {
    case .thread?:
      out.pointee = try Thread.holding(OpaquePointer(object), "object") { thread throws(Failure) in try thread.pthread()
      }
    case .lock?:
      let lock = try ClientLock.hold(handle.bits, "object")
      defer { lock.letGo() }
      out.pointee = UInt(bitPattern: lock.native)
    case .condition?:
      let condition = try ClientCondition.hold(handle.bits, "object")
      defer { condition.letGo() }
      out.pointee = UInt(bitPattern: condition.native)
    default: throw handle.failure("object")
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_describe")
public func treadle_describe(
  _ object: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_describe") { () throws(Failure) in
    try writeText(buffer, capacity, out_length) { text throws(Failure) in
      let handle = Handle(bits: UInt(bitPattern: object))
      if handle.kind == .loop {
        try Loop.holding(handle.bits, "object") { loop throws(Failure) in try loop.report(&text) }
      } else if let kind = handle.kind, kind.isItem {
        try Item.holding(kind, handle.bits, "object") { item throws(Failure) in
          try item.droppedIfThreadEnds { () throws(Failure) in try item.report(&text) }
        }
      } else if handle.kind == .thread {
        try Thread.holding(OpaquePointer(object), "object") { thread throws(Failure) in try thread.report(&text) }
      } else {
        throw handle.failure("object")
      }
    }
  }
}

// MARK: Modes

@_optimize(speed)
@implementation @_cdecl("treadle_loop_add")
public func treadle_loop_add(
  _ loop: OpaquePointer?, _ item: UnsafeMutableRawPointer?, _ mode: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_loop_add") { () throws(Failure) in
    try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
      let kind = try itemKind(item)
      if let mode, !Watch.isTelling, try loop.addFirst(kind, UInt(bitPattern: item), ModeName(mode)) {
        return Status.ok
      }
      let held = try Item.hold(kind, UInt(bitPattern: item), "item")
      guard let mode else {
        held.letGo()
        throw Failure(Status.argument, "mode", "is NULL")
      }
      if !Watch.isTelling { return try loop.add(taking: held, ModeName(mode)) }
      defer { held.letGo() }
      let result = try held.droppedIfThreadEnds { () throws(Failure) in try loop.add(held, ModeName(mode)) }
      if result == Status.ignored { Log.tellGone(loop, held) }
      return result
    }
  }
}

@_optimize(speed)
@implementation @_cdecl("treadle_loop_remove")
public func treadle_loop_remove(
  _ loop: OpaquePointer?, _ item: UnsafeMutableRawPointer?, _ mode: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_loop_remove") { () throws(Failure) in
    try holdingBoth(loop, item) { loop, item throws(Failure) in try loop.remove(item, needMode(mode)) }
  }
}

@implementation @_cdecl("treadle_loop_contains")
public func treadle_loop_contains(
  _ loop: OpaquePointer?, _ item: UnsafeMutableRawPointer?, _ mode: UnsafePointer<CChar>?
) -> Bool {
  answer("treadle_loop_contains", false) { () throws(Failure) in
    try holdingBoth(loop, item) { loop, item throws(Failure) in try loop.contains(item, needMode(mode)) }
  }
}

@inline(__always)
private func holdingBoth<Result>(
  _ loop: OpaquePointer?, _ item: UnsafeMutableRawPointer?, _ body: (Loop, Item) throws(Failure) -> Result
) throws(Failure) -> Result {
  try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
    try holding(item) { item throws(Failure) in
      try item.droppedIfThreadEnds { () throws(Failure) in try body(loop, item) }
    }
  }
}
