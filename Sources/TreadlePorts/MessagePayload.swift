// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The bytes of one message that has come in: in the memory that the frame was received in, or a copy of a file, or the
/// mapping of a large one (of another user's, a copy as well). Its owner frees it once.
struct MessagePayload: BitwiseCopyable {
  /// Nil for none.
  private(set) var data: UnsafeRawPointer? = nil
  private(set) var size = 0
  /// What the frame was received in, or copied to.
  private var buffer: UnsafeMutableRawPointer? = nil
  private var place = Place.frame

  private enum Place {
    case frame
    /// The buffer has room for any copy.
    case copy
    case mapping
  }

  init() {}

  init(in buffer: UnsafeMutableRawPointer, size: Int) {
    self.buffer = buffer
    self.size = size
    data = size == 0 ? nil : UnsafeRawPointer(buffer + MessageFrame.size)
  }

  /// The bytes of a file that the other side has sent; nil if it is none that can be read without danger, or there is
  /// no room. To copy a few is quicker than to map them. `isOwn`: it is a file of the port's own user. One of another
  /// user is never mapped, since to look for its holes may wait for that user's processes. No lock is held.
  init?(file: Int32, size: Int, isLent: Bool, isOwn: Bool) {
    if size <= MessageFrame.mostLent {
      guard let room = treadle_system_copy_room(MessageFrame.mostLent) else { return nil }
      if !(isLent ? treadle_system_lent_read(file, room, size) : treadle_system_sealed_read(file, room, size)) {
        treadle_system_copy_room_end(room)
        return nil
      }
      self.init()
      data = UnsafeRawPointer(room)
      self.size = size
      buffer = room
      place = .copy
      return
    }
    guard let mapped = isOwn ? treadle_system_sealed_map(file, size) : treadle_system_sealed_copy(file, size) else {
      return nil
    }
    self.init()
    data = mapped
    self.size = size
    place = .mapping
  }

  func isIn(_ buffer: UnsafeMutableRawPointer) -> Bool { self.buffer == buffer }

  /// Memory for any frame; nil without any.
  static func makeBuffer() -> UnsafeMutableRawPointer? {
    treadle_system_allocate(roomOfBuffer)
  }
  static let roomOfBuffer = MessageFrame.size + MessageFrame.mostInline

  /// Takes the bytes from it: the one who calls this frees them.
  mutating func take() -> MessagePayload {
    let taken = self
    self = MessagePayload()
    return taken
  }

  mutating func free() {
    let last = take()
    switch last.place {
    case .frame: treadle_system_free(last.buffer)
    case .copy: treadle_system_copy_room_end(last.buffer)
    case .mapping: treadle_system_sealed_unmap(last.data, last.size)
    }
  }

  /// In the child of a fork, which has copies: what can be left is.
  mutating func forget() {
    let last = take()
    if let buffer = last.buffer { treadle_system_forget(buffer) }
  }
}
