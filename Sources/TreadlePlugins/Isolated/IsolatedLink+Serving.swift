// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import TreadleBase
import TreadleCalls

/// Serving calls of functions of this side's: what has come is anybody's, and is checked.
extension IsolatedLink {
  /// The same struct is one export. The type is this function's.
  func export(_ start: UnsafeRawPointer, _ type: ExtensionType.Pointer) throws(Failure) -> UInt32 {
    var isTaken = false
    defer { if !isTaken { ExtensionType.free(type) } }
    return try locked { () throws(Failure) in
      for (index, known) in state.pointee.exports.elements.enumerated() where known.start == start {
        return UInt32(truncatingIfNeeded: index)
      }
      if !state.pointee.exports.append(LinkExport(start: start, type: type)) { throw Failure.noMemory("extension") }
      isTaken = true
      return UInt32(truncatingIfNeeded: state.pointee.exports.count &- 1)
    }
  }

  /// Exports an extension of this side's by a descriptor, and tells the other side of it.
  func write(
    _ start: UnsafeRawPointer, _ descriptor: ExtensionSource, to answer: inout FrameWriter
  ) throws(Failure) {
    var bytes = FrameWriter()
    defer { bytes.free() }
    try descriptor.write(to: &bytes)
    try bytes.demandMemory()
    let type = try ExtensionType.make(UnsafeRawBufferPointer(bytes.bytes.elements))
    let number = try export(start, type)
    answer.number(UInt64(1))
    answer.number(UInt64(number))
    answer.bytes(bytes.bytes.elements.baseAddress, bytes.bytes.count)
  }

  /// Reads what the other side has told, which must be as it is expected; nil if it has no such extension.
  func read(
    _ peer: LinkPeer, _ name: UnsafePointer<CChar>, _ expected: ExtensionSource?, _ frame: inout FrameReader
  ) throws(Failure) -> UnsafeRawPointer? {
    if frame.number() == 0 { return nil }
    let number = frame.number()
    let bytes = frame.bytes()
    if frame.isBroken { throw IsolatedPlugin.brokenFailure }
    if let expected { try expected.demandSame(bytes, name) }
    return try makeProxy(peer, name, number, bytes)
  }

  /// What can be called here of the other side's under a name; nil for none.
  func proxy(_ name: UnsafePointer<CChar>) -> UnsafeRawPointer? {
    locking {
      for proxy in state.pointee.proxies.elements {
        if let known = proxy.pointee.type.pointee.name, strcmp(known, name) == 0 {
          return proxy.pointee.start
        }
      }
      return nil
    }
  }

  /// One that the other side has described. Two threads may make it: the first one's is kept.
  func makeProxy(
    _ peer: LinkPeer, _ name: UnsafePointer<CChar>, _ export: UInt64, _ bytes: UnsafeRawBufferPointer
  ) throws(Failure) -> UnsafeRawPointer {
    let type = try ExtensionType.make(bytes)
    guard let given = type.pointee.name, strcmp(given, name) == 0, export <= UInt64(UInt32.max) else {
      ExtensionType.free(type)
      throw IsolatedPlugin.brokenFailure
    }
    let proxy = try ExtensionProxy.make(self, type, UInt32(export), peer.serial)
    if let known = self.proxy(name) {
      ExtensionProxy.end(proxy)
      _ = locking { state.pointee.proxies.append(proxy) }
      return known
    }
    var isLate = false
    let isKept = locking {
      // A process that has come meanwhile does not know its number.
      isLate = state.pointee.isOver || state.pointee.peer.serial != peer.serial
      return !isLate && state.pointee.proxies.append(proxy)
    }
    if isKept { return proxy.pointee.start }
    ExtensionProxy.end(proxy)
    ExtensionProxy.free(proxy)
    throw isLate ? LinkPeer.lostFailure : Failure.noMemory("extension")
  }

