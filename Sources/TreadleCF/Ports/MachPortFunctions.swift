// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

@_cdecl("CFMachPortGetTypeID") public func cfMachPortGetTypeID() -> UInt { Kind.machPort.typeID }

func machPorts<Result>(
  _ port: UInt, _ function: StaticString, _ fallback: Result, _ work: (Pointer<PortBody>) -> Result
) -> Result {
  ports(port, .machPort, function, fallback, work)
}

@_cdecl("CFMachPortCreate")
public func cfMachPortCreate(
  _ allocator: UInt, _ callout: treadle_cf_mach_fn?, _ context: UnsafePointer<treadle_cf_context>?,
  _ shouldFreeInfo: UnsafeMutablePointer<UInt8>?
) -> UInt {
  shouldFreeInfo?.pointee = 1
  var body = PortBody(ClientContext(context), isRemote: false)
  body.machCallout = callout
  let port = Slot.make(.machPort, allocate(body))
  if port == 0 { return 0 }
  var context = treadle_port_context()
  context.struct_size = MemoryLayout<treadle_port_context>.size
  context.info = UnsafeMutableRawPointer(bitPattern: port)
  context.retain = retainPort
  context.release = releasePort
  context.describe = describeItem
  context.receive = receiveMachMessage
  let made = finish(port) { handle in
    let status = treadle_port_create(&context, &handle)
    check(status, "CFMachPortCreate")
    return status
  }
  if made == 0 { return 0 }
  machPorts(port, "CFMachPortCreate", ()) { beginPort(port, $0) }
  shouldFreeInfo?.pointee = 0
  return port
}

@_cdecl("CFMachPortCreateWithPort")
public func cfMachPortCreateWithPort(
  _ allocator: UInt, _ number: UInt32, _ callout: treadle_cf_mach_fn?, _ context: UnsafePointer<treadle_cf_context>?,
  _ shouldFreeInfo: UnsafeMutablePointer<UInt8>?
) -> UInt {
  shouldFreeInfo?.pointee = 1
  let port = MachName.port(number)
  if port == 0 || cfMachPortIsValid(port) == 0 {
    complain("CFMachPortCreateWithPort")
    return 0
  }
  return cfRetain(port)
}

@_cdecl("CFMachPortGetPort")
public func cfMachPortGetPort(_ port: UInt) -> UInt32 {
  machPorts(port, "CFMachPortGetPort", 0) { _ in MachName.of(port) }
}

@_cdecl("CFMachPortGetContext")
public func cfMachPortGetContext(_ port: UInt, _ context: UnsafeMutablePointer<treadle_cf_context>?) {
  storePortContext(port, .machPort, context, "CFMachPortGetContext")
}

@_cdecl("CFMachPortInvalidate")
public func cfMachPortInvalidate(_ port: UInt) {
  machPorts(port, "CFMachPortInvalidate", ()) { invalidatePort(port, $0, "CFMachPortInvalidate") }
}

@_cdecl("CFMachPortIsValid")
public func cfMachPortIsValid(_ port: UInt) -> UInt8 {
  machPorts(port, "CFMachPortIsValid", 0) { treadle_is_valid($0.pointee.item) ? 1 : 0 }
}

@_cdecl("CFMachPortGetInvalidationCallBack")
public func cfMachPortGetInvalidationCallBack(_ port: UInt) -> treadle_cf_invalidated_fn? {
  machPorts(port, "CFMachPortGetInvalidationCallBack", nil) { body in lockingPorts { body.pointee.invalidated } }
}

@_cdecl("CFMachPortSetInvalidationCallBack")
public func cfMachPortSetInvalidationCallBack(_ port: UInt, _ invalidated: treadle_cf_invalidated_fn?) {
  machPorts(port, "CFMachPortSetInvalidationCallBack", ()) { body in
    let isLate = lockingPorts {
      let isLate = body.pointee.hasEnded && body.pointee.invalidated == nil
      body.pointee.invalidated = invalidated
      return isLate
    }
    if isLate { invalidated?(port, 0) }
  }
}

@_cdecl("CFMachPortCreateRunLoopSource")
public func cfMachPortCreateRunLoopSource(_ allocator: UInt, _ port: UInt, _ order: Int) -> UInt {
  makePortSource(port, .machPort, order, "CFMachPortCreateRunLoopSource")
}
