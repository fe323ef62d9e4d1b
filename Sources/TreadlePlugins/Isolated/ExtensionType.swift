// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import TreadleBase
import TreadleCalls

/// A descriptor of an extension as bytes, in which it travels to another process, and which both sides read.
enum ExtensionBytes {
  static let mostFunctions = 256
  static let mostArguments = 32
  /// Callbacks of callbacks.
  static let mostDepth = 3

  static func write(_ descriptor: UnsafePointer<treadle_extension_descriptor>, to frame: inout FrameWriter)
    throws(Failure)
  {
    let known = try ClientStruct.copy(descriptor, "extensions")
    guard known.name != nil, let functions = known.functions, known.function_count <= UInt32(mostFunctions) else {
      throw Failure(Status.argument, "extensions", "have a descriptor without a name or functions, or with too many")
    }
    frame.text(known.name)
    frame.number(UInt64(known.flags))
    frame.number(UInt64(known.function_count))
    for index in 0..<Int(known.function_count) { try write(functions[index], 0, to: &frame) }
  }

  private static func write(_ function: treadle_extension_function, _ depth: Int, to frame: inout FrameWriter)
    throws(Failure)
  {
    let count = Int(function.argument_count)
    guard function.name != nil, function.signature != nil, count <= mostArguments, function.reserved == 0,
      depth < mostDepth
    else {
      throw Failure(
        Status.argument, "extensions", "have a function without a name or signature, or with too many arguments")
    }
    frame.text(function.name)
    frame.text(function.signature)
    frame.number(UInt64(function.result))
    frame.number(UInt64(function.flags))
    frame.number(UInt64(count))
    for index in 0..<count {
      let argument = function.arguments.map { $0[index] } ?? treadle_extension_argument()
      frame.number(UInt64(argument.pass))
      frame.number(UInt64(argument.other))
      frame.number(UInt64(argument.size))
      guard ExtensionArgument.isCallback(argument.pass) else { continue }
      guard let callback = argument.callback else {
        throw Failure(Status.argument, "extensions", "have a callback without a type")
      }
      try write(callback.assumingMemoryBound(to: treadle_extension_function.self).pointee, depth &+ 1, to: &frame)
    }
  }
}

/// An argument of a function of an extension.
struct ExtensionArgument: BitwiseCopyable {
  var pass: UInt32 = 0
  /// The index of the argument that counts the elements, or is the callback's info; nil for none.
  var other: Int?
  var size = 0
  var callback: ExtensionFunction.Pointer?
  /// Of a callback: the info that it was given with, not that of another callback among its arguments.
  var isOwnInfo = false

  static func isCallback(_ pass: UInt32) -> Bool {
    pass == UInt32(TREADLE_PASS_CALLBACK) || pass == UInt32(TREADLE_PASS_KEPT_CALLBACK)
  }
  var isCallback: Bool { ExtensionArgument.isCallback(pass) }
  /// It travels as a number, which both sides translate.
  var isWord: Bool { isCallback || pass == UInt32(TREADLE_PASS_INFO) || isToken || isInstance }
  var isToken: Bool { pass == UInt32(TREADLE_PASS_TOKEN) }
  /// Each side has its own: nothing of it travels.
  var isInstance: Bool { pass == UInt32(TREADLE_PASS_INSTANCE) }
  var isOutToken: Bool { pass == UInt32(TREADLE_PASS_OUT_TOKEN) }
  var hasElements: Bool { pass >= UInt32(TREADLE_PASS_IN) && pass <= UInt32(TREADLE_PASS_IN_OUT) }
  var isText: Bool { pass == UInt32(TREADLE_PASS_TEXT) }

  var way: PortableSignature.Way {
    switch pass {
    case UInt32(TREADLE_PASS_TEXT): .text
    case UInt32(TREADLE_PASS_IN): .input
    case UInt32(TREADLE_PASS_OUT), UInt32(TREADLE_PASS_OUT_TOKEN): .output
    case UInt32(TREADLE_PASS_IN_OUT): .inOut
    case UInt32(TREADLE_PASS_VALUE): .value
    default: .word
    }
  }
}

/// A function of an extension, or a callback, as both sides know it. Lives as long as its type.
struct ExtensionFunction {
  typealias Pointer = UnsafeMutablePointer<ExtensionFunction>

  /// In the type's bytes.
  let name: UnsafePointer<CChar>
  let portable: PortableSignature
  let result: UInt32
  let isOneWay: Bool
  var arguments: Buffer<ExtensionArgument>

  var returnsText: Bool { result == UInt32(TREADLE_PASS_TEXT) }
  var returnsToken: Bool { result == UInt32(TREADLE_PASS_TOKEN) }
  var returnsStatus: Bool { result == UInt32(TREADLE_PASS_STATUS) }
  /// Whether numbers travel in the place of pointers.
  var hasWords: Bool {
    for argument in arguments.elements where argument.isWord { return true }
    return false
  }

