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
    guard let text = encoding.decode(bytes ?? nothing, length, external: external != 0) else { return 0 }
    return stringOf(text)
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
  var text = Text()
  text.append(units: units, length)
  return stringOf(text)
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
  stringOf(Text(), mutable: true)
}

private func copy(_ string: UInt, _ function: StaticString, mutable: Bool) -> UInt {
  texts(string, function, 0) { text in
    var copy = Text()
    copy.append(text)
    return stringOf(copy, mutable: mutable)
  }
}

private func part(_ text: Text, _ location: Int, _ length: Int) -> UInt {
  var part = Text()
  part.append(text, treadle_cf_range(location: location, length: length))
  return stringOf(part)
}

@_cdecl("CFStringCreateWithSubstring")
public func cfStringCreateWithSubstring(_ allocator: UInt, _ string: UInt, _ range: treadle_cf_range) -> UInt {
  texts(string, "CFStringCreateWithSubstring", 0) { text in
    if text.contains(range) { return part(text, range.location, range.length) }
    complain("CFStringCreateWithSubstring")
    return 0
  }
}

/// Adds to a mutable string; what there is no memory for is left out.
private func appending(_ string: UInt, _ function: StaticString, _ work: (inout Text) -> Void) {
  strings(string, function, ()) { string in
    guard string.pointee.isMutable else { return complain(function) }
    string.pointee.forgetUTF8()
    work(&string.pointee.text)
    string.pointee.text.forgive()
  }
}

@_cdecl("CFStringAppend")
public func cfStringAppend(_ string: UInt, _ added: UInt) {
  if string == added { return appending(string, "CFStringAppend") { $0.double() } }
  texts(added, "CFStringAppend", ()) { added in appending(string, "CFStringAppend") { $0.append(added) } }
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
  guard count >= 0, units != nil || count == 0 else { return complain("CFStringAppendCharacters") }
  appending(string, "CFStringAppendCharacters") { $0.append(units: units, count) }
}

@_cdecl("CFStringCreateByCombiningStrings")
public func cfStringCreateByCombiningStrings(_ allocator: UInt, _ array: UInt, _ separator: UInt) -> UInt {
  access(array, "CFStringCreateByCombiningStrings", 0) { (array: Pointer<ArrayBody>) in
    texts(separator, "CFStringCreateByCombiningStrings", 0) { separator in
      var out = Text()
      var index = 0
      while index < array.pointee.count {
        if index > 0 { out.append(separator) }
        texts(array.pointee[index], "CFStringCreateByCombiningStrings", ()) { out.append($0) }
        index &+= 1
      }
      return stringOf(out)
    }
  }
}

@_cdecl("CFStringCreateArrayBySeparatingStrings")
public func cfStringCreateArrayBySeparatingStrings(_ allocator: UInt, _ string: UInt, _ separator: UInt) -> UInt {
  strings(string, separator, "CFStringCreateArrayBySeparatingStrings", 0) { string, separator in
    let parts = cfArrayOfObjects()
    if parts == 0 { return 0 }
    let text = string.pointee.text, wanted = separator.pointee.text
    var start = 0, at = 0
    while at <= text.length {
      let isFound = wanted.length > 0 && text.has(wanted, at: at)
      if !isFound && at < text.length {
        at &+= 1
        continue
      }
      let one = part(text, start, at &- start)
      if one != 0 {
        cfArrayAppendValue(parts, one)
        cfRelease(one)
      }
      if !isFound { break }
      at &+= wanted.length
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
