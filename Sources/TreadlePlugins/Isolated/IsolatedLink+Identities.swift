// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import TreadleBase
import TreadleCalls

/// A callback that the other side may call during one call.
struct PassingCallback: BitwiseCopyable {
  var code: UInt = 0
  var info: UInt = 0
  var function: ExtensionFunction.Pointer?
  /// Tells this use of the place from its others.
  var generation: UInt32 = 0
}

struct HeardCallback: BitwiseCopyable {
  let word: UInt64
  let serial: UInt32
  let closure: UInt
  let code: UInt
}

struct KeptText: BitwiseCopyable {
  let bytes: UnsafeMutablePointer<CChar>
  let length: Int
}

/// What travels in the place of pointers: a number that this side has given out, with the highest bit if it is the
/// other side's own.
extension IsolatedLink {
  private static let returned: UInt64 = 1 << 63

  // MARK: Tokens

  /// A pointer that this side has made of a number of the other side's: no address of a process has the highest bit.
  private static let isMade: UInt64 = 1 << 63
  private func mark(_ serial: UInt32) -> UInt64 { IsolatedLink.isMade | UInt64(serial) << 32 }

  /// What a pointer is to the process of a serial. One that was made of a number of a process that has ended is
  /// refused.
  func word(forToken pointer: UInt, _ serial: UInt32) throws(Failure) -> UInt64 {
    let bits = UInt64(pointer)
    if bits == 0 { return 0 }
    if bits & ~0xFFFF_FFFF == mark(serial) { return IsolatedLink.returned | (bits & 0xFFFF_FFFF) }
    if bits & IsolatedLink.isMade != 0 && !IsolatedPlugin.isLive(UInt32(bits >> 32 & 0x7FFF_FFFF)) {
      throw IsolatedLink.unknownToken
    }
    return UInt64(try locked { () throws(Failure) in try state.pointee.tokens.number(pointer) })
  }

  func token(_ word: UInt64, _ serial: UInt32) throws(Failure) -> UInt {
    if word == 0 { return 0 }
    let number = UInt32(truncatingIfNeeded: word)
    if word & ~IsolatedLink.returned != UInt64(number) || number == 0 { throw IsolatedLink.unknownToken }
    if word & IsolatedLink.returned == 0 { return UInt(mark(serial) | UInt64(number)) }
    guard let known = locking({ state.pointee.tokens[number] }) else { throw IsolatedLink.unknownToken }
    return known.first
  }

  private static let unknownToken = Failure(
    Status.argument, "extension", "is called with a token that was not given out")

  // MARK: Callbacks

  private static let passes: UInt64 = 1 << 62

  func keep(_ code: UInt, _ info: UInt, _ function: ExtensionFunction.Pointer) throws(Failure) -> UInt64 {
    try locked { () throws(Failure) in
      let number = try state.pointee.kept.number(code, info)
      if Int(number) > state.pointee.keptTypes.count && !state.pointee.keptTypes.append(function) {
        throw Failure.noMemory("extension")
      }
      return UInt64(number)
    }
  }

  func beginPassing(_ code: UInt, _ info: UInt, _ function: ExtensionFunction.Pointer) throws(Failure) -> (
    UInt32, UInt64
  ) {
    try locked { () throws(Failure) in
      var index = 0
      while let place = state.pointee.passing[index], place.code != 0 { index &+= 1 }
      var callback = state.pointee.passing[index] ?? PassingCallback()
      callback.code = code
      callback.info = info
      callback.function = function
      callback.generation = (callback.generation &+ 1) & 0x3FFF_FFFF
      if index < state.pointee.passing.count {
        state.pointee.passing.set(index, callback)
      } else if index >= 1 << 16 || !state.pointee.passing.append(callback) {
        throw Failure.noMemory("extension")
      }
      return (
        UInt32(truncatingIfNeeded: index), IsolatedLink.passes | UInt64(callback.generation) << 32 | UInt64(index)
      )
    }
  }

  func endPassing(_ index: UInt32) {
    locking {
      guard var callback = state.pointee.passing[Int(index)] else { return }
      callback.code = 0
      callback.function = nil
      state.pointee.passing.set(Int(index), callback)
    }
  }

