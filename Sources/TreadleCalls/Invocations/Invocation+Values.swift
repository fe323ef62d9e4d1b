// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleCore
package import TreadleBase

/// What goes into an invocation, and what comes out. Sizes are those of the signature's types.
extension Invocation {
  /// The largest buffer.
  private static let largestBuffer = 1 << 30

  package func setArgument(_ index: Int, _ value: UnsafeRawPointer?, size: Int) throws(Failure) {
    let argument = try argument(index, size: size)
    guard let value else { throw Failure(Status.argument, "value", "is NULL") }
    if !argument.qualifiers.hasBuffer {
      return try whileIdle { () throws(Failure) in Promotion.store(value, of: argument, to: body.pointee.frame) }
    }
    let isText = argument.code == .string && argument.qualifiers.isByCopyAlone
    guard isText else { throw Failure(Status.argument, "index", "is that of a pointer whose buffer must be set") }
    let text = value.loadUnaligned(as: UnsafePointer<CChar>?.self)
    try setBuffer(
      index, argument, text.map { UnsafeRawPointer($0) }, size: text.map { strlen($0) &+ 1 } ?? 0, client: nil)
  }

  package func setBuffer(_ index: Int, _ bytes: UnsafeMutableRawPointer?, size: Int) throws(Failure) {
    guard let argument = signature.argument(index) else { throw Invocation.noArgument }
    guard argument.qualifiers.hasBuffer else { throw Invocation.noBuffer }
    if bytes == nil && size != 0 { throw Failure(Status.argument, "bytes", "is NULL, but size is not 0") }
    if size < 0 || size > Invocation.largestBuffer { throw Failure(Status.range, "size", "is larger than 1 GiB") }
    let isGivenBack = argument.qualifiers.isInOut || argument.qualifiers.isOut
    try setBuffer(index, argument, bytes, size: size, client: isGivenBack ? bytes : nil)
  }

  private func setBuffer(
    _ index: Int, _ argument: SignatureValue, _ bytes: UnsafeRawPointer?, size: Int, client: UnsafeMutableRawPointer?
  ) throws(Failure) {
    var buffer = InvocationBuffer(copy: nil, size: size, client: client)
    if let bytes {
      guard let copy = InvocationBuffer.allocate(size) else { throw Failure.noMemory("buffer") }
      if argument.qualifiers.isOut { memset(copy, 0, size) } else { copy.copyMemory(from: bytes, byteCount: size) }
      buffer.copy = copy
    }
    do throws(Failure) {
      try whileIdle { () throws(Failure) in
        let old = body.pointee.buffers[index].copy
        body.pointee.buffers[index] = buffer
        (body.pointee.frame + argument.offset).storeBytes(of: buffer.copy, as: UnsafeMutableRawPointer?.self)
        treadle_system_free(old)
      }
    } catch {
      treadle_system_free(buffer.copy)
      throw error
    }
  }

  package func getArgument(_ index: Int, _ value: UnsafeMutableRawPointer?, size: Int) throws(Failure) {
    let argument = try argument(index, size: size)
    guard let value else { throw Failure(Status.argument, "value", "is NULL") }
    body.pointee.mutex.lock(.invocation)
    defer { body.pointee.mutex.unlock(.invocation) }
    if lockedPhase == CarriedCall.Phase.running {
      throw Failure(Status.state, "invocation", "has a call that is running")
    }
    Promotion.load(argument, from: body.pointee.frame, to: value)
  }

  package func getBuffer(_ index: Int, _ bytes: UnsafeMutableRawPointer?, size: Int) throws(Failure) {
    guard let argument = signature.argument(index) else { throw Invocation.noArgument }
    guard argument.qualifiers.hasBuffer else { throw Invocation.noBuffer }
    if bytes == nil && size != 0 { throw Failure(Status.argument, "bytes", "is NULL, but size is not 0") }
    try whileIdle { () throws(Failure) in
      let buffer = body.pointee.buffers[index]
      if size < 0 || size > buffer.size { throw Failure(Status.range, "size", "is larger than the buffer") }
      if let bytes, let copy = buffer.copy { bytes.copyMemory(from: copy, byteCount: size) }
    }
  }

  package func getResult(_ result: UnsafeMutableRawPointer?, size: Int) throws(Failure) {
    let value = signature.result
    if size != value.layout.size { throw Failure(Status.range, "size", "is not the size of the result's type") }
    if result == nil && size != 0 { throw Failure(Status.argument, "result", "is NULL") }
    try whileDone { result?.copyMemory(from: body.pointee.result, byteCount: size) }
  }

  /// errno as the function left it.
  package func getErrno() throws(Failure) -> Int32 {
    var errno: Int32 = 0
    try whileDone { errno = body.pointee.errno }
    return errno
  }

  /// Under the lock, if the last call has returned.
  private func whileDone(_ body: () -> Void) throws(Failure) {
    self.body.pointee.mutex.lock(.invocation)
    defer { self.body.pointee.mutex.unlock(.invocation) }
    guard self.body.pointee.call == nil, self.body.pointee.phase == CarriedCall.Phase.done else {
      throw Failure(Status.state, "invocation", "has no result: its last call has not returned")
    }
    body()
  }

  // MARK: Checks

  private static var noArgument: Failure { Failure(Status.range, "index", "is not an argument of the signature") }
  private static var noBuffer: Failure {
    Failure(Status.argument, "index", "is the index of an argument that is not a pointer with the qualifier O, N or o")
  }

  private func argument(_ index: Int, size: Int) throws(Failure) -> SignatureValue {
    guard let argument = signature.argument(index) else { throw Invocation.noArgument }
    if size != argument.layout.size { throw Failure(Status.range, "size", "is not the size of the signature's type") }
    return argument
  }

  /// Under the lock, unless a call is on its way.
  private func whileIdle(_ body: () throws(Failure) -> Void) throws(Failure) {
    self.body.pointee.mutex.lock(.invocation)
    defer { self.body.pointee.mutex.unlock(.invocation) }
    if self.body.pointee.call != nil { throw Invocation.isBusy }
    try body()
  }

  static var isBusy: Failure { Failure(Status.state, "invocation", "has a call that is queued or running") }
}
