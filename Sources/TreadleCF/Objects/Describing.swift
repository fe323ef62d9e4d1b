// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

@_cdecl("CFCopyTypeIDDescription")
public func cfCopyTypeIDDescription(_ type: UInt) -> UInt {
  guard let kind = Kind(rawValue: UInt32(truncatingIfNeeded: type)), type < 100 else {
    complain("CFCopyTypeIDDescription")
    return 0
  }
  var out = Text()
  out.append(kind.name)
  return stringOf(out)
}

@_cdecl("CFCopyDescription")
public func cfCopyDescription(_ object: UInt) -> UInt {
  var out = Text()
  describe(object, &out)
  return stringOf(out)
}

@_cdecl("CFShow")
public func cfShow(_ object: UInt) {
  var text = Text()
  describe(object, &text)
  var line = text.utf8()
  if !line.failed {
    treadle_cf_print_line(line.bytes.map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }, line.count)
  }
  line.free()
  text.free()
}

private func describe(_ object: UInt, _ out: inout Text) {
  var text = out
  describe(object, kind(of: object), &text)
  out = text
}

private func describe(_ object: UInt, _ kind: Kind?, _ out: inout Text) {
  guard let kind else {
    complain("CFCopyDescription")
    return out.append("<no object>")
  }
  var text = out
  switch kind {
  case .string: texts(object, "CFCopyDescription", ()) { text.append($0) }
  case .number:
    access(object, "CFCopyDescription", ()) { (number: Pointer<NumberBody>) in
      if number.pointee.isFloating {
        text.append(double: number.pointee.floating)
      } else {
        text.append(integer: number.pointee.integer)
      }
    }
  case .date: text.append(double: dateOf(object, "CFCopyDescription"))
  case .boolean:
    if object == Constants.true_ { text.append("true") } else { text.append("false") }
  case .null: text.append("null")
  case .data:
    access(object, "CFCopyDescription", ()) { (data: Pointer<DataBody>) in
      text.append("<CFData of ")
      text.append(integer: Int64(data.pointee.count))
      text.append(" bytes>")
    }
  case .array:
    access(object, "CFCopyDescription", ()) { (array: Pointer<ArrayBody>) in
      text.append("(")
      var index = 0
      while index < array.pointee.count {
        if index > 0 { text.append(", ") }
        array.pointee.callbacks.describe(array.pointee[index], &text)
        index &+= 1
      }
      text.append(")")
    }
  case .set, .dictionary: describeTable(object, kind, &text)
  case .runLoop:
    text.append { treadle_loop_describe(OpaquePointer(bitPattern: object), $0, $1, $2) }
  case .source, .timer, .observer:
    if let slot = Slot.hold(object) {
      if let item = Item(slot) { text.append { item.describe($0, $1, $2) } }
      slot.drop()
    }
  case .allocator, .socket, .fileDescriptor, .messagePort, .machPort:
    text.append("<")
    text.append(kind.name)
    text.append(" ")
    text.append(pointer: object)
    text.append(">")
  }
  out = text
}

private func describeTable(_ object: UInt, _ kind: Kind, _ out: inout Text) {
  var text = out
  tables(object, kind, "CFCopyDescription", ()) { table in
    text.append("{")
    var isFirst = true
    table.pointee.forEach { place in
      if !isFirst { text.append(", ") }
      isFirst = false
      table.pointee.keys.describe(place.key, &text)
      if kind == .dictionary {
        text.append(": ")
        table.pointee.values.describe(place.value, &text)
      }
    }
    text.append("}")
  }
  out = text
}

extension ByteBuffer {
  /// Adds what one of Treadle's functions writes into a buffer.
  mutating func append(_ write: (UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>) -> Int32) {
    var length = 0
    guard write(nil, 0, &length) >= 0, reserve(length &+ 1), let bytes else { return }
    let place = UnsafeMutableRawPointer(bytes + count).assumingMemoryBound(to: CChar.self)
    var written = 0
    // Another thread may have changed what is described in the meantime.
    if write(place, length &+ 1, &written) >= 0 { count &+= min(length, written) }
  }
}

extension Text {
  /// Adds what one of Treadle's functions writes into a buffer, as UTF-8.
  mutating func append(_ write: (UnsafeMutablePointer<CChar>?, Int, UnsafeMutablePointer<Int>) -> Int32) {
    var buffer = ByteBuffer()
    buffer.append(write)
    if let bytes = buffer.bytes { _ = append(utf8: bytes, buffer.count) }
    buffer.free()
  }

  mutating func append(pointer: UInt) { append(40) { treadle_cf_text_of_pointer($0, $1, pointer) } }
  mutating func append(integer: Int64) { append(40) { treadle_cf_text_of_integer($0, $1, integer) } }
  mutating func append(double: Double) { append(40) { treadle_cf_text_of_double($0, $1, double) } }

  /// Adds ASCII that a function writes into a buffer; it returns the length.
  private mutating func append(_ room: Int, _ write: (UnsafeMutablePointer<CChar>, Int) -> Int32) {
    var buffer = ByteBuffer()
    if buffer.reserve(room), let bytes = buffer.bytes {
      append(ascii: bytes, Int(write(UnsafeMutableRawPointer(bytes).assumingMemoryBound(to: CChar.self), room)))
    }
    buffer.free()
  }
}
