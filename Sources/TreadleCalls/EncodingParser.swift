// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Reads a function signature in Objective-C type encoding: the result, then the arguments, each with
/// its qualifiers before it and a frame offset, which is skipped, behind it. It knows C types and their
/// layout, and nothing of libffi. The stack it uses is bounded by `EncodingLimits.nesting`.
struct EncodingParser {
  /// Whether a type's size matters, or it is only what a pointer points to and need not be complete.
  private enum Place {
    case result, argument, member, pointee
  }

  private var reader: EncodingReader
  private var nodes = TypeNodes()

  /// The types of the signature: the result's node is the first. The caller frees them.
  static func parse(_ text: UnsafeBufferPointer<UInt8>) throws(SignatureError) -> TypeNodes {
    var parser = EncodingParser(reader: EncodingReader(text))
    do throws(SignatureError) {
      guard text.count <= EncodingLimits.length else {
        throw parser.refused("has more than 1,024 characters", at: EncodingLimits.length)
      }
      try parser.function()
    } catch {
      parser.nodes.free()
      throw error
    }
    return parser.nodes
  }

  private mutating func function() throws(SignatureError) {
    guard reader.next != nil else { throw refused("is empty: the result's type is missing", at: 0) }
    _ = try type(.result, depth: 0)
    var count = 0
    var frame = TypeLayout()
    while reader.next != nil {
      let start = reader.position
      if reader.next == UInt8(ascii: ".") {
        try ellipsis(at: start)
        continue
      }
      guard count < EncodingLimits.arguments else { throw refused("has more than 32 arguments", at: start) }
      count &+= 1
      _ = frame.append(try type(.argument, depth: 0))
      guard frame.size <= EncodingLimits.valueSize else { throw tooLarge(at: start) }
    }
  }

  /// The three dots before the variadic arguments, once, and not before all arguments.
  private mutating func ellipsis(at start: Int) throws(SignatureError) {
    guard reader.skip("."), reader.skip("."), reader.skip(".") else {
      throw refused("has dots that are not three: ... is what variadic arguments follow", at: start)
    }
    guard nodes.ellipsis == nil else { throw refused("has ... twice", at: start) }
    guard nodes.count > nodes[0].end else { throw refused("has ... with no argument before it", at: start) }
    nodes.beginVariadic()
  }

  /// Reads one type with what is around it. A pointee adds no node and has no size.
  private mutating func type(_ place: Place, depth: Int) throws(SignatureError) -> TypeLayout {
    let (index, qualifiers) = (nodes.count, try qualifiers(place))
    let start = reader.position
    guard let character = reader.next else { throw refused("ends where a type is expected", at: start) }
    reader.skip()
    let layout: TypeLayout
    switch character {
    case UInt8(ascii: "^"): layout = try pointer(place, depth: depth, at: start)
    case UInt8(ascii: "{"): layout = try structure(place, depth: depth, at: start)
    case UInt8(ascii: "["): layout = try array(place, depth: depth, at: start)
    default: layout = try scalar(character, place, depth: depth, at: start)
    }
    _ = reader.number(ceiling: 0)
    if place == .result || place == .argument { nodes.qualify(index, qualifiers) }
    return place == .pointee ? TypeLayout() : layout
  }

  /// const, in, inout, out, bycopy, byref, oneway: they do not change how a function is called.
  private mutating func qualifiers(_ place: Place) throws(SignatureError) -> ArgumentQualifiers {
    var found = ArgumentQualifiers()
    while let character = reader.next {
      switch character {
      case UInt8(ascii: "r"), UInt8(ascii: "n"), UInt8(ascii: "N"), UInt8(ascii: "o"), UInt8(ascii: "O"),
        UInt8(ascii: "R"):
        break
      case UInt8(ascii: "V"):
        guard place == .result else {
          throw refused("has V (oneway) elsewhere than before the result", at: reader.position)
        }
      default: return found
      }
      found.insert(character)
      reader.skip()
    }
    return found
  }

  private mutating func scalar(
    _ character: UInt8, _ place: Place, depth: Int, at start: Int
  ) throws(SignatureError) -> TypeLayout {
    guard let code = TypeCode(character: character) else {
      guard place == .pointee else { throw refused(ForeignType.refusal(of: character), at: start) }
      try foreign(character, depth: depth, at: start)
      return TypeLayout()
    }
    if code == .void, place == .argument || place == .member {
      throw refused("has v (void) by value elsewhere than as the result", at: start)
    }
    let layout = code.layout
    if place != .pointee { try add(code, layout) }
    return layout
  }

