// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

extension RunLoopMessagePort {
  /// A C function that the senders to a port may call by its name (MSG-11). Its arguments come from another process.
  /// Since 1.0.
  public struct ExportedFunction: Sendable, CustomStringConvertible {
    /// Its name for callers. Since 1.0.
    public let name: String
    /// The function's type, in the notation of signatures. Since 1.0.
    public let signature: String
    let function: RunLoopFunction

    /// A closure, which the port keeps. Any thread.
    /// - Parameters:
    ///   - name: of 1 to 255 bytes of UTF-8; the first one of a name counts.
    ///   - closure: of numbers, `Bool` and structs; pointers are refused by the port.
    /// Since 1.0.
    public init(_ name: String, _ closure: RunLoopClosure) {
      self.name = name
      signature = closure.signature
      function = closure.function
    }

    /// A function with its signature, in which pointers are qualified by how what they point to travels: see
    /// `treadle_port_call`. The compiler cannot check that the function is of this type. Any thread. Since 1.0.
    @unsafe public init(_ name: String, signature: String, _ function: RunLoopFunction) {
      self.name = name
      self.signature = signature
      self.function = function
    }

    /// Name and type. Since 1.0.
    public var description: String { "ExportedFunction(“\(name)”, “\(signature)”)" }
  }

  /// Calls a function that the other side has exported by name, and returns its result. The calling thread's loop runs
  /// in the mode meanwhile. Any thread; it holds that up, so not in tasks of Swift's own threads.
  ///
  ///     let sum = try port.call("add", with: Int32(40), Int32(2), returning: Int32.self)
  ///
  /// - Parameters:
  ///   - name: the exporter's.
  ///   - arguments: of the exporter's types: numbers, `Bool`, structs that conform, and strings, which travel as C
  ///     strings.
  ///   - type: what the function returns.
  ///   - mode: `.replies`, or another one of your own, to which you add what must go on.
  ///   - timeout: limits the wait for room, and the wait for the result, each; nil waits for ever. Then the function
  ///     may have been called all the same, or still be running.
  /// - Throws: `TreadleError`: `.notFound` for a name that is not exported; `.signature` for another type than the
  ///   exporter's, or one that does not travel, as pointers; `.argument` for a text with a NUL, or the common modes;
  ///   `.range` for a name of 0 or more than 255 bytes; `.closed` also if the function has ended its thread; the others
  ///   of `request`. Since 1.0.
  public func call<each Argument: RunLoopArgument, Result: RunLoopValue>(
    _ name: String, with arguments: repeat each Argument, returning type: Result.Type, in mode: RunLoopMode = .replies,
    timeout: Duration? = nil
  ) throws(TreadleError) -> Result {
    let signature = try CallSignature(
      result: (Result.typeEncoding, MemoryLayout<Result>.size), repeat Swift.type(of: each arguments))
    var values = PortValues()
    for argument in repeat each arguments { try values.append(argument) }
    var result = CallArguments.zero(Result.self)
    let name = try checked(name)
    try check(withUnsafeMutableBytes(of: &result) { call(name, signature.encoding, values.all, $0, mode, timeout) })
    return result
  }

  /// Calls a function without a result that the other side has exported by name, and waits until it has returned. Any
  /// thread, as above.
  /// - Parameters:
  ///   - name: the exporter's.
  ///   - arguments: as above.
  ///   - mode: `.replies`, or another one of your own, to which you add what must go on.
  ///   - timeout: as above.
  /// - Throws: as above. Since 1.0.
  public func call<each Argument: RunLoopArgument>(
    _ name: String, with arguments: repeat each Argument, in mode: RunLoopMode = .replies, timeout: Duration? = nil
  ) throws(TreadleError) {
    let signature = try CallSignature(result: ("v", 0), repeat Swift.type(of: each arguments))
    var values = PortValues()
    for argument in repeat each arguments { try values.append(argument) }
    try check(call(checked(name), signature.encoding, values.all, nil, mode, timeout))
  }

