// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase
package import TreadleCalls

/// A function that a local port's senders may call, by its name and the very signature that it was given here.
package struct ExportedFunction: BitwiseCopyable {
  package let function: PortableSignature
  package let code: PortableCall.Code
  /// The owner frees it.
  private let name: UnsafeMutablePointer<CChar>
  private let nameLength: Int

  package init(_ name: UnsafePointer<CChar>?, _ signature: Signature, _ code: @escaping PortableCall.Code)
    throws(Failure)
  {
    let length = try ExportedFunction.checkName(name)
    function = try PortableSignature(signature)
    guard let name, let memory = treadle_system_allocate(length) else {
      function.free()
      throw Failure.noMemory("functions")
    }
    memcpy(memory, name, length)
    self.name = memory.assumingMemoryBound(to: CChar.self)
    nameLength = length
    self.code = code
  }

  package func free() {
    function.free()
    treadle_system_free(name)
  }

  /// The length of a function's name.
  package static func checkName(_ name: UnsafePointer<CChar>?) throws(Failure) -> Int {
    guard let name else { throw Failure(Status.argument, "name", "is NULL") }
    if !UTF8Text.isWellFormed(name) { throw Failure(Status.argument, "name", "is not UTF-8") }
    let length = strlen(name)
    if length == 0 || length > MessageFrame.mostName {
      throw Failure(Status.range, "name", "does not have 1 to 255 bytes")
    }
    return length
  }

  package func isNamed(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress, bytes.count == nameLength else { return false }
    return memcmp(name, start, nameLength) == 0
  }
}

/// How the data of a frame for a call begins: the sizes of the function's name and of its signature's text, which
/// follow in this order; then the arguments (`PortableSignature`). An answer begins with a status and a zero; the
/// result and what comes back behind pointers follow a status of 0, and nothing follows another one.
///
///     0     2          4     8
///     name  signature  zero  name, signature, arguments      status  zero  result
struct CallData {
  static let head = 8

  let name: UnsafeRawBufferPointer
  let signature: UnsafeRawBufferPointer
  let arguments: UnsafeRawBufferPointer

  /// Nil for what no caller writes.
  init?(_ data: UnsafeRawPointer?, _ size: Int) {
    guard let data, size >= CallData.head, data.loadUnaligned(fromByteOffset: 4, as: UInt32.self) == 0 else {
      return nil
    }
    let nameSize = Int(data.loadUnaligned(as: UInt16.self))
    let signatureSize = Int(data.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    guard nameSize > 0, nameSize <= MessageFrame.mostName, signatureSize > 0,
      nameSize &+ signatureSize <= size &- CallData.head
    else {
      return nil
    }
    name = UnsafeRawBufferPointer(start: data + CallData.head, count: nameSize)
    signature = UnsafeRawBufferPointer(start: data + CallData.head + nameSize, count: signatureSize)
    let rest = CallData.head &+ nameSize &+ signatureSize
    arguments = UnsafeRawBufferPointer(start: data + rest, count: size &- rest)
  }

  static func writeHead(_ status: Int32, to room: UnsafeMutableRawPointer) {
    room.storeBytes(of: status, as: Int32.self)
    room.storeBytes(of: 0, toByteOffset: 4, as: UInt32.self)
  }

  /// The statuses that a callee may answer with.
  static func isAnswer(_ status: Int32) -> Bool {
    status == Status.ok || status == Status.notFound || status == Status.signature || status == Status.argument
      || status == Status.range || status == Status.noMemory
  }
}
