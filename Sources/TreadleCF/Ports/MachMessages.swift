// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// The numbers of Mach ports: an object's place in the table, with the last bits of its generation, so that the number
/// of a port that is gone is not soon another's.
enum MachName {
  static func of(_ port: UInt) -> UInt32 {
    UInt32(truncatingIfNeeded: port >> 4) & 0xFF_FFFF | UInt32(truncatingIfNeeded: port >> 28) << 24
  }

  /// The port of a number, which may be gone the next moment; 0 for none.
  static func port(_ number: UInt32) -> UInt {
    guard let pointer = treadle_cf_slot(number & 0xFF_FFFF) else { return 0 }
    let generation = UInt(treadle_cf_word(pointer) >> 32)
    if UInt32(truncatingIfNeeded: generation) & 0xFF != number >> 24 { return 0 }
    let reference = 0xCF << 56 | generation << 28 | UInt(number & 0xFF_FFFF) << 4
    guard let slot = Slot.hold(reference, .machPort) else { return 0 }
    slot.drop()
    return reference
  }
}

/// What mach_msg returns.
private enum MachResult {
  static var success: Int32 { 0 }
  static var invalidData: Int32 { 0x1000_0002 }
  static var invalidDestination: Int32 { 0x1000_0003 }
  static var timedOut: Int32 { 0x1000_0004 }
  static var tooSmall: Int32 { 0x1000_0008 }
  static var invalidReply: Int32 { 0x1000_0009 }
  static var noBuffer: Int32 { 0x1000_000D }
  static var invalidHeader: Int32 { 0x1000_0010 }
  static var invalidReceive: Int32 { 0x1000_4002 }

  static func of(_ status: Int32) -> Int32 {
    if status >= 0 { return success }
    switch Int(status) {
    case TREADLE_E_TIMEOUT, TREADLE_E_DEADLOCK: return timedOut
    case TREADLE_E_NOMEM: return noBuffer
    default: return invalidDestination
    }
  }
}

private enum MachOption {
  static var send: Int32 { 1 }
  static var receive: Int32 { 2 }
  static var sendTimeout: Int32 { 16 }
}

@_cdecl("_CFMachMessageSend")
public func cfMachMessageSend(_ message: UnsafeRawPointer?, _ option: Int32, _ size: UInt32, _ milliseconds: UInt32)
  -> Int32
{
  if option & MachOption.receive != 0 || option & MachOption.send == 0 { return MachResult.invalidReceive }
  guard let message else { return MachResult.invalidData }
  if Int(size) < MemoryLayout<treadle_cf_mach_header>.size { return MachResult.tooSmall }
  var header = message.loadUnaligned(as: treadle_cf_mach_header.self)
  if header.bits & 0x8000_0000 != 0 { return MachResult.invalidHeader }
  if header.local_port != 0 && MachName.port(header.local_port) == 0 { return MachResult.invalidReply }
  let port = MachName.port(header.remote_port)
  if port == 0 { return MachResult.invalidDestination }
  // The receiver sees itself as the local one, and where an answer goes as the remote one.
  (header.local_port, header.remote_port) = (header.remote_port, header.local_port)
  header.bits = (header.bits & 0xFF) << 8 | (header.bits >> 8) & 0xFF
  header.size = size
  guard let copy = treadle_cf_allocate(Int(size)) else { return MachResult.noBuffer }
  defer { treadle_cf_free(copy) }
  treadle_cf_copy(copy, message, Int(size))
  copy.storeBytes(of: header, as: treadle_cf_mach_header.self)
  let timeout = option & MachOption.sendTimeout == 0 ? Int64.max : Int64(milliseconds) &* 1_000_000
  return machPorts(port, "mach_msg", MachResult.invalidDestination) { body in
    MachResult.of(
      treadle_port_send_bytes(body.pointee.handle, UInt32(bitPattern: header.id), copy, Int(size), timeout))
  }
}

/// A message has come to a Mach port.
func receiveMachMessage(_ handle: OpaquePointer?, _ message: OpaquePointer?, _ info: UnsafeMutableRawPointer?) {
  let port = UInt(bitPattern: info)
  machPorts(port, "CFMachPortCallBack", ()) { body in
    var known = treadle_message_info()
    known.struct_size = MemoryLayout<treadle_message_info>.size
    if treadle_message_get_info(message, &known) < 0 { return }
    callingPort(body) { info in
      body.pointee.machCallout?(port, UnsafeMutableRawPointer(mutating: known.bytes), known.length, info)
    }
  }
}
