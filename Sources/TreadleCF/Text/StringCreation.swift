// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFStringGetTypeID") public func cfStringGetTypeID() -> UInt { Kind.string.typeID }

@_cdecl("CFStringCreateWithBytes")
public func cfStringCreateWithBytes(
  _ allocator: UInt, _ bytes: UnsafePointer<UInt8>?, _ length: Int, _ encoding: UInt32, _ external: UInt8
) -> UInt {
  var nothing: UInt8 = 0
  return withUnsafePointer(to: &nothing) { nothing in
    guard let encoding = Encoding(encoding), length >= 0, bytes != nil || length == 0 else {
      complain("CFStringCreateWithBytes")
      return 0
    }
    guard let buffer = encoding.decode(bytes ?? nothing, length, marked: external != 0) else { return 0 }
    return Slot.make(.string, StringBody.make(buffer))
  }
}

@_cdecl("CFStringCreateWithCString")
public func cfStringCreateWithCString(_ allocator: UInt, _ text: UnsafePointer<UInt8>?, _ encoding: UInt32) -> UInt {
  guard let text, let known = Encoding(encoding), known.containsASCII else {
    complain("CFStringCreateWithCString")
    return 0
  }
  return cfStringCreateWithBytes(allocator, text, lengthOf(text), encoding, 0)
}

@_cdecl("CFStringCreateWithCStringNoCopy")
public func cfStringCreateWithCStringNoCopy(
  _ allocator: UInt, _ text: UnsafePointer<UInt8>?, _ encoding: UInt32, _ deallocator: UInt
) -> UInt {
  let string = cfStringCreateWithCString(allocator, text, encoding)
  if string != 0 { deallocate(text, deallocator) }
  return string
}

@_cdecl("CFStringCreateWithBytesNoCopy")
public func cfStringCreateWithBytesNoCopy(
  _ allocator: UInt, _ bytes: UnsafePointer<UInt8>?, _ length: Int, _ encoding: UInt32, _ external: UInt8,
  _ deallocator: UInt
) -> UInt {
  let string = cfStringCreateWithBytes(allocator, bytes, length, encoding, external)
  if string != 0 { deallocate(bytes, deallocator) }
  return string
}

@_cdecl("CFStringCreateWithCharacters")
public func cfStringCreateWithCharacters(_ allocator: UInt, _ units: UnsafePointer<UInt16>?, _ length: Int) -> UInt {
  guard length >= 0, length < Int.max / 2, units != nil || length == 0 else {
    complain("CFStringCreateWithCharacters")
    return 0
  }
  let bytes = UnsafeRawPointer(units)?.assumingMemoryBound(to: UInt8.self)
  return cfStringCreateWithBytes(allocator, bytes, length &* 2, 0x1400_0100, 0)
}

@_cdecl("CFStringCreateCopy")
public func cfStringCreateCopy(_ allocator: UInt, _ string: UInt) -> UInt {
  let isMutable = strings(string, "CFStringCreateCopy", nil as Bool?) { $0.pointee.isMutable }
  guard let isMutable else { return 0 }
  return isMutable ? copy(string, "CFStringCreateCopy", mutable: false) : cfRetain(string)
}

@_cdecl("CFStringCreateMutableCopy")
public func cfStringCreateMutableCopy(_ allocator: UInt, _ maximum: Int, _ string: UInt) -> UInt {
  copy(string, "CFStringCreateMutableCopy", mutable: true)
}

@_cdecl("CFStringCreateMutable")
public func cfStringCreateMutable(_ allocator: UInt, _ maximum: Int) -> UInt {
  Slot.make(.string, StringBody.make(ByteBuffer(), mutable: true))
}

private func copy(_ string: UInt, _ function: StaticString, mutable: Bool) -> UInt {
  strings(string, function, 0) { string in
    var buffer = ByteBuffer()
    buffer.append(string.pointee.bytes, string.pointee.count)
    return Slot.make(.string, StringBody.make(buffer, mutable: mutable))
  }
}

