// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The questions of a host to the process of a plugin, and that process's messages, by the ids of their frames.
enum IsolatedFrame {
  static let load: Int32 = 1
  static let start: Int32 = 2
  static let close: Int32 = 3
  static let set: Int32 = 4
  /// Of both: a call of a function of an extension; of a callback.
  static let call: Int32 = 5
  static let callback: Int32 = 6
  /// Of the host: an extension of the plugin's. Of the plugin's process: one that the host has for it.
  static let find: Int32 = 7
  /// Of the plugin's process: the state that the plugin saves while it runs.
  static let checkpoint: Int32 = 8
  /// Of the plugin's process: a line for the log.
  static let log: Int32 = 16

  /// The plugin's state changes by it.
  static func isLife(_ id: Int32) -> Bool { id >= load && id <= set }
  /// Which functions a plugin has besides those that it must have.
  enum Has {
    static let save: UInt64 = 1
    static let restore: UInt64 = 2
  }
  static let mostBytes = 64 << 20
  static let callMode: StaticString = "TreadlePluginCall"
  static var mode: ModeName { ModeName(callMode.cText) }
}

/// Writes a frame: numbers of eight bytes; bytes behind their count; a text as bytes with its NUL, none as no bytes.
struct FrameWriter {
  private(set) var bytes = Buffer<UInt8>()
  private(set) var hasMemory = true

  mutating func number(_ value: UInt64) {
    var value = value.littleEndian
    withUnsafeBytes(of: &value) { append($0.baseAddress, $0.count) }
  }
  mutating func number(_ value: Int64) { number(UInt64(bitPattern: value)) }
  mutating func bytes(_ start: UnsafeRawPointer?, _ count: Int) {
    number(UInt64(truncatingIfNeeded: count))
    append(start, count)
  }
  mutating func text(_ text: UnsafePointer<CChar>?) { bytes(text, text.map { strlen($0) &+ 1 } ?? 0) }
  /// A list of texts that ends with NULL; nil is an empty one.
  mutating func list(_ list: UnsafePointer<UnsafePointer<CChar>?>?) {
    var count: UInt64 = 0
    var next = list
    while let at = next, at.pointee != nil {
      count &+= 1
      next = at + 1
    }
    number(count)
    next = list
    while let at = next, let text = at.pointee {
      self.text(text)
      next = at + 1
    }
  }

  private mutating func append(_ start: UnsafeRawPointer?, _ count: Int) {
    guard count > 0, let start else { return }
    let before = bytes.count
    guard count <= IsolatedFrame.mostBytes, bytes.reserve(before &+ count) else {
      hasMemory = false
      return
    }
    _ = bytes.extendInRoom(count) { $0.copyMemory(from: start, byteCount: count) }
  }

  /// Room for two numbers, which `setHeader` writes.
  mutating func header() {
    number(UInt64(0))
    number(UInt64(0))
  }
  func setHeader(_ first: UInt64, _ second: UInt64) {
    guard bytes.count >= 16, let start = UnsafeMutableRawPointer(bytes.elements.baseAddress) else { return }
    start.storeBytes(of: first.littleEndian, as: UInt64.self)
    start.storeBytes(of: second.littleEndian, toByteOffset: 8, as: UInt64.self)
  }
  /// So many bytes, without their count, that `body` writes.
  mutating func room(_ count: Int, _ body: (UnsafeMutableRawPointer) -> Void) {
    guard count >= 0, count <= IsolatedFrame.mostBytes, bytes.reserve(max(bytes.count &+ count, 1)) else {
      hasMemory = false
      return
    }
    _ = bytes.extendInRoom(count, body)
  }

  func demandMemory() throws(Failure) { if !hasMemory { throw Failure.noMemory("plugin") } }
  mutating func free() { bytes.free() }
}

/// Reads a frame that another process has written: what does not fit it is nothing, and `isBroken` from then on.
struct FrameReader {
  private let start: UnsafeRawPointer?
  private let size: Int
  private var offset = 0
  private(set) var isBroken = false

  init(_ start: UnsafeRawPointer?, _ size: Int) {
    self.start = start
    self.size = start == nil ? 0 : size
  }

  private mutating func take(_ count: Int) -> UnsafeRawPointer? {
    guard let start, !isBroken, count >= 0, count <= size &- offset else {
      isBroken = true
      return nil
    }
    defer { offset &+= count }
    return start + offset
  }

  mutating func number() -> UInt64 {
    guard let place = take(8) else { return 0 }
    return UInt64(littleEndian: place.loadUnaligned(as: UInt64.self))
  }
  mutating func signed() -> Int64 { Int64(bitPattern: number()) }
  /// A number of at most so much.
  mutating func count(atMost most: Int) -> Int {
    let value = number()
    if value > UInt64(truncatingIfNeeded: most) {
      isBroken = true
      return 0
    }
    return Int(truncatingIfNeeded: value)
  }
  mutating func bytes() -> UnsafeRawBufferPointer {
    let count = self.count(atMost: IsolatedFrame.mostBytes)
    return UnsafeRawBufferPointer(start: take(count), count: isBroken ? 0 : count)
  }
  /// In the frame; with its NUL, and no other.
  mutating func text() -> UnsafePointer<CChar>? {
    let bytes = self.bytes()
    if bytes.count == 0 { return nil }
    guard let start = bytes.baseAddress,
      memchr(start, 0, bytes.count) == UnsafeMutableRawPointer(mutating: start + (bytes.count &- 1))
    else {
      isBroken = true
      return nil
    }
    return start.assumingMemoryBound(to: CChar.self)
  }
  /// All that follows.
  mutating func rest() -> UnsafeRawBufferPointer {
    let count = isBroken ? 0 : size &- offset
    return UnsafeRawBufferPointer(start: take(count), count: count)
  }
}
