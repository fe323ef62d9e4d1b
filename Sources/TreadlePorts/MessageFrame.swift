// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// The head of everything that goes over a message port's socket or its ring (`MessageRing`): one message of the socket
/// is one frame, of which the data follows in the same message, or lies in a file that comes with it.
///
///     0      4        6     7      8       16      20  24        32
///     magic  version  kind  flags  length  serial  id  reserved  data
///
/// What comes in is anybody's: `parse` is the only one who looks at it, and it looks at nothing else.
package struct MessageFrame: BitwiseCopyable, Equatable {
  package enum Kind {
    /// A sender's first: the name that it means is the data.
    package static let hello: UInt8 = 1
    package static let message: UInt8 = 2
    package static let reply: UInt8 = 3
    /// A call of a function (`CallData`), whose answer is a reply.
    package static let call: UInt8 = 4
    /// A server's, to a sender that has asked for it (`CallData.isRingQuestion`): its end of a ring, three descriptors.
    package static let ring: UInt8 = 5
  }
  package enum Flag {
    /// Of a message: the sender waits for a reply.
    package static let wantsReply: UInt8 = 1
    /// The data is a file.
    package static let inFile: UInt8 = 2
    /// Of a reply: the thread that was to give it has ended.
    package static let abandoned: UInt8 = 4
    /// The file is lent (`MessageFile`): its sender waits for the ring to say that the data is copied.
    package static let lent: UInt8 = 8
  }
  /// Which end a frame has come from.
  package enum Origin {
    case sender
    case server
  }

  package static let size = 32
  package static let placeOfKind = 6
  private static let magic: UInt32 = 0x4C44_5254
  private static let version: UInt16 = 1
  /// The most bytes that are sent in the frame itself: a copy of more costs more than a file.
  package static let mostInline = 65536
  /// The most data in a file that is lent, and the most that is copied from any file: more is mapped.
  package static let mostLent = 1 << 20
  package static let mostBytes = 0x6000_0000
  package static let mostName = 255
  /// The serial of the sender's question for a ring, and of no other message.
  package static let ringSerial = UInt32.max

  package let kind: UInt8
  package let flags: UInt8
  package let length: Int
  /// What a reply is known by among the sender's messages; 0 for one that wants none.
  package let serial: UInt32
  package let id: Int32

  package init(kind: UInt8, flags: UInt8 = 0, length: Int, serial: UInt32 = 0, id: Int32 = 0) {
    self.kind = kind
    self.flags = flags
    self.length = length
    self.serial = serial
    self.id = id
  }

  /// Of a server's frame: it answers the question for a ring.
  var isAboutRing: Bool { kind == Kind.ring || serial == MessageFrame.ringSerial }

  package func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

  /// Writes the head; `room` has `size` bytes.
  package func write(to room: UnsafeMutableRawBufferPointer) {
    if room.count < MessageFrame.size { return }
    room.storeBytes(of: MessageFrame.magic, toByteOffset: 0, as: UInt32.self)
    room.storeBytes(of: MessageFrame.version, toByteOffset: 4, as: UInt16.self)
    room.storeBytes(of: kind, toByteOffset: 6, as: UInt8.self)
    room.storeBytes(of: flags, toByteOffset: 7, as: UInt8.self)
    room.storeBytes(of: UInt64(length), toByteOffset: 8, as: UInt64.self)
    room.storeBytes(of: serial, toByteOffset: 16, as: UInt32.self)
    room.storeBytes(of: id, toByteOffset: 20, as: Int32.self)
    room.storeBytes(of: 0, toByteOffset: 24, as: UInt64.self)
  }

  /// What a message of the socket says; nil for what no port of this version sends. `bytes`: as much of it as was
  /// received; `size`: what it had; `files`: how many descriptors came with it.
  package static func parse(
    _ bytes: UnsafeRawBufferPointer, size: Int, files: Int, from origin: Origin
  ) -> MessageFrame? {
    guard size <= bytes.count, size >= MessageFrame.size,
      bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self) == magic,
      bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self) == version,
      bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self) == 0
    else { return nil }
    let length = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    if length > UInt64(mostBytes) { return nil }
    let frame = MessageFrame(
      kind: bytes[placeOfKind], flags: bytes[7], length: Int(length),
      serial: bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self),
      id: bytes.loadUnaligned(fromByteOffset: 20, as: Int32.self))
    let hasFile = frame.has(Flag.inFile)
    if files != (frame.kind == Kind.ring ? 3 : hasFile ? 1 : 0) { return nil }
    // The data is there, all of it, and nothing else.
    if hasFile ? (size != MessageFrame.size || frame.length == 0) : size &- MessageFrame.size != frame.length {
      return nil
    }
    if frame.has(Flag.lent) && (!hasFile || frame.length > mostLent) { return nil }
    return frame.isMeaningful(from: origin) ? frame : nil
  }

  private func isMeaningful(from origin: Origin) -> Bool {
    switch (kind, origin) {
    case (Kind.hello, .sender):
      flags == 0 && serial == 0 && id == 0 && length > 0 && length <= MessageFrame.mostName
    case (Kind.message, .sender):
      flags & ~(Flag.wantsReply | Flag.inFile | Flag.lent) == 0 && has(Flag.wantsReply) == (serial != 0)
    case (Kind.call, .sender):
      flags & ~(Flag.inFile | Flag.lent) == Flag.wantsReply && serial != 0 && id == 0
    case (Kind.reply, .server):
      flags & ~(Flag.abandoned | Flag.inFile | Flag.lent) == 0 && serial != 0 && id == 0
        && (!has(Flag.abandoned) || flags == Flag.abandoned && length == 0)
    case (Kind.ring, .server):
      flags == 0 && serial == 0 && id == 0 && length == 0
    default: false
    }
  }
}
