// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import TreadleBase
import TreadleCalls
import TreadlePorts

/// A function of the other side's as a closure here: a call of the closure travels there. Lives until the closure has
/// ended.
struct RemoteFunction: BitwiseCopyable {
  let link: IsolatedLink
  let function: ExtensionFunction.Pointer
  /// Whether it is of an extension, or a callback; and which: of an extension, the index of the function.
  let frame: Int32
  let target: UInt64
  /// Of an extension; lives as long as the link.
  let proxy: ExtensionProxy.Pointer?
  /// Of a callback, whose process is held; nil: the other side as it is at each call.
  let peer: LinkPeer?

  /// A closure for one, which `retire` ends, and its function pointer. It holds the link's owner.
  static func make(
    _ link: IsolatedLink, _ function: ExtensionFunction.Pointer, _ frame: Int32, _ target: UInt64, of peer: LinkPeer?,
    proxy: ExtensionProxy.Pointer? = nil
  ) throws(Failure) -> (closure: UInt, code: UnsafeMutableRawPointer?) {
    guard let memory = treadle_system_allocate(MemoryLayout<RemoteFunction>.size) else {
      throw Failure.noMemory("extension")
    }
    link.hold()
    peer?.process?.hold()
    memory.bindMemory(to: RemoteFunction.self, capacity: 1)
      .initialize(
        to: RemoteFunction(link: link, function: function, frame: frame, target: target, proxy: proxy, peer: peer))
    do throws(Failure) {
      let handler = ClosureHandler(handle, info: memory, destroy: destroy)
      var plan = ClosurePlan(function.pointee.portable.closureType, handler)
      plan.mayAllocate = true
      var closed = Status.closed
      let closure = try withUnsafePointer(to: &closed) { closed throws(Failure) in
        if function.pointee.returnsStatus { plan.defaultResult = UnsafeRawPointer(closed) }
        return try Scope.outside { () throws(Failure) in try Closure.create(plan) }
      }
      return (closure.handle.bits, closure.code)
    } catch {
      destroy(memory)
      throw error
    }
  }

  static func retire(_ closure: UInt) { try? Closure.releaseForClient(closure) }

  private static let destroy: ClosureHandler.Destroy = { memory in
    guard let remote = memory?.assumingMemoryBound(to: RemoteFunction.self) else { return }
    let (link, process) = (remote.pointee.link, remote.pointee.peer?.process)
    treadle_system_free(remote)
    process?.letGo()
    link.letGo()
  }

  private static let handle: ClosureHandler.Function = { record, info in
    guard let record = record?.assumingMemoryBound(to: CallRecord.self),
      let remote = info?.assumingMemoryBound(to: RemoteFunction.self)
    else { return Status.argument }
    do throws(Failure) {
      let remote = remote.pointee, arguments = record.pointee.arguments, result = record.pointee.result
      if let peer = remote.peer {
        try remote.call(peer, arguments, result)
      } else {
        try remote.link.withPeer { peer throws(Failure) in try remote.call(peer, arguments, result) }
      }
      return Status.ok
    } catch {
      LastError.record(error, in: "treadle_plugin_get_extension")
      if !remote.pointee.function.pointee.returnsStatus { return error.status }
      record.pointee.result?.storeBytes(of: error.status, as: Int32.self)
      return Status.ok
    }
  }

  // MARK: A call

  private struct Values {
    let memory: UnsafeMutableRawPointer
    let values: UnsafeMutablePointer<PortableValue>
    /// What travels in the place of pointers; 0 for NULL, and for an info without its callback.
    let words: UnsafeMutablePointer<UInt64>
    /// Of callbacks that live as long as the call.
    var passing = Buffer<UInt32>()

    init(_ count: Int) throws(Failure) {
      let room = max(count, 1)
      guard let memory = treadle_system_allocate(room &* (MemoryLayout<PortableValue>.stride &+ 8)) else {
        throw Failure.noMemory("extension")
      }
      self.memory = memory
      values = memory.bindMemory(to: PortableValue.self, capacity: room)
      words = (memory + room &* MemoryLayout<PortableValue>.stride).bindMemory(to: UInt64.self, capacity: room)
      words.initialize(repeating: 0, count: room)
    }
  }

