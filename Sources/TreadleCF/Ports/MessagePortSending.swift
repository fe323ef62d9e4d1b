// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// What CFMessagePortSendRequest returns.
private enum Result {
  static var success: Int32 { 0 }
  static var sendTimeout: Int32 { -1 }
  static var receiveTimeout: Int32 { -2 }
  static var isInvalid: Int32 { -3 }
  static var transportError: Int32 { -4 }
  static var becameInvalid: Int32 { -5 }

  static func of(_ status: Int32, _ function: StaticString) -> Int32 {
    if status >= 0 { return success }
    switch Int(status) {
    case TREADLE_E_TIMEOUT: return sendTimeout
    case TREADLE_E_NO_REPLY: return receiveTimeout
    case TREADLE_E_STATE: return isInvalid
    case TREADLE_E_CLOSED: return becameInvalid
    default:
      check(status, function)
      return transportError
    }
  }
}

private let function: StaticString = "CFMessagePortSendRequest"

/// A time-out in Treadle's unit: none for more than 10 days.
func nanoseconds(_ seconds: Double) -> Int64 {
  if seconds.isNaN || seconds <= 0 { return 0 }
  if seconds > 864_000 { return Int64.max }
  return Int64(seconds * 1e9)
}

@_cdecl("CFMessagePortSendRequest")
public func cfMessagePortSendRequest(
  _ remote: UInt, _ id: Int32, _ data: UInt, _ sendTimeout: Double, _ receiveTimeout: Double, _ replyMode: UInt,
  _ returnData: UnsafeMutablePointer<UInt>?
) -> Int32 {
  ports(remote, .messagePort, function, Result.isInvalid) { body in
    let port = body.pointee.handle
    func send(_ bytes: UnsafeMutablePointer<UInt8>?, _ size: Int) -> Int32 {
      if size > 0x6000_0000 { return Result.transportError }
      // One whose other side has gone before is invalid now, though nobody may have looked.
      if !body.pointee.isRemote || treadle_message_port_check(port) < 0 { return Result.isInvalid }
      if replyMode == 0 {
        return Result.of(treadle_message_port_send(port, id, bytes, size, nanoseconds(sendTimeout)), function)
      }
      return withText(replyMode, function, Result.transportError) { mode in
        request(port, id, bytes, size, nanoseconds(sendTimeout), nanoseconds(receiveTimeout), mode, returnData)
      }
    }
    if data == 0 { return send(nil, 0) }
    return access(data, function, Result.transportError) { (data: Pointer<DataBody>) in
      send(data.pointee.bytes, data.pointee.count)
    }
  }
}

private func request(
  _ port: OpaquePointer?, _ id: Int32, _ bytes: UnsafeMutablePointer<UInt8>?, _ size: Int, _ sendTimeout: Int64,
  _ receiveTimeout: Int64, _ mode: UnsafePointer<CChar>, _ returnData: UnsafeMutablePointer<UInt>?
) -> Int32 {
  var reply: UInt = 0
  let status = withUnsafeMutablePointer(to: &reply) { reply in
    treadle_message_port_request(
      port, id, bytes, size, sendTimeout, receiveTimeout, mode, returnData == nil ? nil : keepReply, reply)
  }
  if status >= 0 { returnData?.pointee = reply }
  return Result.of(status, function)
}

/// A reply without bytes is none (MSG-5).
private func keepReply(_ data: UnsafeRawPointer?, _ size: Int, _ info: UnsafeMutableRawPointer?) {
  if size == 0 { return }
  info?.assumingMemoryBound(to: UInt.self).pointee = DataBody.make(
    data?.assumingMemoryBound(to: UInt8.self), size, mutable: false)
}