  static func free(_ function: Pointer) {
    for argument in function.pointee.arguments.elements { if let callback = argument.callback { free(callback) } }
    function.pointee.portable.free()
    function.pointee.arguments.free()
    treadle_system_free(function)
  }
}

/// What the struct of an extension begins with, before its functions.
struct ExtensionHead: BitwiseCopyable {
  static let known = UInt64(TREADLE_EXTENSION_HAS_SIZE | TREADLE_EXTENSION_HAS_INSTANCE)
  private static let word = MemoryLayout<UInt>.size

  var flags: UInt64 = 0

  var hasSize: Bool { flags & UInt64(TREADLE_EXTENSION_HAS_SIZE) != 0 }
  var hasInstance: Bool { flags & UInt64(TREADLE_EXTENSION_HAS_INSTANCE) != 0 }
  var size: Int { (hasSize ? ExtensionHead.word : 0) &+ (hasInstance ? ExtensionHead.word : 0) }
  func offset(of function: Int) -> Int { size &+ function &* ExtensionHead.word }

  /// Of a struct of this process's; 0 for none.
  func instance(of start: UnsafeRawPointer) -> UInt {
    hasInstance ? start.load(fromByteOffset: hasSize ? ExtensionHead.word : 0, as: UInt.self) : 0
  }
  /// How many of the functions that are described a struct has.
  func count(of start: UnsafeRawPointer, most: Int) -> Int {
    if !hasSize { return most }
    let size = start.load(as: UInt.self)
    return size <= UInt(self.size) ? 0 : min(most, Int(min(size &- UInt(self.size), 1 << 30)) / ExtensionHead.word)
  }
  func write(to start: UnsafeMutableRawPointer, count: Int, instance: UInt) {
    if hasSize { start.storeBytes(of: UInt(offset(of: count)), as: UInt.self) }
    if hasInstance { start.storeBytes(of: instance, toByteOffset: hasSize ? ExtensionHead.word : 0, as: UInt.self) }
  }
}

/// An extension as both sides know it.
struct ExtensionType {
  typealias Pointer = UnsafeMutablePointer<ExtensionType>

  private var bytes = Buffer<UInt8>()
  private(set) var name: UnsafePointer<CChar>?
  /// What its struct begins with.
  private(set) var head = ExtensionHead()
  private(set) var functions = Buffer<ExtensionFunction.Pointer>()

  /// Reads a descriptor's bytes, which it copies: they may be another process's.
  static func make(_ given: UnsafeRawBufferPointer) throws(Failure) -> Pointer {
    guard let memory = treadle_system_allocate(MemoryLayout<ExtensionType>.size) else {
      throw Failure.noMemory("extension")
    }
    let type = memory.bindMemory(to: ExtensionType.self, capacity: 1)
    type.initialize(to: ExtensionType())
    do throws(Failure) {
      try type.pointee.read(given)
      return type
    } catch {
      free(type)
      throw error
    }
  }

  static func free(_ type: Pointer) {
    for function in type.pointee.functions.elements { ExtensionFunction.free(function) }
    type.pointee.functions.free()
    type.pointee.bytes.free()
    treadle_system_free(type)
  }

  /// What both sides read.
  var given: UnsafeRawBufferPointer { UnsafeRawBufferPointer(bytes.elements) }

  private mutating func read(_ given: UnsafeRawBufferPointer) throws(Failure) {
    let isCopied = bytes.refill(given.count) { room in
      if let start = given.baseAddress { memcpy(room, start, given.count) }
      return given.count
    }
    if !isCopied { throw Failure.noMemory("extension") }
    var frame = FrameReader(bytes.elements.baseAddress, bytes.count)
    name = frame.text()
    let flags = frame.number()
    if flags & ~ExtensionHead.known != 0 { throw ExtensionType.refusal("has unknown flags", name) }
    head = ExtensionHead(flags: flags)
    let count = frame.count(atMost: ExtensionBytes.mostFunctions)
    if name == nil || count == 0 || frame.isBroken { throw ExtensionType.refusal("has no name or no functions") }
    if !functions.reserve(count) { throw Failure.noMemory("extension") }
    for _ in 0..<count { _ = functions.appendInRoom(try ExtensionType.readFunction(&frame, 0, head)) }
  }

  private static func refusal(_ text: StaticString, _ function: UnsafePointer<CChar>? = nil) -> Failure {
    if let function { LastError.detail(function) }
    return Failure(Status.argument, "extension", text)
  }

