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
    var size = ArgumentCopy.sizeWithoutTexts(signature)
    if signature.body.pointee.hasTexts {
      for index in 0..<signature.argumentCount where signature.body.pointee.values[index].isText {
        if let text = ArgumentCopy.text(given?[index]) { size &+= strlen(text) &+ 1 }
      }
    }
    self.size = size
  }

  /// What a copy needs at least.
  static func sizeWithoutTexts(_ signature: Signature) -> Int {
    frameOffset(signature) &+ TypeLayout.align(signature.copySize, to: 16)
  }

  private static func frameOffset(_ signature: Signature) -> Int {
    TypeLayout.align(signature.argumentCount &* MemoryLayout<UnsafeRawPointer?>.stride, to: 16)
  }

  /// The string of such an argument.
  private static func text(_ argument: UnsafeRawPointer?) -> UnsafePointer<CChar>? {
    argument?.load(as: UnsafePointer<CChar>?.self)
  }

  /// Most arguments are as large as a register or half of one.
  @inline(__always)
  private static func copy(_ bytes: UnsafeRawPointer, to place: UnsafeMutableRawPointer, size: Int) {
    switch size {
    case MemoryLayout<UInt64>.size: place.storeBytes(of: bytes.loadUnaligned(as: UInt64.self), as: UInt64.self)
    case MemoryLayout<UInt32>.size: place.storeBytes(of: bytes.loadUnaligned(as: UInt32.self), as: UInt32.self)
    default: place.copyMemory(from: bytes, byteCount: size)
    }
  }

  /// Fills memory of this size, aligned to 16. Texts that somebody writes meanwhile are cut.
  @_optimize(speed)
  func fill(_ memory: UnsafeMutableRawPointer) {
    guard let given else { return }
    let pointers = memory.assumingMemoryBound(to: UnsafeRawPointer?.self)
    let frame = memory + ArgumentCopy.frameOffset(signature)
    let values = signature.body.pointee.values
    let count = signature.argumentCount
    var index = 0
    while index < count {
      let place = frame + values[index].copyOffset
      if let bytes = given[index] { ArgumentCopy.copy(bytes, to: place, size: values[index].layout.size) }
      (pointers + index).initialize(to: UnsafeRawPointer(place))
      index &+= 1
    }
    if signature.body.pointee.hasTexts { fillTexts(frame, upTo: memory + size) }
  }

  private func fillTexts(_ frame: UnsafeMutableRawPointer, upTo end: UnsafeMutableRawPointer) {
    var room = frame + TypeLayout.align(signature.copySize, to: 16)
    for index in 0..<signature.argumentCount where signature.body.pointee.values[index].isText {
      guard let text = ArgumentCopy.text(given?[index]) else { continue }
      let place = frame + signature.body.pointee.values[index].copyOffset
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