  /// The number that an extension has in a process, which is asked if another one has ended since.
  func number(of proxy: ExtensionProxy.Pointer, _ peer: LinkPeer) throws(Failure) -> UInt64 {
    let known: UInt32? = locking { proxy.pointee.serial == peer.serial ? proxy.pointee.export : nil }
    if let known { return UInt64(known) }
    guard let name = proxy.pointee.type.pointee.name else { throw IsolatedPlugin.brokenFailure }
    var number: UInt64 = 0
    var frame = FrameWriter()
    defer { frame.free() }
    frame.header()
    frame.text(name)
    try ask(peer, IsolatedFrame.find, &frame, name) { reader, _ throws(Failure) in
      let isThere = reader.number() != 0
      number = reader.number()
      let bytes = reader.bytes()
      if reader.isBroken || !isThere || number > UInt64(UInt32.max) { throw IsolatedPlugin.brokenFailure }
      try ExtensionSource.bytes(proxy.pointee.type.pointee.given).demandSame(bytes, name)
    }
    locking {
      proxy.pointee.export = UInt32(truncatingIfNeeded: number)
      proxy.pointee.serial = peer.serial
    }
    return number
  }

  private struct Callee {
    let code: UInt
    var info: UInt = 0
    var instance: UInt = 0
    let function: ExtensionFunction.Pointer
  }

  private func find(_ id: Int32, _ target: UInt64) throws(Failure) -> Callee {
    if id == IsolatedFrame.callback {
      let found = try callback(target)
      return Callee(code: found.code, info: found.info, function: found.function)
    }
    let exported = locking { state.pointee.exports[Int(target >> 32)] }
    let index = Int(UInt32(truncatingIfNeeded: target))
    guard let exported, let function = exported.type.pointee.functions[index] else {
      throw Failure(Status.notFound, "extension", "has no such function")
    }
    let head = exported.type.pointee.head, start = exported.start
    let isThere = index < head.count(of: start, most: exported.type.pointee.functions.count)
    let code = isThere ? start.load(fromByteOffset: head.offset(of: index), as: UInt.self) : 0
    if code == 0 {
      LastError.detail(function.pointee.name)
      throw Failure(Status.notSupported, "extension", "has no function there")
    }
    return Callee(code: code, instance: head.instance(of: start), function: function)
  }

  private struct Job {
    let call: PortableCall
    let bytes: UnsafeRawBufferPointer
  }

  /// Calls a function, and writes its answer.
  func serveCall(
    _ id: Int32, _ frame: inout FrameReader, _ answer: inout FrameWriter, _ served: UnsafeMutablePointer<LinkServed>
  ) throws(Failure) {
    let target = frame.number()
    if frame.isBroken { throw IsolatedPlugin.brokenFailure }
    let callee = try find(id, target)
    let function = callee.function.pointee
    let bytes = try check(frame.rest(), callee, served)
    let serial = served.pointee.caller.peer.serial
    guard let code = UnsafeRawPointer(bitPattern: callee.code) else { throw IsolatedPlugin.brokenFailure }
    switch PortableCall.receive(function.portable, unsafeBitCast(code, to: PortableCall.Code.self), bytes, head: 0) {
    case .malformed: throw IsolatedPlugin.brokenFailure
    case .refused(let status):
      throw Failure(status, "extension", "is called with a value outside of its type, or with too many bytes")
    case .call(let call):
      served.pointee.prepared = call.memory
      var job = Job(call: call, bytes: bytes)
      guard let scope = state.pointee.scope else { throw Failure(Status.state, "plugin", "has not started") }
      try scope.calling(isWatched: true, evenClosing: true) { () throws(Failure) in
        ClientCall.guarded(&job) { memory in
          guard let job = memory?.assumingMemoryBound(to: Job.self) else { return }
          job.pointee.call.perform(job.pointee.bytes)
        }
        try write(call.answer, bytes, function, serial, to: &answer)
      }
    }
  }

