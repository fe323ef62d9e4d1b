// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// A call of a client's function that is on a thread's stack and belongs to an object with a handle, outside of any
/// loop's run: its schedule or cancel, the function that names a descriptor, the release or destroy of what came with
/// it. The object's life is not over before the call is: its slot is not given back.
package struct ObjectCall {
  /// First: what ends it where its stack goes (clients.c).
  private let end: Abandon
  private var handle: UInt
  private var outer: UnsafeMutableRawPointer?
  /// Called with `counted` if the thread ends inside; nil for nothing.
  private var abandon: Abandon?
  private var counted: UnsafeMutableRawPointer?

  package typealias Abandon = @convention(c) (UnsafeMutableRawPointer) -> Void

  /// `body` makes the `ClientCall`: when its thread ends inside, the record outside of that is on the stack still.
  /// `abandon` gets `counted` then, to let go of what the caller would have let go of behind `body`.
  @inline(__always)
  package static func recorded<Result, Refusal: Error>(
    _ handle: UInt, _ counted: UnsafeMutableRawPointer? = nil, _ abandon: Abandon? = nil,
    _ body: () throws(Refusal) -> Result
  ) throws(Refusal) -> Result {
    let thread = treadle_system_thread()
    var call = ObjectCall(
      end: ObjectCall.end, handle: handle, outer: thread.pointee.object_call, abandon: abandon, counted: counted)
    return try withUnsafeMutablePointer(to: &call) { record throws(Refusal) in
      thread.pointee.object_call = UnsafeMutableRawPointer(record)
      defer { thread.pointee.object_call = record.pointee.outer }
      return try body()
    }
  }

  /// Records a call with a copy of a value, which `abandon` gets.
  @inline(__always)
  package static func recorded<Value, Result, Refusal: Error>(
    _ handle: UInt, holding value: Value, _ abandon: Abandon, _ body: () throws(Refusal) -> Result
  ) throws(Refusal) -> Result {
    var held = value
    return try withUnsafeMutablePointer(to: &held) { held throws(Refusal) in try recorded(handle, held, abandon, body) }
  }

  /// Puts nothing on the heap, which would be lost where the client ends its thread.
  package static func during<Value>(
    _ handle: UInt, _ value: inout Value, _ counted: UnsafeMutableRawPointer? = nil, _ abandon: Abandon? = nil,
    _ body: @convention(c) (UnsafeMutableRawPointer?) -> Void
  ) {
    recorded(handle, counted, abandon) { ClientCall.guarded(&value, body) }
  }

  /// The thread ends inside. An object that nobody refers to any more is over then, with the outermost of its calls:
  /// that one may go on with the object's end.
  private static let end: Abandon = { memory in
    let call = memory.assumingMemoryBound(to: ObjectCall.self).pointee
    let handle = Handle(bits: call.handle)
    treadle_system_thread().pointee.object_call = call.outer
    if let counted = call.counted { call.abandon?(counted) }
    if let kind = handle.kind, !isOn(call.outer, call.handle) { Slab(kind).abandonEnding(handle) }
  }

  /// Whether such a call of this object is being made by the calling thread.
  @inline(never)
  package static func isHere(_ handle: UInt) -> Bool { isOn(treadle_system_thread().pointee.object_call, handle) }

  /// The same of a thread whose innermost call this is.
  package static func isOn(_ innermost: UnsafeMutableRawPointer?, _ handle: UInt) -> Bool {
    var next = innermost
    while let call = next?.assumingMemoryBound(to: ObjectCall.self) {
      if call.pointee.handle == handle { return true }
      next = call.pointee.outer
    }
    return false
  }
}
