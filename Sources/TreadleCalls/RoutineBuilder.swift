// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
package import TreadleBase

/// Collects a routine's arguments, in order. Ends with `finish` or `discard`.
package struct RoutineBuilder {
  private let body: UnsafeMutablePointer<RoutineBody>
  /// Room for what `RoutineBody.direct` refers to.
  private let direct: UnsafeMutablePointer<DirectCall>
  /// The next argument's index.
  private var index = 0

  /// The code is not called before `finish`.
  package init(_ signature: Signature, code: @escaping @convention(c) () -> Void) throws(Failure) {
    let count = signature.argumentCount
    let frameSize = max(signature.frameSize, 1)
    let size =
      Arena.room(RoutineBody.self, 1) &+ Arena.room(UInt8.self, frameSize)
      &+ Arena.room(SuppliedArgument.self, max(count, 1)) &+ Arena.room(DirectCall.self, 1)
    guard let block = Arena.allocate(size) else { throw Failure.noMemory("routine") }
    var arena = Arena(block, size: size)
    guard let body = arena.take(RoutineBody.self, 1), let frame = arena.take(UInt8.self, frameSize),
      let supplied = arena.take(SuppliedArgument.self, max(count, 1)), let direct = arena.take(DirectCall.self, 1)
    else {
      Arena.free(block)
      throw Failure.noMemory("routine")
    }
    frame.initialize(repeating: 0, count: frameSize)
    body.initialize(
      to: RoutineBody(
        signature: signature, code: code, destroy: nil, info: nil, frame: UnsafeMutableRawPointer(frame),
        supplied: supplied, suppliedCount: 0, direct: nil))
    self.body = body
    self.direct = direct
  }

  /// Whether the signature has no further argument.
  package var isComplete: Bool { index == body.pointee.signature.argumentCount }

  /// Gives the next argument its bytes.
  package mutating func bind(_ bytes: UnsafeRawPointer, size: Int) throws(Failure) {
    let argument = try next()
    guard size == argument.layout.size else {
      throw Failure(Status.argument, "arguments[].size", "is not the size of the signature's type")
    }
    Promotion.store(bytes, of: argument, to: body.pointee.frame)
  }

  /// Has the event supply the next argument.
  package mutating func supply(_ source: ArgumentSource) throws(Failure) {
    let argument = try next()
    guard source.fits(argument.code) else {
      throw Failure(Status.argument, "arguments[].kind", "does not fit the type that the signature has there")
    }
    (body.pointee.supplied + body.pointee.suppliedCount).initialize(
      to: SuppliedArgument(source: source, offset: argument.offset, size: argument.layout.size))
    body.pointee.suppliedCount &+= 1
  }

  private mutating func next() throws(Failure) -> SignatureValue {
    guard let argument = body.pointee.signature.argument(index) else {
      throw Failure(Status.argument, "argument_count", "is not the number of the signature's arguments")
    }
    index &+= 1
    return argument
  }

  /// Makes the routine, with one reference of the client's. From here on `destroy(info)` is the routine's.
  /// After a failure the builder still has to be discarded.
  package consuming func finish(
    destroy: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?, info: UnsafeMutableRawPointer?
  ) throws(Failure) -> Handle {
    guard isComplete else {
      throw Failure(Status.argument, "argument_count", "is not the number of the signature's arguments")
    }
    body.pointee.destroy = destroy
    body.pointee.info = info
    if let call = directCall {
      direct.initialize(to: call)
      body.pointee.direct = UnsafePointer(direct)
    }
    guard let handle = Routine.publish(body) else { throw Failure.noMemory("routine") }
    return handle
  }

  /// The routine as a plain callback of an item, if it is one: a pointer is bound to the last argument, and those
  /// before it are what such a callback gets.
  private var directCall: DirectCall? {
    let form: DirectCall.Form
    switch (body.pointee.signature.shape, body.pointee.suppliedCount) {
    case (.pointer, 0): form = .nothing
    case (.twoPointers, 1) where supplies(.subject, 0): form = .subject
    case (.observer, 2) where supplies(.subject, 0) && supplies(.value, 1): form = .subjectAndValue
    default: return nil
    }
    let info = body.pointee.frame.load(
      fromByteOffset: Int(form.rawValue) &* DirectShape.wordSize, as: UnsafeMutableRawPointer?.self)
    return DirectCall(body.pointee.code, info: info, form: form)
  }

  /// Whether the event supplies the argument of this index, of a direct shape, so.
  private func supplies(_ source: ArgumentSource, _ index: Int) -> Bool {
    let argument = body.pointee.supplied[index]
    return argument.source == source && argument.offset == index &* DirectShape.wordSize
  }

  /// Gives up what was collected.
  package consuming func discard() {
    Arena.free(body)
  }
}