  /// The callback of this side's that a number of the other side's means.
  func callback(_ word: UInt64) throws(Failure) -> (code: UInt, info: UInt, function: ExtensionFunction.Pointer) {
    let number = UInt32(truncatingIfNeeded: word)
    let found: (code: UInt, info: UInt, function: ExtensionFunction.Pointer)? = locking {
      if word & IsolatedLink.passes != 0 {
        guard let passing = state.pointee.passing[Int(number)], passing.code != 0, let function = passing.function,
          word == IsolatedLink.passes | UInt64(passing.generation) << 32 | UInt64(number)
        else { return nil }
        return (passing.code, passing.info, function)
      }
      guard word == UInt64(number), let known = state.pointee.kept[number],
        let function = state.pointee.keptTypes[Int(number) &- 1]
      else { return nil }
      return (known.first, known.second, function)
    }
    guard let found else { throw Failure(Status.argument, "callback", "was not given out, or is over") }
    return found
  }

  /// The function pointer of a callback of the other side's: a closure, which ends with the call or with the link.
  func code(ofCallback word: UInt64, _ function: ExtensionFunction.Pointer, _ served: UnsafeMutablePointer<LinkServed>)
    throws(Failure) -> UInt
  {
    let peer = served.pointee.caller.peer
    if word & IsolatedLink.passes != 0 {
      if !served.pointee.callbacks.reserve(served.pointee.callbacks.count &+ 1) { throw Failure.noMemory("extension") }
      let made = try RemoteFunction.make(self, function, IsolatedFrame.callback, word, of: peer)
      _ = served.pointee.callbacks.appendInRoom(made.closure)
      return UInt(bitPattern: made.code)
    }
    func find() -> UInt? {
      for heard in state.pointee.heard.elements where heard.word == word && heard.serial == peer.serial {
        return heard.code
      }
      return nil
    }
    if let known = locking({ find() }) { return known }
    let made = try RemoteFunction.make(self, function, IsolatedFrame.callback, word, of: peer)
    let kept: UInt? = locking {
      if let known = find() { return known }
      let heard = HeardCallback(
        word: word, serial: peer.serial, closure: made.closure, code: UInt(bitPattern: made.code))
      return !state.pointee.isOver && state.pointee.heard.append(heard) ? heard.code : nil
    }
    if kept != UInt(bitPattern: made.code) { RemoteFunction.retire(made.closure) }
    guard let kept else { throw Failure.noMemory("extension") }
    return kept
  }

  // MARK: Texts

  private static let mostTexts = 1 << 20

  /// A copy of a text, which lives as long as the link; each is kept once.
  func keepText(_ text: UnsafePointer<CChar>?) throws(Failure) -> UnsafePointer<CChar>? {
    guard let text else { return nil }
    let length = strlen(text)
    return try locked { () throws(Failure) in
      for known in state.pointee.texts.elements where known.length == length && memcmp(known.bytes, text, length) == 0 {
        return UnsafePointer(known.bytes)
      }
      if state.pointee.textSize &+ length >= IsolatedLink.mostTexts {
        throw Failure(Status.range, "extension", "has returned more than 1 MiB of texts")
      }
      guard state.pointee.texts.reserve(state.pointee.texts.count &+ 1),
        let memory = treadle_system_allocate(length &+ 1)
      else {
        throw Failure.noMemory("extension")
      }
      memcpy(memory, text, length &+ 1)
      let kept = KeptText(bytes: memory.assumingMemoryBound(to: CChar.self), length: length)
      _ = state.pointee.texts.appendInRoom(kept)
      state.pointee.textSize &+= length &+ 1
      return UnsafePointer(kept.bytes)
    }
  }

  // MARK: The end

  /// Callbacks of a process that has ended are over.
  func forgetHeard(_ serial: UInt32) {
    while true {
      let found: UInt? = locking {
        for (index, heard) in state.pointee.heard.elements.enumerated() where heard.serial == serial {
          state.pointee.heard.remove(index)
          return heard.closure
        }
        return nil
      }
      guard let found else { return }
      RemoteFunction.retire(found)
    }
  }

  /// Nothing is called by way of it any more.
  func end() {
    var heard = Buffer<HeardCallback>()
    let count: Int = locking {
      state.pointee.isOver = true
      heard = state.pointee.heard
      state.pointee.heard = Buffer()
      return state.pointee.proxies.count
    }
    for index in 0..<count { if let proxy = state.pointee.proxies[index] { ExtensionProxy.end(proxy) } }
    for callback in heard.elements { RemoteFunction.retire(callback.closure) }
    heard.free()
  }
}