  /// Calls an exported function by its signature, for memory that pointers point to. Any thread, as above.
  /// - Parameters:
  ///   - name: the exporter's.
  ///   - signature: the exporter's.
  ///   - values: each argument's bytes; for a pointer those that it points to, of which the qualifiers `N` and `o`
  ///     bring the new ones back, if this returns; nil passes NULL.
  ///   - resultSize: the size of the function's result; 0 drops it.
  ///   - mode: `.replies`, or another one of your own, to which you add what must go on.
  ///   - timeout: as above.
  /// - Returns: the result's bytes.
  /// - Throws: as above; `.range` for a size that is not the type's; `.argument` for a text without its NUL. Since 1.0.
  @discardableResult
  public func call(
    _ name: String, signature: String, values: inout [[UInt8]?], resultSize: Int = 0, in mode: RunLoopMode = .replies,
    timeout: Duration? = nil
  ) throws(TreadleError) -> [UInt8] {
    if signature.utf8.contains(0) { throw TreadleError(.argument, "signature contains a NUL") }
    if resultSize < 0 { throw TreadleError(.range, "resultSize is negative") }
    let name = try checked(name)
    var all = PortValues()
    for value in values { all.append(value) }
    var result = [UInt8](repeating: 0, count: resultSize)
    try check(
      result.withUnsafeMutableBytes { call(name, signature, all.all, resultSize > 0 ? $0 : nil, mode, timeout) })
    for index in values.indices where values[index] != nil { values[index] = all.bytes(at: index) }
    return result
  }

  private func call(
    _ name: String, _ signature: String, _ values: [treadle_port_value], _ result: UnsafeMutableRawBufferPointer?,
    _ mode: RunLoopMode,
    _ timeout: Duration?
  ) -> treadle_status {
    mode.withName { mode in
      values.withUnsafeBufferPointer { values in
        treadle_port_call(
          handle, name, signature, values.baseAddress, values.count, result?.baseAddress, result?.count ?? 0,
          timeout.limit, mode)
      }
    }
  }

  private func checked(_ name: String) throws(TreadleError) -> String {
    if name.utf8.contains(0) { throw TreadleError(.argument, "name contains a NUL") }
    return name
  }

  /// Calls `body` with the functions for C, which live meanwhile.
  static func withNative<Result>(
    _ functions: [ExportedFunction], _ body: (UnsafePointer<treadle_port_function>?, Int) -> Result
  ) -> Result {
    var texts: [UnsafeMutablePointer<CChar>] = []
    defer { for text in texts { text.deallocate() } }
    func copied(_ text: String) -> UnsafePointer<CChar> {
      let bytes = text.utf8CString
      let copy = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
      for (index, byte) in bytes.enumerated() { copy[index] = byte }
      texts.append(copy)
      return UnsafePointer(copy)
    }
    let all = functions.map { each in
      treadle_port_function(
        name: copied(each.name), signature: copied(each.signature),
        code: unsafeBitCast(each.function.address, to: (@convention(c) () -> Void)?.self))
    }
    return all.withUnsafeBufferPointer { body($0.isEmpty ? nil : $0.baseAddress, $0.count) }
  }
}

/// The arguments of a call, each in memory of its own.
private struct PortValues: ~Copyable {
  private(set) var all: [treadle_port_value] = []

  mutating func append<Argument: RunLoopArgument>(_ argument: Argument) throws(TreadleError) {
    if let text = argument as? String {
      if text.utf8.contains(0) { throw TreadleError(.argument, "argument \(all.count) contains a NUL") }
      text.utf8CString.withUnsafeBytes { append($0) }
    } else {
      withUnsafeBytes(of: argument) { append($0) }
    }
  }

  mutating func append(_ bytes: [UInt8]?) {
    if let bytes { bytes.withUnsafeBytes { append($0) } } else { all.append(treadle_port_value(bytes: nil, size: 0)) }
  }

  func bytes(at index: Int) -> [UInt8] {
    [UInt8](UnsafeRawBufferPointer(start: all[index].bytes, count: all[index].size))
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer) {
    // Of an empty one too: it has an address.
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 16)
    copy.copyMemory(from: bytes)
    all.append(treadle_port_value(bytes: copy.baseAddress, size: bytes.count))
  }

  deinit { for value in all { value.bytes?.deallocate() } }
}
