// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Waiting for something of which the kernel does not tell when it is there again, by the port's timer: it goes off
/// after 100 microseconds at first and 10 milliseconds at last, and all is tried again. The lock is held, unless a
/// comment says otherwise.
/// - Replies that are files, while as many files of the user's are on their way as a process may have open: that is
///   want of room.
/// - A frame for which there is no memory: nothing is received by its connection, and the kernel keeps the frame.
/// - A sender for which there is no descriptor: the kernel keeps its connection.
extension MessagePort {
  /// What the kernel says of the timer: the mark of no connection.
  static let pauseMark = UInt64.max
  private static let shortest: Int64 = 100_000
  private static let longest: Int64 = 10_000_000

  /// A connection's replies wait for the end of a pause. False if there is no timer.
  func pause(_ place: Int) -> Bool {
    if !beginPause() { return false }
    change(place) { $0.isPaused = true }
    return true
  }

  /// A connection waits for memory.
  func starve(_ place: Int) {
    if !beginPause() {
      // What its bell has told is to be told again.
      state.connections[place]?.ring?.pointee.ringOwnBell()
      state.mustSleep = true
      return
    }
    change(place) { $0.isStarved = true }
    rewatch(place)
  }

  /// The listener, or a remote port's socket, waits for memory or descriptors. True.
  @discardableResult
  func restMain() -> Bool {
    if beginPause() {
      state.isResting = true
      // The hang-up of a remote port's socket is told once.
      rewatch(main, MessagePort.edges, 0)
    } else {
      state.mustSleep = true
    }
    return true
  }

  private var main: MessageSocket { isRemote ? state.socket : state.listener }

  /// Memory or descriptors are there: a later want of them begins with the shortest pause.
  @inline(__always)
  func endWant() {
    if state.pauseLength != 0 && !state.isPausing { state.pauseLength = 0 }
  }

  /// A remote port has no memory for a reply. The lock is not held.
  func rest() {
    lock()
    if state.set.number >= 0 && !state.isOver { restMain() } else { state.mustSleep = true }
    let mustSleep = state.mustSleep
    state.mustSleep = false
    if mustSleep { state.ring?.pointee.ringOwnBell() }
    unlock()
    if mustSleep { MessagePort.sleep() }
  }

  /// Without a timer: better a loop that is late than one that spins. The lock is not held.
  static func sleep() {
    assert(LockOrder.isClear, "a sleeping thread holds no lock")
    treadle_system_sleep_until(Clock.now() &+ 1_000_000)
  }

  private func beginPause() -> Bool {
    if !needPauseTimer() { return false }
    if state.isPausing { return true }
    let length = min(max(2 &* state.pauseLength, MessagePort.shortest), MessagePort.longest)
    if treadle_system_timerfd_set(state.pauseTimer.number, Clock.now() &+ length) < 0 { return false }
    state.pauseLength = length
    state.isPausing = true
    return true
  }

  func needPauseTimer() -> Bool {
    if state.pauseTimer.number >= 0 { return true }
    let number = treadle_system_socket_note(treadle_system_timerfd())
    if number < 0 { return false }
    let timer = MessageSocket(number: number)
    // For edges, so that the timer is not read.
    if watch(timer, MessagePort.wantsMessages | MessagePort.edges, MessagePort.pauseMark) < 0 {
      timer.close()
      return false
    }
    state.pauseTimer = timer
    return true
  }

  /// The timer has gone off. A connection that the kernel refuses again begins the next pause, and the others join it.
  func endPause() {
    state.isPausing = false
    var isWanting = state.isResting
    if state.isResting {
      state.isResting = false
      rewatch(main, MessagePort.wantsMessages, 0)
      state.ring?.pointee.ringOwnBell()
      if state.reserve.number < 0 && !isRemote { makeReserve() }
    }
    for place in 0..<state.connections.count {
      guard let connection = state.connections[place], connection.isPaused || connection.isStarved else { continue }
      if connection.isStarved { isWanting = true }
      change(place) {
        $0.isPaused = false
        $0.isStarved = false
      }
      if connection.isPaused { sendReplies(place) }
      if let now = state.connections[place], now.socket.number >= 0 { rewatch(place) }
    }
    // Whether there is memory is seen later (`endWant`).
    if !state.isPausing && !isWanting { state.pauseLength = 0 }
  }

  func closePauseTimer() {
    if state.pauseTimer.number < 0 { return }
    unwatch(state.pauseTimer)
    state.pauseTimer.close()
    state.pauseTimer = .none
  }
}
