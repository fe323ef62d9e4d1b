// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A struct of the headers that begins with `struct_size` and may get members at its end (ABI-7). `FirstSizes.swift`
/// has them all: `scripts/check-abi` writes it from the recorded interface.
package protocol GrowingStruct {
  /// Zero in every member.
  init()
  /// The size that the struct had in the first release that has it.
  static var firstSize: Int { get }
}

/// Reading and writing a client's struct by the size that it states.
package enum ClientStruct {
  private static let mostBytes = 4096

  /// The size that a struct states. Its memory need not be aligned.
  @inline(__always)
  package static func size(_ pointer: UnsafeRawPointer) -> Int { pointer.loadUnaligned(as: Int.self) }

  /// What this version knows of a client's struct, which may be too new: members that it does not have are zero. For
  /// callers that must call the struct's destroy; others call `copy`.
  @inline(__always)
  package static func copyKnownPart<Struct: GrowingStruct>(
    _ pointer: UnsafePointer<Struct>?, _ subject: StaticString
  ) throws(Failure) -> Struct {
    guard let pointer else { throw Failure(Status.argument, subject, "is NULL") }
    let size = size(pointer)
    if size == MemoryLayout<Struct>.size { return pointer.pointee }
    // A smaller struct is one of an earlier version, and ends between two members.
    let isCut = size < MemoryLayout<Struct>.size && size % MemoryLayout<Struct>.alignment != 0
    if size < Struct.firstSize || size > mostBytes || isCut {
      throw Failure(Status.argument, subject, "has an invalid struct_size")
    }
    var known = Struct()
    withUnsafeMutableBytes(of: &known) { room in
      room.copyMemory(from: UnsafeRawBufferPointer(start: pointer, count: min(size, room.count)))
    }
    return known
  }

  /// A client's struct. Bytes behind what this version knows must be zero.
  @inline(__always)
  package static func copy<Struct: GrowingStruct>(
    _ pointer: UnsafePointer<Struct>?, _ subject: StaticString
  ) throws(Failure) -> Struct {
    let known = try copyKnownPart(pointer, subject)
    if let pointer { try demandZeroTail(pointer, MemoryLayout<Struct>.size, subject) }
    return known
  }

  /// Fills a client's struct: `body` changes a copy, of which the client gets as much as its struct has room for. A
  /// failure changes nothing.
  @inline(__always)
  package static func fill<Struct: GrowingStruct>(
    _ pointer: UnsafeMutablePointer<Struct>?, _ subject: StaticString, _ body: (inout Struct) throws(Failure) -> Void
  ) throws(Failure) {
    var value = try copy(UnsafePointer(pointer), subject)
    guard let pointer else { return }
    try body(&value)
    store(value, to: pointer)
  }

  /// Stores as much of a value as the client's struct has room for; the size that it states stays.
  @inline(__always)
  package static func store<Struct: GrowingStruct>(_ value: Struct, to pointer: UnsafeMutablePointer<Struct>) {
    let header = MemoryLayout<Int>.size
    let room = min(size(pointer), MemoryLayout<Struct>.size)
    withUnsafeBytes(of: value) { bytes in
      guard let members = bytes.baseAddress, room > header else { return }
      (UnsafeMutableRawPointer(pointer) + header).copyMemory(from: members + header, byteCount: room &- header)
    }
  }

  @inline(__always)
  private static func demandZeroTail(_ bytes: UnsafeRawPointer, _ known: Int, _ subject: StaticString) throws(Failure) {
    let size = size(bytes)
    if size > known { try demandZero(bytes, known, size, subject) }
  }

  @inline(never)
  private static func demandZero(
    _ bytes: UnsafeRawPointer, _ known: Int, _ size: Int, _ subject: StaticString
  ) throws(Failure) {
    for offset in known..<size where bytes.load(fromByteOffset: offset, as: UInt8.self) != 0 {
      throw Failure(Status.tooNew, subject, "has non-zero members that this version does not know")
    }
  }
}

/// A client's array of structs, which are as large as the first one states.
package struct ClientStructs<Struct: GrowingStruct> {
  private let start: UnsafeRawPointer
  private let stride: Int

  package init(_ start: UnsafePointer<Struct>) {
    self.start = UnsafeRawPointer(start)
    stride = ClientStruct.size(start)
  }

  /// The element, of which this version knows the part that it states.
  package func copy(_ index: Int, _ subject: StaticString) throws(Failure) -> Struct {
    let element = (start + stride &* index).assumingMemoryBound(to: Struct.self)
    if ClientStruct.size(element) != stride {
      throw Failure(Status.argument, subject, "have elements of different struct_size")
    }
    return try ClientStruct.copy(element, subject)
  }
}
