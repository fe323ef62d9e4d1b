// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
public import CTreadleCF

@_cdecl("CFCopyTypeIDDescription")
public func cfCopyTypeIDDescription(_ type: UInt) -> UInt {
  guard let kind = Kind(rawValue: UInt32(truncatingIfNeeded: type)), type < 100 else {
    complain("CFCopyTypeIDDescription")
    return 0
  }
  return Slot.make(.string, StringBody.make(kind.name))
}

@_cdecl("CFCopyDescription")
public func cfCopyDescription(_ object: UInt) -> UInt {
  var out = ByteBuffer()
  describe(object, &out)
  return Slot.make(.string, StringBody.make(out))
}

@_cdecl("CFShow")
public func cfShow(_ object: UInt) {
  var out = ByteBuffer()
  describe(object, &out)
  out.append(0)
  if !out.failed { treadle_cf_print_line(out.bytes.map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }, out.count &- 1) }
  out.free()
}

/// For formats: a string itself, and a description of anything else.
@_cdecl("treadle_cf_text_of_object")
public func textOfObject(_ object: UInt) -> UnsafeMutablePointer<CChar>? {
  var out = ByteBuffer()
  if object == 0 {
    out.append("(null)")
  } else {
    describe(object, &out)
  }
  out.append(0)
  if out.failed { out.free() }
  return out.bytes.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: CChar.self) }
}

private func describe(_ object: UInt, _ out: inout ByteBuffer) {
  var text = out
  describe(object, kind(of: object), &text)
  out = text
}

private func describe(_ object: UInt, _ kind: Kind?, _ out: inout ByteBuffer) {
  guard let kind else {
    complain("CFCopyDescription")
    return out.append("<no object>")
  }
  var text = out
  switch kind {
  case .string: strings(object, "CFCopyDescription", ()) { text.append($0.pointee.bytes, $0.pointee.count) }
  case .number:
    access(object, "CFCopyDescription", ()) { (number: Pointer<NumberBody>) in
      if number.pointee.isFloating { text.append(double: number.pointee.floating) } else { text.append(integer: number.pointee.integer) }
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
    text.append { buffer, capacity, length in
      treadle_loop_describe(OpaquePointer(bitPattern: object), buffer, capacity, length)
    }
  case .source, .timer, .observer:
    if let slot = Slot.hold(object) {
      if let item = Item(slot) { text.append { item.describe($0, $1, $2) } }
      slot.drop()
    }
  case .allocator, .socket, .fileDescriptor:
    text.append("<")
    text.append(kind.name)
    text.append(" ")
    text.append(pointer: object)
    text.append(">")
  }
  out = text
}

private func describeTable(_ object: UInt, _ kind: Kind, _ out: inout ByteBuffer) {
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