  private func call(
    _ peer: LinkPeer, _ arguments: UnsafePointer<UnsafeRawPointer?>?, _ result: UnsafeMutableRawPointer?
  ) throws(Failure) {
    let function = self.function.pointee, portable = function.portable, count = function.arguments.count
    var given = try Values(count)
    defer {
      for number in given.passing.elements { link.endPassing(number) }
      given.passing.free()
      treadle_system_free(given.memory)
    }
    for index in 0..<count { try take(index, arguments, &given, peer.serial) }
    let target =
      try proxy.map { proxy throws(Failure) in try link.number(of: proxy, peer) << 32 | self.target } ?? self.target
    let values = UnsafeBufferPointer(start: given.values, count: count)
    var at: Int?
    let size = try portable.measure(values, at: &at)
    var frame = FrameWriter()
    defer { frame.free() }
    frame.header()
    frame.number(target)
    frame.room(size) { portable.write(values, to: $0) }
    if function.isOneWay { return try send(peer, &frame) }
    try link.ask(peer, self.frame, &frame, function.name) { reader, _ throws(Failure) in
      let back = reader.bytes()
      var word: UInt64 = 0
      let isWord = function.returnsText || function.returnsToken
      let isRead = withUnsafeMutablePointer(to: &word) { word in
        portable.read(back, to: values, result: isWord ? UnsafeMutableRawPointer(word) : result)
      }
      if !isRead || reader.isBroken { throw IsolatedPlugin.brokenFailure }
      for (index, argument) in function.arguments.elements.enumerated() where argument.isOutToken {
        guard let place = values[index].bytes else { continue }
        place.storeBytes(of: try link.token(place.loadUnaligned(as: UInt64.self), peer.serial), as: UInt.self)
      }
      if function.returnsToken { result?.storeBytes(of: try link.token(word, peer.serial), as: UInt.self) }
      if function.returnsText {
        result?.storeBytes(of: try link.keepText(reader.text()), as: UnsafePointer<CChar>?.self)
      }
    }
  }

  private func send(_ peer: LinkPeer, _ frame: inout FrameWriter) throws(Failure) {
    do throws(Failure) {
      try link.demandThere(peer, function.pointee.name)
      try link.tell(peer, self.frame, &frame, timeout: Clock.forever)
    } catch { throw peer.process == nil ? error : peer.failure(error, during: function.pointee.name) }
  }

  /// One argument, as what travels.
  private func take(
    _ index: Int, _ arguments: UnsafePointer<UnsafeRawPointer?>?, _ given: inout Values, _ serial: UInt32
  ) throws(Failure) {
    guard let argument = function.pointee.arguments[index], let place = arguments?[index] else {
      throw Failure(Status.argument, "extension", "is called without an argument")
    }
    let value = given.values + index
    value.initialize(to: PortableValue(bytes: nil, size: 0))
    if argument.isWord {
      value.pointee = PortableValue(bytes: UnsafeMutableRawPointer(given.words + index), size: MemoryLayout<UInt>.size)
      let pointer = place.loadUnaligned(as: UInt.self)
      if argument.isToken { given.words[index] = try link.word(forToken: pointer, serial) }
      if argument.isInstance && pointer != proxy?.pointee.instance {
        throw Failure(Status.argument, "extension", "is called with an instance that is not its own")
      }
      guard argument.isCallback, pointer != 0, let other = argument.other, let callback = argument.callback else {
        return
      }
      guard let info = arguments?[other]?.loadUnaligned(as: UInt.self) else { return }
      if argument.pass == UInt32(TREADLE_PASS_KEPT_CALLBACK) {
        given.words[index] = try link.keep(pointer, info, callback)
      } else {
        guard given.passing.reserve(given.passing.count &+ 1) else { throw Failure.noMemory("extension") }
        let (number, word) = try link.beginPassing(pointer, info, callback)
        _ = given.passing.appendInRoom(number)
        given.words[index] = word
      }
      given.words[other] = given.words[index]
      return
    }
    if argument.pass == UInt32(TREADLE_PASS_VALUE) {
      value.pointee = PortableValue(
        bytes: UnsafeMutableRawPointer(mutating: place), size: function.pointee.portable.size(of: index))
      return
    }
    guard let pointer = UnsafeMutableRawPointer(bitPattern: place.loadUnaligned(as: UInt.self)) else { return }
    value.pointee = PortableValue(bytes: pointer, size: try size(argument, pointer, arguments))
  }

