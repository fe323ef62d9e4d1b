// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A port's name in memory of its own, and the address that the kernel knows it by: a user's name, in the abstract
/// namespace of sockets, where nothing stays behind (MSG-9).
struct MessagePortName {
  /// Nil for none. The owner frees it.
  private(set) var text: UnsafeMutablePointer<CChar>? = nil
  private(set) var length = 0

  init() {}

  /// A copy of a client's, cut where a name ends at most.
  init(_ name: UnsafePointer<CChar>) throws(Failure) {
    if name.pointee == 0 { throw Failure(Status.argument, "name", "is empty") }
    if !UTF8Text.isWellFormed(name) { throw Failure(Status.argument, "name", "is not UTF-8") }
    length = UTF8Text.prefix(of: name, atMost: MessageFrame.mostName)
    guard let memory = treadle_system_allocate(length &+ 1) else { throw Failure.noMemory("name") }
    memcpy(memory, name, length)
    let copy = memory.assumingMemoryBound(to: CChar.self)
    copy[length] = 0
    text = copy
  }

  mutating func free() {
    let memory = text
    self = MessagePortName()
    treadle_system_free(memory)
  }

  func equals(_ other: MessagePortName) -> Bool {
    equals(UnsafeRawBufferPointer(start: other.text, count: other.length))
  }
  func equals(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let text, let start = bytes.baseAddress, bytes.count == length else { return false }
    return memcmp(text, start, length) == 0
  }

  /// Calls `body` with the address of a user's port of this name. A long name has the digest of it in its place;
  /// whoever connects says the name besides.
  func withAddress<Result>(of user: UInt32, _ body: (UnsafePointer<CChar>, Int) -> Result) -> Result {
    var room = Room()
    return withUnsafeMutableBytes(of: &room) { room in
      var written = FixedText(room)
      written.append("treadle/")
      written.append(Int64(user))
      if written.length &+ 1 &+ length <= MessagePortName.mostOfAddress {
        written.append("/")
        if let text { written.append(UnsafePointer(text)) }
      } else {
        written.append("#")
        appendDigest(0xCBF2_9CE4_8422_2325, to: &written)
        appendDigest(0x6C62_272E_07BB_0142, to: &written)
      }
      let start = room.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)
      return body(start, written.length)
    }
  }
  /// What the kernel has room for, behind the zero with which such an address begins.
  private static let mostOfAddress = 107
  /// More than that, with a NUL.
  private struct Room {
    private var words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    private var more: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
  }

  /// FNV-1a.
  func digest(from start: UInt64) -> UInt64 {
    var hash = start
    var index = 0
    while let text, index < length {
      hash = (hash ^ UInt64(UInt8(bitPattern: text[index]))) &* 0x100_0000_01B3
      index &+= 1
    }
    return hash
  }

  /// From one of two starts.
  private func appendDigest(_ start: UInt64, to written: inout FixedText) {
    let hash = digest(from: start)
    var digits: (UInt64, UInt64) = (0, 0)
    withUnsafeMutableBytes(of: &digits) { digits in
      var place = 0
      while place < 16 {
        let digit = UInt8(truncatingIfNeeded: hash >> UInt64(60 &- 4 &* place)) & 15
        digits[place] = digit < 10 ? 48 &+ digit : 87 &+ digit
        place &+= 1
      }
      written.append(UnsafeBufferPointer(start: digits.baseAddress?.assumingMemoryBound(to: UInt8.self), count: 16))
    }
  }
}
