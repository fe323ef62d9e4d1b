// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Replies that are files, while as many files of the user's are on their way as a process may have open: that is want of room as well,
/// but the kernel does not tell when one has arrived. So their connections pause, and all are tried again when the port's timer has gone
/// off, after 100 microseconds at first and 10 milliseconds at last. The lock is held.
extension MessagePort {
  /// What the kernel says of the timer: the mark of no connection.
  static let pauseMark = UInt64.max
  private static let shortest: Int64 = 100_000
  private static let longest: Int64 = 10_000_000
  /// Edge-triggered, so that the timer is not read.
  private static let whenItGoesOff: UInt32 = 0x8000_0001

  /// A connection's replies wait for the end of a pause. False if there is no timer.
  func pause(_ place: Int) -> Bool {
    if !needPauseTimer() { return false }
    if !state.pointee.isPausing {
      let length = min(max(2 &* state.pointee.pauseLength, MessagePort.shortest), MessagePort.longest)
      if treadle_system_timerfd_set(state.pointee.pauseTimer.number, Clock.now() &+ length) < 0 { return false }
      state.pointee.pauseLength = length
      state.pointee.isPausing = true
    }
    change(place) { $0.isPaused = true }
    return true
  }

  private func needPauseTimer() -> Bool {
    if state.pointee.pauseTimer.number >= 0 { return true }
    let number = treadle_system_socket_note(treadle_system_timerfd())
    if number < 0 { return false }
    let timer = MessageSocket(number: number)
    if watch(timer, MessagePort.whenItGoesOff, MessagePort.pauseMark) < 0 {
      timer.close()
      return false
    }
    state.pointee.pauseTimer = timer
    return true
  }

  /// The timer has gone off. A connection that the kernel refuses again begins the next pause, and the others join it.
  func endPause() {
    state.pointee.isPausing = false
    for place in 0..<state.pointee.connections.count where state.pointee.connections[place]?.isPaused == true {
      change(place) { $0.isPaused = false }
      sendReplies(place)
      if let now = state.pointee.connections[place], now.socket.number >= 0 { rewatch(place, now) }
    }
    if !state.pointee.isPausing { state.pointee.pauseLength = 0 }
  }

  func closePauseTimer() {
    if state.pointee.pauseTimer.number < 0 { return }
    unwatch(state.pointee.pauseTimer)
    state.pointee.pauseTimer.close()
    state.pointee.pauseTimer = .none
  }
}