  /// A type that C or Objective-C has and a signature has not: behind a pointer it is skipped.
  private mutating func foreign(_ character: UInt8, depth: Int, at start: Int) throws(SignatureError) {
    switch ForeignType(character) {
    case .word: break
    case .prefix: _ = try type(.pointee, depth: try deeper(depth, at: start))
    case .bitField: _ = reader.number(ceiling: 0)
    case .object: if !reader.skip("?") { try quoted() }
    case .union: _ = try members(until: ")", .pointee, depth: try deeper(depth, at: start), at: start)
    case nil: throw refused(ForeignType.refusal(of: character), at: start)
    }
  }

  private mutating func pointer(_ place: Place, depth: Int, at start: Int) throws(SignatureError) -> TypeLayout {
    let inner = try deeper(depth, at: start)
    var code = TypeCode.pointer
    if reader.skip("?") {
      code = .function
    } else {
      _ = try type(.pointee, depth: inner)
    }
    if place != .pointee { try add(code, code.layout) }
    return code.layout
  }

  private mutating func structure(_ place: Place, depth: Int, at start: Int) throws(SignatureError) -> TypeLayout {
    let inner = try deeper(depth, at: start)
    guard place != .pointee else { return try members(until: "}", .pointee, depth: inner, at: start) }
    let index = nodes.count
    try add(.structure, TypeLayout())
    let layout = try members(until: "}", .member, depth: inner, at: start)
    nodes.close(index, layout)
    return layout
  }

  private mutating func array(_ place: Place, depth: Int, at start: Int) throws(SignatureError) -> TypeLayout {
    guard place == .member || place == .pointee else {
      throw refused("has an array as argument or result: use ^, or a struct", at: start)
    }
    let inner = try deeper(depth, at: start)
    let count = reader.number(ceiling: EncodingLimits.valueSize &+ 1)
    let index = nodes.count
    if place == .member {
      guard let count, count > 0 else { throw refused("has an array without a length above 0", at: start) }
      try add(.array, TypeLayout(), count: count)
    }
    let element = try type(place, depth: inner)
    guard reader.skip("]") else { throw refused("lacks the ] of an array", at: reader.position) }
    guard place == .member, let count else { return TypeLayout() }
    guard let layout = element.times(count) else { throw tooLarge(at: start) }
    nodes.close(index, layout)
    return layout
  }

  /// What stands between the brackets of a struct or a union, the closing one included: a name, and
  /// after = the members, each perhaps with its name in quotes.
  private mutating func members(
    until bracket: Unicode.Scalar, _ place: Place, depth: Int, at start: Int
  ) throws(SignatureError) -> TypeLayout {
    while let character = reader.next, character != UInt8(ascii: "="), character != UInt8(ascii: bracket) {
      reader.skip()
    }
    var layout = TypeLayout()
    guard reader.skip("=") else {
      guard reader.skip(bracket) else { throw refused("lacks a closing bracket", at: reader.position) }
      guard place == .pointee else {
        throw refused("has an incomplete struct by value", at: start)
      }
      return layout
    }
    while !reader.skip(bracket) {
      guard reader.next != nil else { throw refused("lacks a closing bracket", at: reader.position) }
      try quoted()
      _ = layout.append(try type(place, depth: depth))
      guard layout.size <= EncodingLimits.valueSize else { throw tooLarge(at: start) }
    }
    guard place == .pointee || layout.size > 0 else {
      throw refused("has an empty struct by value", at: start)
    }
    layout.close()
    return layout
  }

  /// Steps over a name in quotes, if there is one.
  private mutating func quoted() throws(SignatureError) {
    let start = reader.position
    guard reader.skip("\"") else { return }
    while !reader.skip("\"") {
      guard reader.next != nil else { throw refused("lacks a closing quote", at: start) }
      reader.skip()
    }
  }

  private mutating func add(_ code: TypeCode, _ layout: TypeLayout, count: Int = 1) throws(SignatureError) {
    guard nodes.append(code, layout, count: count) else { throw .noMemory }
  }

  private func deeper(_ depth: Int, at start: Int) throws(SignatureError) -> Int {
    guard depth < EncodingLimits.nesting else { throw refused("has more than 32 levels of nesting", at: start) }
    return depth &+ 1
  }

  private func tooLarge(at start: Int) -> SignatureError {
    refused("has more than 4,096 bytes by value", at: start)
  }

  private func refused(_ reason: StaticString, at position: Int) -> SignatureError {
    .refused(position: position, reason: reason)
  }
}
