// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

@_cdecl("CFRunLoopSourceGetTypeID") public func cfRunLoopSourceGetTypeID() -> UInt { Kind.source.typeID }

func sources<Result>(
  _ source: UInt, _ function: StaticString, _ fallback: Result, _ work: (Pointer<SourceBody>) -> Result
) -> Result {
  access(source, function, fallback, work)
}

@_cdecl("CFRunLoopSourceGetOrder")
public func cfRunLoopSourceGetOrder(_ source: UInt) -> Int {
  sources(source, "CFRunLoopSourceGetOrder", 0) { $0.pointee.order }
}

@_cdecl("CFRunLoopSourceInvalidate")
public func cfRunLoopSourceInvalidate(_ source: UInt) {
  sources(source, "CFRunLoopSourceInvalidate", ()) { body in
    if body.pointee.variant == .ofPort { return endPortSource(body) }
    check(body.pointee.invalidate(), "CFRunLoopSourceInvalidate")
  }
}

@_cdecl("CFRunLoopSourceIsValid")
public func cfRunLoopSourceIsValid(_ source: UInt) -> UInt8 {
  sources(source, "CFRunLoopSourceIsValid", 0) { $0.pointee.isValid ? 1 : 0 }
}

@_cdecl("CFRunLoopSourceSignal")
public func cfRunLoopSourceSignal(_ source: UInt) {
  sources(source, "CFRunLoopSourceSignal", ()) { source in
    if source.pointee.variant == .custom {
      check(treadle_source_signal(source.pointee.handle), "CFRunLoopSourceSignal")
    }
  }
}

@_cdecl("CFRunLoopSourceIsSignalled")
public func cfRunLoopSourceIsSignalled(_ source: UInt) -> UInt8 {
  sources(source, "CFRunLoopSourceIsSignalled", 0) { source in
    source.pointee.variant == .custom && treadle_source_is_signalled(source.pointee.handle) ? 1 : 0
  }
}

@_cdecl("CFRunLoopSourceGetContext")
public func cfRunLoopSourceGetContext(_ source: UInt, _ context: UnsafeMutableRawPointer?) {
  sources(source, "CFRunLoopSourceGetContext", ()) { source in
    let version = source.pointee.variant == .custom ? 0 : 1
    guard let context, context.load(as: Int.self) == version else { return complain("CFRunLoopSourceGetContext") }
    source.pointee.client.store(context.assumingMemoryBound(to: treadle_cf_context.self), hasInfo: true)
    if version == 0 {
      let out = context.assumingMemoryBound(to: treadle_cf_source_context.self)
      out.pointee.equal = source.pointee.equal
      out.pointee.hash = source.pointee.hash
      out.pointee.schedule = source.pointee.schedule
      out.pointee.cancel = source.pointee.cancel
      out.pointee.perform = source.pointee.perform
    } else {
      let out = context.assumingMemoryBound(to: treadle_cf_port_context.self)
      out.pointee.equal = source.pointee.equal
      out.pointee.hash = source.pointee.hash
      out.pointee.get_port = source.pointee.getPort
      out.pointee.perform = source.pointee.perform
    }
  }
}
