// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
package import TreadleBase
package import TreadleCalls
import TreadleCore

/// Calling a function of the other side's.
extension MessagePort {
  /// What a client asks for.
  package struct FunctionCall {
    package let name: UnsafePointer<CChar>?
    package let function: PortableSignature
    package let values: UnsafeBufferPointer<PortableValue>
    package let result: UnsafeMutableRawPointer?
    package let timeout: Int64
    package let mode: ModeName

    package init(
      name: UnsafePointer<CChar>?, _ function: PortableSignature, _ values: UnsafeBufferPointer<PortableValue>,
      result: UnsafeMutableRawPointer?, timeout: Int64, mode: ModeName
    ) {
      self.name = name
      self.function = function
      self.values = values
      self.result = result
      self.timeout = timeout
      self.mode = mode
    }
  }

  /// The call, while its answer is waited for.
  private struct Answer {
    let call: FunctionCall
    /// What the other side says; nil before, and for what is no answer.
    var status: Int32? = nil
  }

  /// Calls a function of the other side's, and waits for what it returns; `at` is the index of an argument that does
  /// not fit.
  package static func call(_ handle: UInt, _ call: FunctionCall, at: inout Int?) throws(Failure) {
    let nameSize = try ExportedFunction.checkName(call.name)
    let size =
      CallData.head &+ nameSize &+ call.function.text.count &+ (try call.function.measure(call.values, at: &at))
    if size > MessageFrame.mostBytes { throw Failure(Status.range, "arguments", "are more than a message can have") }
    guard let data = treadle_system_allocate(size) else { throw Failure.noMemory("arguments") }
    defer { treadle_system_free(data) }
    write(call, nameSize, to: data)
    var answer = Answer(call: call)
    try withUnsafeMutablePointer(to: &answer) { answer throws(Failure) in
      let request = Request(
        id: 0, data: data, size: size, sendTimeout: call.timeout, replyTimeout: call.timeout, mode: call.mode,
        reply: { data, size, memory in
          guard let answer = memory?.assumingMemoryBound(to: Answer.self) else { return }
          answer.pointee.status = MessagePort.read(answer.pointee.call, data, size)
        }, info: answer, isCall: true)
      // While the caller waits, its loop may call a function that ends the thread, the one that is called here as well.
      try ObjectCall.recorded(0, data, { treadle_system_free($0) }) { () throws(Failure) in
        try call.function.freedIfThreadEnds { () throws(Failure) in try MessagePort.request(handle, request) }
      }
    }
    guard let status = answer.status else {
      try? using(handle) { held in held.item.invalidate() }
      throw Failure(Status.closed, "port", "has received an invalid reply to a call")
    }
    if status != Status.ok { throw failure(status) }
  }

  private static func write(_ call: FunctionCall, _ nameSize: Int, to data: UnsafeMutableRawPointer) {
    let text = call.function.text
    data.storeBytes(of: UInt16(truncatingIfNeeded: nameSize), as: UInt16.self)
    data.storeBytes(of: UInt16(truncatingIfNeeded: text.count), toByteOffset: 2, as: UInt16.self)
    data.storeBytes(of: 0, toByteOffset: 4, as: UInt32.self)
    let name = data + CallData.head
    if let bytes = call.name { memcpy(name, bytes, nameSize) }
    if let bytes = text.baseAddress { memcpy(name + nameSize, bytes, text.count) }
    call.function.write(call.values, to: name + nameSize + text.count)
  }

  /// Reads an answer; nil for what is none, of which nothing is given to the client.
  private static func read(_ call: FunctionCall, _ data: UnsafeRawPointer?, _ size: Int) -> Int32? {
    guard let data, size >= CallData.head, data.loadUnaligned(fromByteOffset: 4, as: UInt32.self) == 0 else {
      return nil
    }
    let status = data.loadUnaligned(as: Int32.self)
    if !CallData.isAnswer(status) { return nil }
    let rest = UnsafeRawBufferPointer(start: data + CallData.head, count: size &- CallData.head)
    if status != Status.ok { return rest.isEmpty ? status : nil }
    return call.function.read(rest, to: call.values, result: call.result) ? status : nil
  }

  private static func failure(_ status: Int32) -> Failure {
    switch status {
    case Status.notFound: Failure(status, "name", "is not that of a function that the other side exports")
    case Status.signature: Failure(status, "signature", "is not that of the function on the other side")
    case Status.range: Failure(status, "arguments", "are more than the other side takes")
    case Status.argument: Failure(status, "arguments", "have a value outside of its type")
    default: Failure(Status.noMemory, "port", "leads to a process that has no memory for the call")
    }
  }
}

/// Being called.
extension MessagePort {
  /// Calls a function of the client's, on the loop's thread, and answers. False if the data is what no sender writes.
  func callFunction(_ call: inout MessageCall) -> Bool {
    guard let data = CallData(call.payload.data, call.payload.size) else { return false }
    guard let exported = findFunction(data.name) else {
      answerCall(&call, Status.notFound)
      return true
    }
    let text = exported.function.text
    guard data.signature.count == text.count, let one = data.signature.baseAddress, let other = text.baseAddress,
      memcmp(one, other, text.count) == 0
    else {
      answerCall(&call, Status.signature)
      return true
    }
    switch PortableCall.receive(exported.function, exported.code, data.arguments, head: CallData.head) {
    case .malformed: return false
    case .refused(let status): answerCall(&call, status)
    case .call(let prepared): perform(prepared, &call)
    }
    return true
  }

  private func findFunction(_ name: UnsafeRawBufferPointer) -> ExportedFunction? {
    for function in state.functions.elements where function.isNamed(name) { return function }
    return nil
  }

  private func perform(_ prepared: PortableCall, _ call: inout MessageCall) {
    call.prepared = prepared
    let isOpen = MessageCall.make(&call) { memory in
      guard let call = memory?.assumingMemoryBound(to: MessageCall.self).pointee, let prepared = call.prepared,
        let data = CallData(call.payload.data, call.payload.size)
      else { return }
      prepared.perform(data.arguments)
    }
    call.prepared = nil
    if isForked { return treadle_system_forget(prepared.memory) }
    if isOpen, let head = prepared.answer.baseAddress {
      CallData.writeHead(Status.ok, to: head)
      answerCall(&call, UnsafeRawBufferPointer(prepared.answer))
    }
    treadle_system_free(prepared.memory)
  }

  private func answerCall(_ call: inout MessageCall, _ status: Int32) {
    var head: UInt64 = 0
    withUnsafeMutableBytes(of: &head) { head in
      if let start = head.baseAddress { CallData.writeHead(status, to: start) }
      answerCall(&call, UnsafeRawBufferPointer(head))
    }
  }

  /// Without an answer, for want of memory or descriptors, the caller gets an empty one, which is none.
  private func answerCall(_ call: inout MessageCall, _ bytes: UnsafeRawBufferPointer) {
    guard let file = try? makeFile(bytes.baseAddress, bytes.count, for: call.connection) else { return }
    call.isReplied = (try? send(call, bytes.baseAddress, bytes.count, file)) != nil
  }
}
