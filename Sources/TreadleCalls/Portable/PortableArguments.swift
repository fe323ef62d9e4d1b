// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase

/// The caller's side: values become bytes, and an answer becomes values.
extension PortableSignature {
  /// Looks whether a client's values fit; `at` is the index of the argument that does not. The bytes that they become.
  package func measure(_ values: UnsafeBufferPointer<PortableValue>, at: inout Int?) throws(Failure) -> Int {
    if values.count != argumentCount {
      throw Failure(Status.range, "argument_count", "is not the number of the signature's arguments")
    }
    var (size, out) = (0, 0)
    for index in 0..<argumentCount {
      at = index
      let (value, given) = (value(index), values[index])
      if given.bytes == nil && given.size != 0 {
        throw PortableSignature.argument(Status.argument, "has a size, but no bytes")
      }
      if given.size < 0 { throw PortableSignature.argument(Status.range, "is larger than a message can be") }
      if !value.qualifiers.hasBuffer {
        if given.size != value.layout.size {
          throw PortableSignature.argument(Status.range, "does not have the size of the signature's type")
        }
        size &+= given.size
        continue
      }
      if given.bytes != nil && PortableSignature.isText(value)
        && !PortableSignature.isTerminated(given.bytes, given.size)
      {
        throw PortableSignature.argument(Status.argument, "is not a C string that ends with NUL")
      }
      if value.qualifiers.isOut { out = min(out &+ min(given.size, Int.max / 64), Int.max / 2) }
      if out > PortableSignature.mostOut {
        throw PortableSignature.argument(Status.range, "is an out buffer, which are more than 16 MiB together")
      }
      size = min(size &+ 8 &+ (value.qualifiers.isOut ? 0 : min(given.size, Int.max / 64)), Int.max / 2)
    }
    at = nil
    return size
  }

  private static func argument(_ status: Int32, _ text: StaticString) -> Failure { Failure(status, "arguments", text) }

  static func isTerminated(_ bytes: UnsafeRawPointer?, _ size: Int) -> Bool {
    guard let bytes, size > 0 else { return false }
    return bytes.load(fromByteOffset: size &- 1, as: UInt8.self) == 0
  }

  /// Writes values that were measured.
  package func write(_ values: UnsafeBufferPointer<PortableValue>, to room: UnsafeMutableRawPointer) {
    var next = room
    for index in 0..<argumentCount {
      let (value, given) = (value(index), values[index])
      if value.qualifiers.hasBuffer {
        next.storeBytes(of: given.bytes == nil ? PortableSignature.null : UInt64(given.size), as: UInt64.self)
        next += 8
        if value.qualifiers.isOut { continue }
        if let bytes = given.bytes { next.copyMemory(from: bytes, byteCount: given.size) }
      } else if let bytes = given.bytes {
        copy(bytes, of: index, to: next)
      }
      next += given.size
    }
  }

  /// Gives the client what has come back: the result, and the bytes behind the pointers that are N or o. False, with
  /// nothing given, if it is not of that size.
  package func read(
    _ answer: UnsafeRawBufferPointer, to values: UnsafeBufferPointer<PortableValue>, result: UnsafeMutableRawPointer?
  ) -> Bool {
    var size = resultSize
    for index in 0..<argumentCount where PortableSignature.comesBack(value(index)) { size &+= values[index].size }
    guard answer.count == size, signature.result.code != .bool || answer[0] <= 1 else { return false }
    guard var next = answer.baseAddress else { return size == 0 }
    if let result { result.copyMemory(from: next, byteCount: resultSize) }
    next += resultSize
    for index in 0..<argumentCount where PortableSignature.comesBack(value(index)) {
      if let bytes = values[index].bytes { bytes.copyMemory(from: next, byteCount: values[index].size) }
      next += values[index].size
    }
    return true
  }
}
