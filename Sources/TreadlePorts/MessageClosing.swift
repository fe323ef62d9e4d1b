// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Descriptors of other users that are closed where nobody waits for it: the close of the last descriptor of a socket
/// may take as long as its owner has set (SO_LINGER), that of a file as long as its file system. They are what another
/// user has sent besides a file in memory, and connections in which descriptors lie unread, which the kernel closes
/// with them.
///
/// Each user has one thread, which ends when nothing is left; a user that keeps its own thread waiting holds up no
/// other. When so many of a user's wait, ports accept no connections and receive nothing from other users, and remote
/// ports do not connect, until one is closed. Without a thread they wait as well, until there is one.
///
/// The calls of the kernel that a local port makes on what another user has sent, or holds the other end of, and why
/// none waits:
/// - accept4, getsockopt, setsockopt, epoll_ctl, shutdown on its own sockets: these take locks of its own end, and
///   spinlocks of the other.
/// - recvmsg with MSG_PEEK, under the port's lock: duplicates descriptors, and so closes none. recvfrom: receives a
///   message whose descriptor is duplicated, or which has none.
/// - sendmsg with MSG_DONTWAIT: wakes those that watch the other end, of which each user may have as many as the
///   system's limit says.
/// - close of its own socket: only if no descriptor lies in it unread. close of a file in memory: it has no flush, and
///   nothing watches it.
/// - fcntl, fstatfs, fstat, pread64 on a file in memory, without a lock (CTreadleSockets.h).
/// - close of any other descriptor may wait: here alone.
/// - connect, of a remote port: without a lock, and with a timeout.
///
/// *Lock*: `LockRank.closing`.
enum MessageClosing {
  private static let mostOfUser: UInt32 = 64

  private struct Waiting {
    typealias Pointer = UnsafeMutablePointer<Waiting>
    let descriptor: Int32
    var next: Pointer?
  }
  /// A user's, in room of C's.
  private struct Closer {
    typealias Pointer = UnsafeMutablePointer<Closer>
    var first: Waiting.Pointer?
    var last: Waiting.Pointer?
    var user: UInt32
    /// Also the one that is being closed; 0: nobody's.
    var count: UInt32
    var hasThread: Bool
  }

  private static var mutex: UnsafeMutablePointer<TreadleBase.Mutex> {
    TreadleBase.Mutex.at(treadle_system_closing_lock())
  }
  private static var fullness: UnsafeMutablePointer<Atomic<UInt32>> {
    treadle_system_closing_fullness().assumingMemoryBound(to: Atomic<UInt32>.self)
  }
  private static let countOfClosers = 64
  private static func closer(_ index: Int) -> Closer.Pointer {
    treadle_system_closers().assumingMemoryBound(to: Closer.self) + index
  }

  /// Whether so much waits that no more is to be taken in. A port that is told so tries again later.
  static var isFull: Bool {
    if fullness.pointee.load(ordering: .relaxed) == 0 { return false }
    // A thread that could not be started then may be now.
    for index in 0..<countOfClosers { startIfNeeded(closer(index)) }
    return true
  }

  /// Closes a descriptor of a user's, sooner or later. Without memory to wait in, it is closed here.
  static func close(_ descriptor: MessageSocket, of user: UInt32) {
    if descriptor.number < 0 { return }
    // The child of a fork keeps its copy until it ends: to close it might be what waits.
    treadle_system_socket_forget(descriptor.number)
    guard let memory = treadle_system_allocate(MemoryLayout<Waiting>.size) else {
      treadle_system_close(descriptor.number)
      return
    }
    let waiting = memory.bindMemory(to: Waiting.self, capacity: 1)
    waiting.initialize(to: Waiting(descriptor: descriptor.number, next: nil))
    mutex.pointee.lock(.closing)
    let closer = closerOf(user)
    if let last = closer.pointee.last { last.pointee.next = waiting } else { closer.pointee.first = waiting }
    closer.pointee.last = waiting
    closer.pointee.count &+= 1
    updateFullness()
    mutex.pointee.unlock(.closing)
    startIfNeeded(closer)
  }

  /// The user's, or a free one; if there is none, another user's. The lock is held.
  private static func closerOf(_ user: UInt32) -> Closer.Pointer {
    var free: Closer.Pointer?
    for index in 0..<countOfClosers {
      let closer = closer(index)
      if closer.pointee.count == 0 {
        if free == nil { free = closer }
      } else if closer.pointee.user == user {
        return closer
      }
    }
    let taken = free ?? closer(Int(user) % countOfClosers)
    if free != nil { taken.pointee.user = user }
    return taken
  }

  /// The lock is held.
  private static func updateFullness() {
    var used = 0
    var isFull = false
    for index in 0..<countOfClosers {
      let count = closer(index).pointee.count
      if count != 0 { used &+= 1 }
      if count >= mostOfUser { isFull = true }
    }
    fullness.pointee.store(isFull || used == countOfClosers ? 1 : 0, ordering: .relaxed)
  }

  private static func startIfNeeded(_ closer: Closer.Pointer) {
    mutex.pointee.lock(.closing)
    let isNeeded = closer.pointee.count != 0 && !closer.pointee.hasThread
    if isNeeded { closer.pointee.hasThread = true }
    mutex.pointee.unlock(.closing)
    if !isNeeded || treadle_system_helper_start(run, UnsafeMutableRawPointer(closer), 16384) >= 0 { return }
    mutex.pointee.lock(.closing)
    closer.pointee.hasThread = false
    mutex.pointee.unlock(.closing)
  }

  private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { memory in
    guard let closer = memory?.assumingMemoryBound(to: Closer.self) else { return nil }
    while let waiting = next(closer) {
      treadle_system_close(waiting.pointee.descriptor)
      treadle_system_free(waiting)
      mutex.pointee.lock(.closing)
      closer.pointee.count &-= 1
      updateFullness()
      mutex.pointee.unlock(.closing)
    }
    return nil
  }

  /// Nil for the end of the thread.
  private static func next(_ closer: Closer.Pointer) -> Waiting.Pointer? {
    mutex.pointee.lock(.closing)
    defer { mutex.pointee.unlock(.closing) }
    guard let first = closer.pointee.first else {
      closer.pointee.hasThread = false
      return nil
    }
    closer.pointee.first = first.pointee.next
    if first.pointee.next == nil { closer.pointee.last = nil }
    return first
  }
}

extension MessagePort {
  /// Whether a user may keep this process waiting: all but the port's own, whose processes are trusted.
  func isStranger(_ user: UInt32) -> Bool { user != state.owner }

  /// Ends a connection that nobody watches. A child process may have a copy of the socket, so the other end is told.
  func end(_ socket: MessageSocket, of user: UInt32) {
    treadle_system_socket_shut(socket.number)
    if isStranger(user) { MessagePort.closeShut(socket, of: user) } else { socket.close() }
  }

  /// The same, of one that was just accepted, or connected, and is refused. Nobody is trusted here: a user that the
  /// process's user namespace does not map may look like the port's own.
  func refuse(_ socket: MessageSocket) {
    if socket.number < 0 { return }
    var user: UInt32 = 0
    var process: Int32 = 0
    treadle_system_socket_shut(socket.number)
    // The kernel always knows; in a sandbox that may not ask it no port works.
    if treadle_system_socket_peer(socket.number, &user, &process) < 0 { return socket.close() }
    MessagePort.closeShut(socket, of: user)
  }

  private static func closeShut(_ socket: MessageSocket, of user: UInt32) {
    if treadle_system_socket_is_bare(socket.number) { socket.close() } else { MessageClosing.close(socket, of: user) }
  }
}