@_cdecl("CFStringCreateWithSubstring")
public func cfStringCreateWithSubstring(_ allocator: UInt, _ string: UInt, _ range: treadle_cf_range) -> UInt {
  strings(string, "CFStringCreateWithSubstring", 0) { string in
    guard string.pointee.contains(range) else {
      complain("CFStringCreateWithSubstring")
      return 0
    }
    var buffer = ByteBuffer()
    forEachScalar(string.pointee, range) { scalar in
      buffer.append(scalar: scalar)
      return true
    }
    return Slot.make(.string, StringBody.make(buffer))
  }
}

@_cdecl("CFStringAppend")
public func cfStringAppend(_ string: UInt, _ added: UInt) {
  strings(string, added, "CFStringAppend", ()) { string, added in
    if string == added {
      var copy = ByteBuffer()
      copy.append(added.pointee.bytes, added.pointee.count)
      string.pointee.append(copy.bytes, copy.count)
      copy.free()
    } else {
      string.pointee.append(added.pointee.bytes, added.pointee.count)
    }
  }
}

@_cdecl("CFStringAppendCString")
public func cfStringAppendCString(_ string: UInt, _ text: UnsafePointer<UInt8>?, _ encoding: UInt32) {
  let added = cfStringCreateWithCString(0, text, encoding)
  if added == 0 { return }
  cfStringAppend(string, added)
  cfRelease(added)
}

@_cdecl("CFStringAppendCharacters")
public func cfStringAppendCharacters(_ string: UInt, _ units: UnsafePointer<UInt16>?, _ count: Int) {
  let added = cfStringCreateWithCharacters(0, units, count)
  if added == 0 { return }
  cfStringAppend(string, added)
  cfRelease(added)
}

@_cdecl("CFStringCreateByCombiningStrings")
public func cfStringCreateByCombiningStrings(_ allocator: UInt, _ array: UInt, _ separator: UInt) -> UInt {
  access(array, "CFStringCreateByCombiningStrings", 0) { (array: Pointer<ArrayBody>) in
    strings(separator, "CFStringCreateByCombiningStrings", 0) { separator in
      var buffer = ByteBuffer()
      var index = 0
      while index < array.pointee.count {
        if index > 0 { buffer.append(separator.pointee.bytes, separator.pointee.count) }
        strings(array.pointee[index], "CFStringCreateByCombiningStrings", ()) {
          buffer.append($0.pointee.bytes, $0.pointee.count)
        }
        index &+= 1
      }
      return Slot.make(.string, StringBody.make(buffer))
    }
  }
}

@_cdecl("CFStringCreateArrayBySeparatingStrings")
public func cfStringCreateArrayBySeparatingStrings(_ allocator: UInt, _ string: UInt, _ separator: UInt) -> UInt {
  strings(string, separator, "CFStringCreateArrayBySeparatingStrings", 0) { string, separator in
    let parts = cfArrayOfObjects()
    guard parts != 0, let bytes = string.pointee.bytes else { return parts }
    let count = string.pointee.count, width = separator.pointee.count
    var start = 0, at = 0
    while at <= count {
      let found = width > 0 && width <= count &- at && treadle_cf_compare(bytes + at, separator.pointee.bytes, width) == 0
      if !found && at < count {
        at &+= 1
        continue
      }
      var buffer = ByteBuffer()
      buffer.append(bytes + start, at &- start)
      let part = Slot.make(.string, StringBody.make(buffer))
      if part != 0 {
        cfArrayAppendValue(parts, part)
        cfRelease(part)
      }
      if !found { break }
      at &+= width
      start = at
    }
    return parts
  }
}

/// What CFSTR calls: equal text is one object for ever.
@_cdecl("__CFStringMakeConstantString")
public func cfStringMakeConstantString(_ text: UnsafePointer<UInt8>?) -> UInt {
  guard let text else {
    complain("__CFStringMakeConstantString")
    return 0
  }
  return constantString(text, lengthOf(text))
}

func constantString(_ text: UnsafePointer<UInt8>, _ count: Int) -> UInt {
  Constants.prepare()
  treadle_cf_lock(Int32(TREADLE_CF_LOCK_SHARED))
  defer { treadle_cf_unlock(Int32(TREADLE_CF_LOCK_SHARED)) }
  return ConstantStrings.find(text, count)
}

func lengthOf(_ text: UnsafePointer<UInt8>) -> Int {
  Int(treadle_cf_length(UnsafeRawPointer(text).assumingMemoryBound(to: CChar.self)))
}