  private func size(
    _ argument: ExtensionArgument, _ pointer: UnsafeMutableRawPointer, _ arguments: UnsafePointer<UnsafeRawPointer?>?
  ) throws(Failure) -> Int {
    if argument.isText { return strlen(pointer.assumingMemoryBound(to: CChar.self)) &+ 1 }
    if argument.isOutToken { return MemoryLayout<UInt>.size }
    guard let other = argument.other else { return argument.size }
    guard let place = arguments?[other], let count = function.pointee.portable.number(place, of: other) else {
      throw Failure(Status.range, "extension", "is called with a negative number of elements")
    }
    let (size, isTooLarge) = count.multipliedReportingOverflow(by: argument.size)
    if isTooLarge || size > IsolatedFrame.mostBytes {
      throw Failure(Status.range, "extension", "is called with more bytes than a call can have")
    }
    return size
  }
}

/// An extension of the other side's: a struct of function pointers. The link owns it.
struct ExtensionProxy {
  typealias Pointer = UnsafeMutablePointer<ExtensionProxy>

  let type: ExtensionType.Pointer
  /// What clients get: the struct.
  let start: UnsafeRawPointer
  /// What its functions are passed as their instance. Not an address, since it is the other side's.
  let instance: UInt
  let closures: UnsafeMutablePointer<UInt>
  /// Lock. Its number in a process, by the serial of that.
  var export: UInt32
  var serial: UInt32

  /// The type is this function's.
  static func make(_ link: IsolatedLink, _ type: ExtensionType.Pointer, _ export: UInt32, _ serial: UInt32)
    throws(Failure)
    -> Pointer
  {
    let count = type.pointee.functions.count
    let own = MemoryLayout<ExtensionProxy>.stride, head = type.pointee.head
    let size = own &+ head.offset(of: count) &+ count &* 8
    guard let memory = treadle_system_allocate(size) else {
      ExtensionType.free(type)
      throw Failure.noMemory("extension")
    }
    memset(memory, 0, size)
    let start = memory + own
    let closures = (start + head.offset(of: count)).bindMemory(to: UInt.self, capacity: count)
    let instance = ~(UInt.max >> 1) | UInt(bitPattern: memory)
    head.write(to: start, count: count, instance: instance)
    let proxy = memory.bindMemory(to: ExtensionProxy.self, capacity: 1)
    proxy.initialize(
      to: ExtensionProxy(
        type: type, start: UnsafeRawPointer(start), instance: instance, closures: closures, export: export,
        serial: serial))
    do throws(Failure) {
      for index in 0..<count {
        guard let function = type.pointee.functions[index] else { continue }
        let made = try RemoteFunction.make(link, function, IsolatedFrame.call, UInt64(index), of: nil, proxy: proxy)
        closures[index] = made.closure
        start.storeBytes(of: UInt(bitPattern: made.code), toByteOffset: head.offset(of: index), as: UInt.self)
      }
    } catch {
      end(proxy)
      free(proxy)
      throw error
    }
    return proxy
  }

  /// Its functions do nothing any more.
  static func end(_ proxy: Pointer) {
    for index in 0..<proxy.pointee.type.pointee.functions.count {
      let closure = proxy.pointee.closures[index]
      proxy.pointee.closures[index] = 0
      if closure != 0 { RemoteFunction.retire(closure) }
    }
  }

  /// None of its functions runs.
  static func free(_ proxy: Pointer) {
    ExtensionType.free(proxy.pointee.type)
    treadle_system_free(proxy)
  }
}
