// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// A message: a thin handle, copied freely. Whoever sends makes it, with all that it carries copied or retained
/// (MPORT-2); from then on it is a queue's, a callback's, or a client's who retains it.
package struct Message {
  package let slot: UInt32
  let address: UnsafeMutablePointer<MessageCell>
  /// What the handle leads to.
  @inline(__always)
  var cell: MessageCell {
    unsafeAddress { UnsafePointer(address) }
    nonmutating unsafeMutableAddress { address }
  }

  /// The cell of a slot that was allocated once; nil for slot 0, which means none.
  @inline(__always)
  package init?(slot: UInt32) {
    guard slot != 0, let memory = Slab(.message).memory(slot) else { return nil }
    self.init(slot, memory)
  }
  @inline(__always)
  private init(_ slot: UInt32, _ memory: UnsafeMutableRawPointer) {
    self.slot = slot
    address = memory.assumingMemoryBound(to: MessageCell.self)
  }

  @inline(__always)
  package var handle: Handle { Handle(kind: .message, slot: slot, generation: cell.reference.generation) }
  @inline(__always)
  var handlePointer: OpaquePointer? { OpaquePointer(bitPattern: handle.bits) }
  @inline(__always)
  package var id: UInt32 { cell.id }
  @inline(__always)
  package var port: UInt { cell.port }
  package var reply: UInt { cell.reply }

  /// What a part of a message is, in the numbers of the C header.
  package enum PartKind {
    package static let bytes: UInt32 = 1
    package static let port: UInt32 = 2
    package static let descriptor: UInt32 = 3
  }

  /// A part as a client gives it, or gets it.
  package struct Part {
    package var kind: UInt32
    package var descriptor: Int32 = -1
    package var bytes: UnsafeRawPointer? = nil
    package var length = 0
    package var port: UInt = 0

    package init(kind: UInt32) { self.kind = kind }
  }

  package static let mostParts = 65_535
  private static let roomForBytes = MemoryLayout<MessageCell.Room>.size

  // MARK: Making

  /// One with one reference of ours and nothing in it.
  @inline(__always)
  private static func take(_ id: UInt32) throws(Failure) -> Message {
    Slab(.message).checkRoom(for: MessageCell.self)
    guard let (slot, memory) = Slab(.message).take() else { throw Failure.noMemory("message") }
    let message = Message(slot, memory)
    message.cell.next = 0
    message.cell.id = id
    message.cell.count = 0
    message.cell.length = 0
    message.cell.port = 0
    message.cell.reply = 0
    message.cell.parts = nil
    message.cell.reference.begin(forClient: false)
    return message
  }

  /// One with a copy of bytes, or with nothing.
  @inline(__always)
  package static func make(_ id: UInt32, bytes: UnsafeRawPointer?, length: Int) throws(Failure) -> Message {
    if length > roomForBytes { return try makeLong(id, bytes, length) }
    let message = try take(id)
    if let bytes, length > 0 {
      memcpy(message.room, bytes, length)
      message.cell.length = UInt32(truncatingIfNeeded: length)
      message.cell.count = 1
    }
    return message
  }

  @inline(never)
  private static func makeLong(_ id: UInt32, _ bytes: UnsafeRawPointer?, _ length: Int) throws(Failure) -> Message {
    try make(id, reply: 0, count: 1) { _ in
      var part = Part(kind: PartKind.bytes)
      part.bytes = bytes
      part.length = length
      return part
    }
  }

  /// One with copies of parts, each of which is asked for once, and a port for the answer.
  @inline(never)
  package static func make(
    _ id: UInt32, reply: UInt, count: Int, _ part: (Int) throws(Failure) -> Part
  ) throws(Failure) -> Message {
    let message = try take(id)
    do throws(Failure) {
      if reply != 0 {
        try Slab(.port).retainForClient(reply, "reply_port")
        message.cell.reply = reply
      }
      try message.fill(count, part)
      return message
    } catch {
      message.drop()
      throw error
    }
  }

  /// Takes the parts over one by one: what fails gives back those that it has.
  private func fill(_ count: Int, _ part: (Int) throws(Failure) -> Part) throws(Failure) {
    if count == 0 { return }
    guard let memory = treadle_system_allocate(count &* MemoryLayout<MessagePart>.stride) else {
      throw Failure.noMemory("message")
    }
    cell.parts = memory.bindMemory(to: MessagePart.self, capacity: count)
    var total = 0
    for index in 0..<count {
      let given = try part(index)
      try append(given)
      // Each begins where anything may.
      let (room, isTooLong) = given.length.addingReportingOverflow(15)
      let (sum, isTooMuch) = total.addingReportingOverflow(room & ~15)
      if isTooLong || isTooMuch || given.length < 0 { throw Failure.noMemory("message") }
      total = sum
    }
    if total != 0 { try copyBytes(total) }
  }

  private func append(_ given: Part) throws(Failure) {
    guard let parts = cell.parts else { return }
    var descriptor: Int32 = -1
    switch given.kind {
    case PartKind.port: try Slab(.port).retainForClient(given.port, "components[].port")
    case PartKind.descriptor:
      descriptor = treadle_system_duplicate(given.descriptor)
      if descriptor == 0 &- treadle_system_ebadf() {
        throw Failure(
          Status.argument, "components[].descriptor", "is not an open descriptor", osError: treadle_system_ebadf())
      }
      if descriptor < 0 { throw Failure.system("fcntl", descriptor) }
    default: break
    }
    (parts + Int(cell.count)).initialize(
      to: MessagePart(
        kind: given.kind, descriptor: descriptor, bytes: given.length == 0 ? nil : given.bytes, length: given.length,
        port: given.port))
    cell.count = cell.count &+ 1
  }

  /// Behind the parts, whose lengths were looked at once.
  private func copyBytes(_ total: Int) throws(Failure) {
    let size = Int(cell.count) &* MemoryLayout<MessagePart>.stride
    let (sum, isTooMuch) = size.addingReportingOverflow(total)
    guard !isTooMuch, let memory = treadle_system_reallocate(cell.parts, sum) else { throw Failure.noMemory("message") }
    let parts = memory.assumingMemoryBound(to: MessagePart.self)
    cell.parts = parts
    var next = memory + size
    for index in 0..<Int(cell.count) where parts[index].length != 0 {
      if let bytes = parts[index].bytes { memcpy(next, bytes, parts[index].length) }
      parts[index].bytes = UnsafeRawPointer(next)
      next += (parts[index].length &+ 15) & ~15
    }
  }

  @inline(__always)
  private var room: UnsafeMutableRawPointer { withUnsafeMutablePointer(to: &cell.room) { UnsafeMutableRawPointer($0) } }

  // MARK: Reading

  package var count: Int { Int(cell.count) }

  /// Nil for a number that no part has.
  package func part(_ index: Int) -> Part? {
    guard index >= 0, index < count else { return nil }
    guard let parts = cell.parts else {
      var part = Part(kind: PartKind.bytes)
      part.bytes = UnsafeRawPointer(room)
      part.length = Int(cell.length)
      return part
    }
    var part = Part(kind: parts[index].kind)
    part.descriptor = parts[index].descriptor.load(ordering: .acquiring)
    part.bytes = parts[index].bytes
    part.length = parts[index].length
    part.port = parts[index].port
    return part
  }

  /// Takes a descriptor out, which is the client's from then on; -1 if there is none, or no more.
  package func takeDescriptor(_ index: Int) -> Int32 {
    guard index >= 0, index < count, let parts = cell.parts else { return -1 }
    return parts[index].descriptor.exchange(-1, ordering: .acquiringAndReleasing)
  }

  // MARK: References

  /// The message that a client's handle means, held until `drop`.
  @inline(__always)
  package static func hold(_ handle: UInt) throws(Failure) -> Message {
    Message(Handle(bits: handle).slot, try Slab(.message).hold(handle, "message"))
  }

  /// Drops one of our own references.
  @inline(__always)
  package func drop() {
    if cell.parts == nil && cell.reply == 0 && cell.reference.endIfOnly() {
      Slab(.message).giveBack(slot, UnsafeMutableRawPointer(address))
    } else if cell.reference.drop().isGone {
      end()
    }
  }

  /// Returns a reference that the client owns.
  package static func releaseForClient(_ handle: UInt) throws(Failure) {
    let memory = try Slab(.message).surrender(handle, "message")
    Message(Handle(bits: handle).slot, memory).drop()
  }

  /// Nobody refers to it any more.
  @inline(__always)
  private func end() {
    if cell.parts == nil && cell.reply == 0 {
      Slab(.message).free(slot, UnsafeMutableRawPointer(address))
    } else {
      endLater()
      Message.endAll()
    }
  }
}

