// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// Signals that come faster than the loop performs their source: a *flood*. One signal more of a flooded source changes
/// nothing: not the flags, and nothing that has to be looked up through the source's mode and its loop.
///
/// It is a fence, and behind it a look at the flags. What the caller wrote before must be seen by the callback that
/// stands for this signal. Whoever uses the signal up exchanges the flags, and behind that is a fence too, or an exchange
/// that is one (`fence_after_exchange`). Each of the two does something, then looks at what the other did: if the look
/// finds the source signalled, it came before the exchange, and what the caller wrote is seen behind that; if it comes
/// after the exchange, it finds the source not signalled, or signalled anew by somebody whose signal then stands for this
/// one. A look without the fence would lose signals: what the caller wrote might still be on its way.
///
/// A signal of a flood wakes no loop, though it asks for that. So a source is flooded only while its loop is certain to
/// make another pass before it sleeps. A flood begins with a wake-up, in a mode that the innermost run is in, which will
/// perform the source in its next pass; that uses the signal up, and ends the flood. Where it may be otherwise the flood
/// ends before, and counts as a wake-up: when the loop is about to sleep all the same; when another run begins inside of
/// the run, or it ends itself; when the source leaves the mode, or gets another one. All but the last two are the owner's,
/// under the gate, under which floods begin.
///
/// To begin a flood takes the gate: a thread has to find the source signalled a few times in a row. By that it earns some
/// floods more, which begin with their first signal; and it knows where the source is, which spares it most of what a
/// handle takes.
extension Item {
  /// So many times.
  private static let proof: UInt16 = 16
  private static let credit: UInt16 = 64

  /// What the exported function looks for, behind its fence (`CTreadleSignal`).
  static let floodMask = isFlooded | Flag.scattered | Flag.alias
  static let isFlooded = Flag.valid | Flag.signalled | Flag.flooded

  /// The calling thread has signalled a source that was signalled already, and asked for a wake-up.
  @inline(__always)
  func countRepeat() {
    let thread = treadle_system_thread()
    thread.pointee.repeats = thread.pointee.repeats &+ 1
    if thread.pointee.repeats >= Item.proof { beginFlood() }
  }

  /// The calling thread has signalled the source, which was not signalled: whether it may flood it from now on.
  @inline(__always)
  func mayResumeFlood() -> Bool {
    let thread = treadle_system_thread()
    thread.pointee.repeats = 0
    if thread.pointee.flood == 0 { return false }
    thread.pointee.flood_credit = thread.pointee.flood_credit &- 1
    if thread.pointee.flood == UInt64(handle.bits) && thread.pointee.flood_credit != 0 { return true }
    thread.pointee.flood = 0
    return false
  }

  @inline(never)
  private func beginFlood() {
    let thread = treadle_system_thread()
    thread.pointee.repeats = 0
    thread.pointee.flood = 0
    guard let mode, let loop = mode.loop, !loop.isCurrent else { return }
    var sleep = Sleep.awake
    loop.state.pointee.gate.lock()
    let isFlooded = isIn(mode) && mode.startFlood(of: self)
    if isFlooded { sleep = loop.markWoken() }
    loop.state.pointee.gate.unlock()
    if sleep != Sleep.awake { loop.endSleep(sleep) }
    if !isFlooded { return }
    thread.pointee.flood_credit = Item.credit
    thread.pointee.flood_generation = generation
    thread.pointee.flooded_cell = UnsafeMutableRawPointer(cell)
    thread.pointee.flood = UInt64(handle.bits)
  }

  /// The source has just left its mode, or gets another one: what its loop was certain to do it may not do any more.
  @inline(__always)
  func endFlood(on loop: Loop) {
    if hasFlag(Flag.flooded) && stopFlood() { loop.wake() }
  }

  /// False if there is none.
  @_optimize(size)
  fileprivate func stopFlood() -> Bool {
    if clearFlag(Flag.flooded) & Flag.flooded == 0 { return false }
    treadle_system_fence_after_exchange()
    return true
  }
}

/// With the gate held.
extension Mode {
  /// Floods a source that is signalled, if it can be. The caller notes the wake-up.
  @inline(never)
  @_optimize(size)
  func startFlood(of item: Item) -> Bool {
    guard let loop, loop.state.pointee.currentMode.load(ordering: .relaxed) == slot else { return false }
    var old = item.flags
    // By another thread.
    if old & Item.floodMask == Item.isFlooded { return true }
    if floodedSource?.hasFlag(Item.Flag.flooded) == true { return false }
    while old & Item.floodMask == Item.isFlooded & ~Item.Flag.flooded {
      let (isExchanged, original) = item.cell.pointee.flags.weakCompareExchange(
        expected: old, desired: old | Item.Flag.flooded | Item.Flag.repeated, ordering: .sequentiallyConsistent)
      if isExchanged {
        state.pointee.flood = Mention(item).bits
        return true
      }
      old = original
    }
    return false
  }

  /// The one that was the last to be flooded here, if it is in the mode still.
  private var floodedSource: Item? {
    state.pointee.flood == 0 ? nil : Mention(bits: state.pointee.flood).cell(.source, in: self)
  }

  /// Ends the mode's flood: true if there was one, which makes another pass necessary.
  @inline(__always)
  func stopFlood() -> Bool { state.pointee.flood != 0 && stopLastFlood() }

  @inline(never)
  @_optimize(size)
  private func stopLastFlood() -> Bool {
    let source = floodedSource
    state.pointee.flood = 0
    return source?.stopFlood() == true
  }
}

extension Loop {
  /// A run of the mode is not the innermost any more. True if its next pass is to be as after a wake-up. Owner.
  func endFlood(of mode: Mode) -> Bool {
    // Taken also without a flood: whoever begins one looks for the innermost run under the gate.
    state.pointee.gate.lock()
    let isFlooded = mode.stopFlood()
    state.pointee.gate.unlock()
    return isFlooded
  }
}