  private func write(
    _ back: UnsafeMutableRawBufferPointer, _ bytes: UnsafeRawBufferPointer, _ function: ExtensionFunction,
    _ serial: UInt32, to answer: inout FrameWriter
  ) throws(Failure) {
    var text: UnsafePointer<CChar>?
    if let result = back.baseAddress, function.returnsText || function.returnsToken {
      let pointer = result.loadUnaligned(as: UInt.self)
      if function.returnsText {
        text = UnsafePointer(bitPattern: pointer)
        result.storeBytes(of: 0, as: UInt64.self)
      } else {
        result.storeBytes(of: try word(forToken: pointer, serial), as: UInt64.self)
      }
    }
    var failure: Failure?
    function.portable.forEachBack(bytes) { index, at, _ in
      guard function.arguments[index]?.isOutToken == true, let place = back.baseAddress else { return }
      do throws(Failure) {
        (place + at).storeBytes(
          of: try word(forToken: (place + at).loadUnaligned(as: UInt.self), serial), as: UInt64.self)
      } catch { failure = error }
    }
    if let failure { throw failure }
    answer.bytes(back.baseAddress, back.count)
    if function.returnsText { answer.text(text) }
  }

  /// The bytes of a call, once they fit together: of buffers the sizes that the callee is told. If numbers have come in
  /// the place of pointers, a copy that has the pointers.
  private func check(
    _ bytes: UnsafeRawBufferPointer, _ callee: Callee, _ served: UnsafeMutablePointer<LinkServed>
  ) throws(Failure) -> UnsafeRawBufferPointer {
    let function = callee.function.pointee, count = function.arguments.count
    var bytes = bytes
    if function.hasWords, let start = bytes.baseAddress {
      guard let copy = treadle_system_allocate(bytes.count) else { throw Failure.noMemory("extension") }
      memcpy(copy, start, bytes.count)
      served.pointee.copy = copy
      bytes = UnsafeRawBufferPointer(start: copy, count: bytes.count)
    }
    var places: [32 of (start: UnsafeRawPointer?, size: Int)] = .init(repeating: (nil, 0))
    let isWhole = function.portable.forEach(bytes) { index, start, size in
      if index < 32 { places[index] = (start, size) }
      return true
    }
    if !isWhole || count > 32 { throw IsolatedPlugin.brokenFailure }
    for index in 0..<count {
      guard let argument = function.arguments[index], let start = places[index].start else { continue }
      if argument.isOutToken && places[index].size != MemoryLayout<UInt>.size { throw IsolatedPlugin.brokenFailure }
      if argument.hasElements && places[index].size != size(argument, function, places) {
        throw IsolatedPlugin.brokenFailure
      }
      guard argument.isWord, let copy = served.pointee.copy, let base = bytes.baseAddress else { continue }
      let word = start.loadUnaligned(as: UInt64.self)
      let place = copy + (start - base)
      if argument.isToken {
        place.storeBytes(of: try token(word, served.pointee.caller.peer.serial), as: UInt.self)
      } else if argument.isCallback {
        guard let callback = argument.callback else { continue }
        place.storeBytes(of: word == 0 ? 0 : try code(ofCallback: word, callback, served), as: UInt.self)
        // Its info, which is not to be read, is what it is called by.
        if let other = argument.other, let info = places[other].start {
          (copy + (info - base)).storeBytes(of: word, as: UInt64.self)
        }
      } else if argument.isInstance {
        place.storeBytes(of: callee.instance, as: UInt.self)
      } else if argument.isOwnInfo {
        place.storeBytes(of: callee.info, as: UInt.self)
      }
    }
    return bytes
  }

  /// Of elements, by the argument that counts them.
  private func size(
    _ argument: ExtensionArgument, _ function: ExtensionFunction,
    _ places: [32 of (start: UnsafeRawPointer?, size: Int)]
  ) -> Int? {
    guard let other = argument.other else { return argument.size }
    guard let place = places[other].start, let count = function.portable.number(place, of: other) else { return nil }
    let (size, isTooLarge) = count.multipliedReportingOverflow(by: argument.size)
    return isTooLarge ? nil : size
  }
}