/// The end of messages that carry something. With a message a port may end, and with that the messages in its queue,
/// and so on: so they are listed, by thread, and end one after the other.
extension Message {
  private func endLater() {
    let thread = treadle_system_thread()
    cell.next = thread.pointee.ending_message
    thread.pointee.ending_message = slot
  }

  /// Drops the references that a queue had to a chain of messages.
  static func dropChain(_ first: UInt32) {
    var next = first
    while let message = Message(slot: next) {
      next = message.cell.next
      if message.cell.reference.drop().isGone { message.endLater() }
    }
    endAll()
  }

  private static func endAll() {
    if treadle_system_thread().pointee.is_ending_messages { return }
    treadle_system_thread().pointee.is_ending_messages = true
    while let message = Message(slot: treadle_system_thread().pointee.ending_message) {
      // What it carries is taken out before it is given back: the release that this may lead to can end the thread.
      if let port = message.takePort() {
        Item.releaseForMessage(port)
        continue
      }
      treadle_system_thread().pointee.ending_message = message.cell.next
      treadle_system_free(message.cell.parts)
      Slab(.message).free(message.slot, UnsafeMutableRawPointer(message.address))
    }
    treadle_system_thread().pointee.is_ending_messages = false
  }

  /// The thread ends inside of that: the rest of them ends now.
  package static func endAbandoned() {
    treadle_system_thread().pointee.is_ending_messages = false
    endAll()
  }

  /// The next port to which it has a reference; on the way, its descriptors are closed.
  private func takePort() -> UInt? {
    if cell.reply != 0 {
      let port = cell.reply
      cell.reply = 0
      return port
    }
    guard let parts = cell.parts else { return nil }
    // From the last to the first, and shorter each time: none is looked at twice.
    while cell.count != 0 {
      let index = Int(cell.count) &- 1
      if parts[index].port != 0 {
        let port = parts[index].port
        parts[index].port = 0
        return port
      }
      let descriptor = parts[index].descriptor.exchange(-1, ordering: .acquiringAndReleasing)
      if descriptor >= 0 { _ = treadle_system_close(descriptor) }
      cell.count = cell.count &- 1
    }
    return nil
  }
}
