// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// The file in memory that holds the data of a frame which is too large for the frame itself, with the sender. It is
/// one of two:
/// - A sealed one is created for one message. Nobody can change it any more.
/// - A lent one is the connection's. Its pages are there already, and they are most of what a sealed one costs. The
///   receiver copies the data and then counts that in the ring; until then the sender does not write to the file again.
///   What either side does to it meanwhile spoils that one message.
struct MessageFile: BitwiseCopyable {
  let descriptor: MessageSocket
  let isLent: Bool

  static let none = MessageFile(descriptor: .none, isLent: false)

  var number: Int32 { descriptor.number }
  var isThere: Bool { descriptor.number >= 0 }
  /// What a frame with it says.
  var flags: UInt8 {
    !isThere ? 0 : isLent ? MessageFrame.Flag.inFile | MessageFrame.Flag.lent : MessageFrame.Flag.inFile
  }

  func close() { descriptor.close() }

  /// A sealed one, for the caller to close.
  static func seal(_ data: UnsafeRawPointer?, _ size: Int) throws(Failure) -> MessageFile {
    let number = treadle_system_sealed_file(data, size)
    if number < 0 { throw Failure.system("memfd_create", number) }
    return MessageFile(descriptor: MessageSocket(number: number), isLent: false)
  }

  /// A lent one with other data, which takes over the file; nil, and it is closed, if it cannot hold them, or is new
  /// and half of the process's descriptors are used.
  static func lend(_ kept: MessageSocket, _ data: UnsafeRawPointer?, _ size: Int) -> MessageFile? {
    let file = kept.number >= 0 ? kept : MessageSocket(number: treadle_system_lent_file(MessageFrame.mostLent))
    if file.number < 0 { return nil }
    let isToBeKept = kept.number >= 0 || !treadle_system_descriptor_is_late(file.number)
    if isToBeKept && treadle_system_write_at_start(file.number, data, size) >= 0 {
      return MessageFile(descriptor: file, isLent: true)
    }
    file.close()
    return nil
  }
}

/// `mark`: that of the connection, at a local port; 0 at a remote one.
extension MessagePort {
  /// A file for the data of a frame, which goes to `finish` or `finishLocked`; none for a frame that has room for it.
  func makeFile(_ data: UnsafeRawPointer?, _ size: Int, for mark: UInt64) throws(Failure) -> MessageFile {
    if size <= MessageFrame.mostInline { return .none }
    if size <= MessageFrame.mostLent, let file = lend(data, size, mark) { return file }
    return try MessageFile.seal(data, size)
  }

  private func lend(_ data: UnsafeRawPointer?, _ size: Int, _ mark: UInt64) -> MessageFile? {
    lock()
    let kept = ring(mark)?.pointee.beginLending()
    unlock()
    guard let kept else { return nil }
    if let file = MessageFile.lend(kept, data, size) { return file }
    lock()
    ring(mark)?.pointee.endLending(.none, isSent: false)
    unlock()
    return nil
  }

  private func ring(_ mark: UInt64) -> MessageRing.Pointer? {
    if isRemote { return state.ring }
    return place(mark).flatMap { state.connections[$0]?.ring }
  }

  /// The frame with the file was sent, or is not going to be.
  func finish(_ file: MessageFile, for mark: UInt64, isSent: Bool) {
    if !file.isLent { return file.close() }
    lock()
    finishLocked(file, ring(mark), isSent: isSent)
    unlock()
  }

  /// What `finish` does, with the lock held.
  func finishLocked(_ file: MessageFile, _ ring: MessageRing.Pointer?, isSent: Bool) {
    guard file.isLent, let ring else { return file.close() }
    ring.pointee.endLending(file.descriptor, isSent: isSent)
  }
}