  private static func readFunction(
    _ frame: inout FrameReader, _ depth: Int, _ head: ExtensionHead = ExtensionHead()
  ) throws(Failure) -> ExtensionFunction.Pointer {
    guard let name = frame.text(), let signature = frame.text(), depth < ExtensionBytes.mostDepth else {
      throw refusal("has a function without a name or signature")
    }
    let result = UInt32(truncatingIfNeeded: frame.number()), flags = frame.number()
    let count = frame.count(atMost: ExtensionBytes.mostArguments)
    if flags > UInt64(TREADLE_EXTENSION_ONE_WAY) { throw refusal("has a function with unknown flags", name) }
    var arguments = Buffer<ExtensionArgument>()
    do throws(Failure) {
      if !arguments.reserve(max(count, 1)) { throw Failure.noMemory("extension") }
      for index in 0..<count { _ = arguments.appendInRoom(try readArgument(&frame, name, index, count, depth)) }
      try findInfos(&arguments, name, depth)
      for argument in arguments.elements where argument.isInstance && !head.hasInstance {
        throw refusal("has an instance, with which its struct does not begin", name)
      }
      if frame.isBroken { throw IsolatedPlugin.brokenFailure }
      return try make(name, signature, result, isOneWay: flags != 0, arguments)
    } catch {
      for argument in arguments.elements { if let callback = argument.callback { ExtensionFunction.free(callback) } }
      arguments.free()
      throw error
    }
  }

  private static func findInfos(
    _ arguments: inout Buffer<ExtensionArgument>, _ name: UnsafePointer<CChar>, _ depth: Int
  ) throws(Failure) {
    for index in 0..<arguments.count {
      guard var argument = arguments[index], argument.pass == UInt32(TREADLE_PASS_INFO) else { continue }
      var callbacks = 0
      for other in arguments.elements where other.isCallback && other.other == index { callbacks &+= 1 }
      argument.isOwnInfo = callbacks == 0
      arguments.set(index, argument)
      if callbacks > 1 || callbacks == 0 && depth == 0 {
        throw refusal("has an info that is not that of one callback", name)
      }
    }
  }

  private static func readArgument(
    _ frame: inout FrameReader, _ name: UnsafePointer<CChar>, _ index: Int, _ count: Int, _ depth: Int
  ) throws(Failure) -> ExtensionArgument {
    var argument = ExtensionArgument()
    argument.pass = UInt32(truncatingIfNeeded: frame.number())
    let other = frame.count(atMost: count)
    argument.other = other == 0 ? nil : other &- 1
    argument.size = frame.count(atMost: 1 << 30)
    if argument.pass > UInt32(TREADLE_PASS_OUT_TOKEN) && !argument.isInstance {
      throw refusal("has an argument with an unknown pass", name)
    }
    if argument.hasElements == (argument.size == 0) {
      throw refusal("has elements without a size, or a size without elements", name)
    }
    if argument.other == index || !argument.hasElements && !argument.isCallback && argument.other != nil {
      throw refusal("has an argument that refers to a wrong one", name)
    }
    if argument.isCallback {
      if argument.other == nil {
        throw refusal("has a callback without an info, which cannot be called from another process", name)
      }
      argument.callback = try readFunction(&frame, depth &+ 1)
    }
    return argument
  }

  private static func make(
    _ name: UnsafePointer<CChar>, _ signature: UnsafePointer<CChar>, _ result: UInt32, isOneWay: Bool,
    _ arguments: Buffer<ExtensionArgument>
  ) throws(Failure) -> ExtensionFunction.Pointer {
    let isWord = result == UInt32(TREADLE_PASS_TEXT) || result == UInt32(TREADLE_PASS_TOKEN)
    guard isWord || result == UInt32(TREADLE_PASS_VALUE) || result == UInt32(TREADLE_PASS_STATUS) else {
      throw refusal("has a function with an unknown result", name)
    }
    let portable: PortableSignature
    do throws(Failure) {
      portable = try PortableSignature.described(signature, result: isWord ? .word : .value, count: arguments.count) {
        arguments[$0]?.way ?? .value
      }
    } catch {
      LastError.detail(name)
      throw error
    }
    do throws(Failure) {
      if result == UInt32(TREADLE_PASS_STATUS) && !portable.returnsInt {
        throw refusal("has a status that is no int", name)
      }
      if isOneWay && !portable.isVoid { throw refusal("has a function that returns, but for which nobody waits", name) }
      for argument in arguments.elements {
        if isOneWay && (argument.isOutToken || argument.hasElements && argument.way != .input) {
          throw refusal("has a function that stores, but for which nobody waits", name)
        }
        if isOneWay && argument.pass == UInt32(TREADLE_PASS_CALLBACK) {
          throw refusal("has a callback for a call that nobody waits for", name)
        }
        guard let other = argument.other else { continue }
        let isFit =
          argument.isCallback ? arguments[other]?.pass == UInt32(TREADLE_PASS_INFO) : portable.isInteger(other)
        if !isFit || !argument.isCallback && arguments[other]?.pass != 0 {
          throw refusal("has an argument that refers to a wrong one", name)
        }
      }
      guard let memory = treadle_system_allocate(MemoryLayout<ExtensionFunction>.size) else {
        throw Failure.noMemory("extension")
      }
      let function = memory.bindMemory(to: ExtensionFunction.self, capacity: 1)
      function.initialize(
        to: ExtensionFunction(name: name, portable: portable, result: result, isOneWay: isOneWay, arguments: arguments))
      return function
    } catch {
      portable.free()
      throw error
    }
  }
}
