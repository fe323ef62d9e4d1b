// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// Arguments of a call in memory of their own: pointers to them, the frame that they point into, and the texts of C
/// strings that are passed by copy.
struct ArgumentCopy {
  private let signature: Signature
  private let given: UnsafePointer<UnsafeRawPointer?>?
  /// What the copy needs.
  let size: Int

  init(_ signature: Signature, _ given: UnsafePointer<UnsafeRawPointer?>?) {
    self.signature = signature
    self.given = given
    var size = ArgumentCopy.frameOffset(signature) &+ TypeLayout.align(signature.frameSize, to: 16)
    for index in 0..<signature.argumentCount {
      if let text = ArgumentCopy.text(signature, given, index) { size &+= strlen(text) &+ 1 }
    }
    self.size = size
  }

  private static func frameOffset(_ signature: Signature) -> Int {
    TypeLayout.align(signature.argumentCount &* MemoryLayout<UnsafeRawPointer?>.stride, to: 16)
  }

  /// The string that an argument is copied with.
  private static func text(
    _ signature: Signature, _ given: UnsafePointer<UnsafeRawPointer?>?, _ index: Int
  ) -> UnsafePointer<CChar>? {
    guard let value = signature.argument(index), value.code == .string, value.qualifiers.isByCopy else { return nil }
    return given?[index]?.load(as: UnsafePointer<CChar>?.self)
  }

  /// Fills memory of this size, aligned to 16. Texts that somebody writes meanwhile are cut.
  func fill(_ memory: UnsafeMutableRawPointer) {
    let pointers = memory.assumingMemoryBound(to: UnsafeRawPointer?.self)
    let frame = memory + ArgumentCopy.frameOffset(signature)
    var room = frame + TypeLayout.align(signature.frameSize, to: 16)
    let end = memory + size
    for index in 0..<signature.argumentCount {
      guard let value = signature.argument(index), let bytes = given?[index] else { continue }
      let place = frame + value.offset
      place.copyMemory(from: bytes, byteCount: value.layout.size)
      (pointers + index).initialize(to: UnsafeRawPointer(place))
      guard let text = ArgumentCopy.text(signature, given, index) else { continue }
      place.storeBytes(of: copy(text, to: &room, end), as: UnsafeMutableRawPointer?.self)
    }
  }

  private func copy(
    _ text: UnsafePointer<CChar>, to room: inout UnsafeMutableRawPointer, _ end: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer? {
    let length = strnlen(text, end - room)
    guard room < end else { return nil }
    let copy = room
    copy.copyMemory(from: text, byteCount: min(length, end - room &- 1))
    copy.storeBytes(of: 0, toByteOffset: min(length, end - room &- 1), as: UInt8.self)
    room += min(length, end - room &- 1) &+ 1
    return copy
  }
}
