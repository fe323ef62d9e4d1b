// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
package import TreadleBase

/// Threads and requests whose functions are events of a host.
extension Host {
  private static let runThread: ThreadEntry.RunForHost = { memory, token, thread in
    guard let memory else { return }
    var event = Event(Event.Kind.thread, token: token, loop: nil, subject: thread, mode: nil)
    Host(memory).runEntry(&event)
  }

  package func makeThread(_ token: UInt64, isDetached: Bool) throws(Failure) -> Thread {
    try demandDispatch()
    let entry = ThreadEntry(host: pointer, token: token, run: Host.runThread, retire: Host.retireToken)
    return try registering { () throws(Failure) in try Thread.create(entry, isDetached: isDetached) }
  }

  /// Has `body` take a request over, unless it throws, whose performing is an event. That uses the token up, and so
  /// does the end of a wait; of a request that is dropped, or that the host does not complete, the token is retired.
  package func registering(
    _ token: UInt64, as request: WorkItem, isAwaited: Bool, _ body: (WorkItem) throws(Failure) -> Int32
  ) throws(Failure) -> Int32 {
    try registering { () throws(Failure) in
      let request = own(request, token, retire: isAwaited ? Host.useToken : Host.retireToken)
      do throws(Failure) {
        return try body(request)
      } catch {
        // It came too late: that is a request which is dropped.
        if error.status != Status.closed { throw error }
        request.dispose()
        return Status.closed
      }
    }
  }
}

/// Threads that know a host: it is told when they call it first, and when they end.
extension Host {
  /// Tells the host of this thread, once.
  func enterThread() {
    if fetchesEvents { return }
    let thread = treadle_system_thread()
    if thread.pointee.hosts_era != treadle_system_host_era() { Host.forgetFormer() }
    let bit: UInt64 = 1 << UInt64(state.slot)
    if thread.pointee.hosts & bit != 0 { return }
    thread.pointee.hosts |= bit
    thread.pointee.leave_hosts = { Host.leaveThread() }
    if thread.pointee.loop == nil { _ = treadle_system_watch_thread() }
    if let enter = state.enter { _ = ClientCall.guarded(enter, state.user) }
  }

  /// The bits of the calling thread are those of the hosts of now: that of a slot which has got another host since is
  /// none of it.
  @inline(never)
  private static func forgetFormer() {
    let thread = treadle_system_thread()
    let era = treadle_system_host_era()
    var slot: UInt32 = 1
    while slot <= maximum {
      if let memory = Slab(.host).memory(slot), Host(memory).isNewer(than: thread.pointee.hosts_era) {
        thread.pointee.hosts &= ~(1 << UInt64(slot))
      }
      slot &+= 1
    }
    thread.pointee.hosts_era = era
  }

  private func isNewer(than era: UInt32) -> Bool { Int32(bitPattern: state.era.load(ordering: .relaxed) &- era) > 0 }

  /// The thread ends: its hosts are told, but for those that are quiet.
  static func leaveThread() {
    let thread = treadle_system_thread()
    if thread.pointee.hosts == 0 { return }
    forgetFormer()
    let hosts = thread.pointee.hosts
    thread.pointee.hosts = 0
    var slot: UInt32 = 1
    while slot <= maximum {
      if hosts & (1 << UInt64(slot)) != 0, let memory = Slab(.host).memory(slot) {
        let host = Host(memory)
        _ = host.whileOpen(true) {
          // The one that the thread knew may have ended just now: while a call is in flight the slot does not change
          // hands.
          if host.isNewer(than: thread.pointee.hosts_era) { return true }
          if let exit = host.state.exit { _ = ClientCall.guarded(exit, host.state.user) }
          return true
        }
      }
      slot &+= 1
    }
  }
}
