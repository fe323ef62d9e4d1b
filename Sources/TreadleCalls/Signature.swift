// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import struct Synchronization.Atomic
import TreadleBase

/// The type of a C function: parsed once, ready to be called through, immutable, and never freed. A
/// value of this type is a reference to one block of memory that holds all of it.
package struct Signature: Equatable, BitwiseCopyable {
  /// What the block starts with. Pointers lead to other parts of the block.
  struct Body: ~Copyable {
    /// Prepared by libffi if calls or closures of the type need it, and only read from then on; else zeros. Its address
    /// is what a closure's calls name their type by.
    var cif: ffi_cif
    var isForeignReady = false
    /// libffi's descriptions of the types.
    var descriptions: UnsafeMutableRawPointer?
    var result: SignatureValue
    /// Bytes of a frame: all arguments, each at its offset.
    var frameSize: Int
    /// Bytes of copies of all arguments, each at its `copyOffset`.
    var copySize: Int
    var argumentCount: Int
    /// An argument is a C string whose text is copied with it.
    var hasTexts: Bool
    /// How many of them stand before the variadic ones; nil if the function takes none such.
    var fixedCount: Int?
    var values: UnsafeMutablePointer<SignatureValue>
    /// The canonical text: the same for all encodings that mean the same call.
    var text: UnsafeMutableBufferPointer<UInt8>
    /// The ways around libffi, the shortest first, if there are such.
    var shape: DirectShape?
    var plan: RegisterPlan?
    /// What is called in place of `cif` where libffi errs.
    var split: UnsafeMutablePointer<ForeignSplit>?
    /// The table's part: set when the signature enters it, `next` under its lock.
    var handle = Handle(bits: 0)
    var hash: UInt64 = 0
    var next: UnsafeMutablePointer<Body>?
    /// The first of its `SharedTombstone`s.
    let tombstones = Atomic<UInt>(0)
  }

  let body: UnsafeMutablePointer<Body>

  init(body: UnsafeMutablePointer<Body>) {
    self.body = body
  }

  /// Prepares calls of parsed types.
  static func make(_ nodes: TypeNodes, text: UnsafeBufferPointer<UInt8>) throws(SignatureError) -> Signature {
    let size =
      Arena.room(Body.self, 1) &+ Arena.room(SignatureValue.self, nodes.count) &+ Arena.room(UInt8.self, text.count)
    guard let block = Arena.allocate(size) else { throw .noMemory }
    do throws(SignatureError) {
      var arena = Arena(block, size: size)
      guard let body = arena.take(Body.self, 1), let values = arena.take(SignatureValue.self, nodes.count),
        let copy = arena.take(UInt8.self, text.count)
      else { throw .noMemory }
      for (offset, byte) in text.enumerated() { (copy + offset).initialize(to: byte) }
      let result = SignatureValue(nodes[0], offset: 0, copyOffset: 0, isPromoted: false, isByReference: false)
      let placed = place(nodes, in: values)
      // A variadic function may want to be told of its call in a way of its own.
      let shape =
        placed.fixedCount == nil
        ? DirectShape(result: result.code, arguments: UnsafeBufferPointer(start: values, count: placed.count)) : nil
      body.initialize(
        to: Body(
          cif: ffi_cif(), result: result, frameSize: placed.frameSize, copySize: placed.copySize,
          argumentCount: placed.count, hasTexts: placed.hasTexts, fixedCount: placed.fixedCount, values: values,
          text: UnsafeMutableBufferPointer(start: copy, count: text.count), shape: shape, plan: placed.plan))
      let signature = Signature(body: body)
      if !signature.isDirect { try signature.prepare(nodes) }
      return signature
    } catch {
      Arena.free(block)
      throw error
    }
  }

  /// What `place` has found out.
  private struct Placed {
    var frameSize = 0
    var copySize = 0
    var count = 0
    var hasTexts = false
    var fixedCount: Int?
    var plan: RegisterPlan?
  }

  /// Gives each argument its place in a frame: the image of the registers if they are enough, and else a struct that
  /// libffi's pointers lead into.
  private static func place(_ nodes: TypeNodes, in values: UnsafeMutablePointer<SignatureValue>) -> Placed {
    // A variadic function wants to be told of its vector registers besides.
    if nodes.ellipsis == nil, let plan = RegisterPlan(result: nodes[0].code),
      let placed = place(nodes, in: values, by: plan)
    {
      return placed
    }
    return place(nodes, in: values, by: nil) ?? Placed()
  }

  /// Nil only if there is a plan, and one argument does not fit in.
  private static func place(
    _ nodes: TypeNodes, in values: UnsafeMutablePointer<SignatureValue>, by plan: RegisterPlan?
  ) -> Placed? {
    var (frame, copies) = (TypeLayout(), TypeLayout())
    var placed = Placed(plan: plan)
    var index = nodes[0].end
    while index < nodes.count {
      let node = nodes[index]
      let isVariadic = nodes.isVariadic(index)
      if isVariadic && placed.fixedCount == nil { placed.fixedCount = placed.count }
      let passed = passed(node.code, isVariadic: isVariadic, isPlanned: plan != nil)
      let isPromoted = passed != node.code
      var offset = 0
      if plan != nil {
        guard let place = placed.plan?.place(passed) else { return nil }
        offset = place
      } else {
        offset = frame.append(isPromoted ? passed.layout : node.layout)
      }
      (values + placed.count).initialize(
        to: SignatureValue(
          node, offset: offset, copyOffset: copies.append(node.layout), isPromoted: isPromoted,
          isByReference: ForeignReference.isNeeded(nodes, index)))
      if values[placed.count].isText { placed.hasTexts = true }
      placed.count &+= 1
      index = node.end
    }
    if nodes.ellipsis != nil && placed.fixedCount == nil { placed.fixedCount = placed.count }
    placed.frameSize = placed.plan?.frameSize ?? frame.size
    placed.copySize = copies.size
    return placed
  }

  private static func passed(_ code: TypeCode, isVariadic: Bool, isPlanned: Bool) -> TypeCode {
    if isVariadic { return Promotion.promoted(code) }
    return isPlanned ? RegisterPlan.passed(code) : code
  }

  /// Has libffi prepare the type, once: before anybody else knows the signature, or under the table's lock.
  func prepare(_ nodes: TypeNodes) throws(SignatureError) {
    if body.pointee.isForeignReady { return }
    let size = FFITypes.room(for: nodes) &+ ForeignSplit.room(nodes.count)
    guard let block = Arena.allocate(size) else { throw .noMemory }
    do throws(SignatureError) {
      try prepare(nodes, in: Arena(block, size: size))
      body.pointee.descriptions = block
      body.pointee.isForeignReady = true
    } catch {
      Arena.free(block)
      throw error
    }
  }

  private func prepare(_ nodes: TypeNodes, in arena: Arena) throws(SignatureError) {
    var types = FFITypes(nodes, in: arena)
    let count = body.pointee.argumentCount
    guard let result = types.make(0), let arguments = types.makeArguments(count) else { throw .noMemory }
    let number = UInt32(truncatingIfNeeded: count)
    var cif = ffi_cif()
    let status =
      if let fixedCount = body.pointee.fixedCount {
        ffi_prep_cif_var(&cif, FFI_DEFAULT_ABI, UInt32(truncatingIfNeeded: fixedCount), number, result, arguments)
      } else {
        ffi_prep_cif(&cif, FFI_DEFAULT_ABI, number, result, arguments)
      }
    guard status == FFI_OK, Signature.agrees(body.pointee.result, result, isVariadic: false) else {
      throw Signature.notCallable
    }
    for index in 0..<count {
      let isVariadic = index >= body.pointee.fixedCount ?? count
      guard let type = arguments[index],
        Signature.agrees(body.pointee.values[index], type, isVariadic: isVariadic)
      else { throw Signature.notCallable }
    }
    if let index = ForeignSplit.find(nodes) {
      var arena = types.arena
      body.pointee.split = ForeignSplit.prepare(self, at: index, result, arguments, in: &arena)
      if body.pointee.split == nil { throw Signature.notCallable }
    }
    body.pointee.cif = cif
  }

  /// Whether libffi lays a type out as the parser did. Void has no size of its own.
  private static func agrees(_ value: SignatureValue, _ type: FFITypes.TypePointer, isVariadic: Bool) -> Bool {
    if value.isByReference { return true }
    let passed = isVariadic ? Promotion.promoted(value.code) : value.code
    let layout = passed == value.code ? value.layout : passed.layout
    return value.code == .void || type.pointee.size == layout.size && Int(type.pointee.alignment) == layout.alignment
  }

  private static var notCallable: SignatureError {
    .refused(position: 0, reason: "cannot be called by this machine's libffi")
  }

  /// For one that was never shown to anybody.
  func free() {
    Arena.free(body.pointee.descriptions)
    Arena.free(body)
  }

  /// The signature that a closure's call names: it never goes away.
  init(namedBy type: UnsafeMutablePointer<ffi_cif>) {
    // The first member of the body.
    body = UnsafeMutableRawPointer(type).assumingMemoryBound(to: Body.self)
  }

  /// Whether a closure's call names this signature.
  @inline(__always)
  func isNamed(by type: UnsafePointer<ffi_cif>) -> Bool {
    // The first member of the body.
    UInt(bitPattern: body) == UInt(bitPattern: type)
  }

  var text: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(body.pointee.text) }
  var handle: Handle { body.pointee.handle }
  var shape: DirectShape? { body.pointee.shape }
  var plan: RegisterPlan? { body.pointee.plan }
  /// Bytes of all arguments, each at its offset.
  var frameSize: Int { body.pointee.frameSize }
  /// Bytes of copies of all arguments, each at its `copyOffset`.
  var copySize: Int { body.pointee.copySize }
  /// How many arguments a function of this signature takes.
  package var argumentCount: Int { body.pointee.argumentCount }
  /// Whether it is a call of a function that takes any number of arguments.
  package var isVariadic: Bool { body.pointee.fixedCount != nil }
  /// What it returns.
  package var result: SignatureValue { body.pointee.result }

  /// One argument, or nil where there is none.
  package func argument(_ index: Int) -> SignatureValue? {
    guard index >= 0, index < body.pointee.argumentCount else { return nil }
    return body.pointee.values[index]
  }

  /// Writes the signature as C source.
  package func describe(to writer: inout TextWriter) throws(SignatureError) {
    let nodes = try EncodingParser.parse(text)
    defer { nodes.free() }
    PrototypeWriter.write(nodes, to: &writer)
  }
}
