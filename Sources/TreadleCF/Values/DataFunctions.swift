// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFDataGetTypeID") public func cfDataGetTypeID() -> UInt { Kind.data.typeID }

@_cdecl("CFDataCreate")
public func cfDataCreate(_ allocator: UInt, _ bytes: UnsafePointer<UInt8>?, _ length: Int) -> UInt {
  guard length >= 0, bytes != nil || length == 0 else {
    complain("CFDataCreate")
    return 0
  }
  return DataBody.make(bytes, length, mutable: false)
}

@_cdecl("CFDataCreateWithBytesNoCopy")
public func cfDataCreateWithBytesNoCopy(
  _ allocator: UInt, _ bytes: UnsafePointer<UInt8>?, _ length: Int, _ deallocator: UInt
) -> UInt {
  guard length >= 0, bytes != nil || length == 0 else {
    complain("CFDataCreateWithBytesNoCopy")
    return 0
  }
  // Without memory for the object the bytes stay the caller's.
  let body = DataBody(
    bytes: UnsafeMutablePointer(mutating: bytes), count: length, capacity: length, isMutable: false, isBorrowed: true)
  let data = Slot.make(.data, allocate(body))
  if data != 0 && deallocator != Constants.nullAllocator {
    access(data, "CFDataCreateWithBytesNoCopy", ()) { (data: Pointer<DataBody>) in data.pointee.isBorrowed = false }
  }
  return data
}

@_cdecl("CFDataCreateCopy")
public func cfDataCreateCopy(_ allocator: UInt, _ data: UInt) -> UInt { copy(data, "CFDataCreateCopy", mutable: false) }

@_cdecl("CFDataCreateMutable")
public func cfDataCreateMutable(_ allocator: UInt, _ capacity: Int) -> UInt { DataBody.make(nil, 0, mutable: true) }

@_cdecl("CFDataCreateMutableCopy")
public func cfDataCreateMutableCopy(_ allocator: UInt, _ capacity: Int, _ data: UInt) -> UInt {
  copy(data, "CFDataCreateMutableCopy", mutable: true)
}

private func copy(_ data: UInt, _ function: StaticString, mutable: Bool) -> UInt {
  access(data, function, 0) { (data: Pointer<DataBody>) in
    DataBody.make(UnsafePointer(data.pointee.bytes), data.pointee.count, mutable: mutable)
  }
}

@_cdecl("CFDataGetLength")
public func cfDataGetLength(_ data: UInt) -> Int {
  access(data, "CFDataGetLength", 0) { (data: Pointer<DataBody>) in data.pointee.count }
}

@_cdecl("CFDataGetBytePtr")
public func cfDataGetBytePtr(_ data: UInt) -> UnsafePointer<UInt8>? {
  access(data, "CFDataGetBytePtr", nil) { (data: Pointer<DataBody>) in UnsafePointer(data.pointee.bytes) }
}

@_cdecl("CFDataGetMutableBytePtr")
public func cfDataGetMutableBytePtr(_ data: UInt) -> UnsafeMutablePointer<UInt8>? {
  access(data, "CFDataGetMutableBytePtr", nil) { (data: Pointer<DataBody>) in
    data.pointee.isMutable ? data.pointee.bytes : nil
  }
}

@_cdecl("CFDataGetBytes")
public func cfDataGetBytes(_ data: UInt, _ range: treadle_cf_range, _ buffer: UnsafeMutablePointer<UInt8>?) {
  access(data, "CFDataGetBytes", ()) { (data: Pointer<DataBody>) in
    guard data.pointee.contains(range), let buffer else { return complain("CFDataGetBytes") }
    if let bytes = data.pointee.bytes { treadle_cf_copy(buffer, bytes + range.location, range.length) }
  }
}

@_cdecl("CFDataSetLength")
public func cfDataSetLength(_ data: UInt, _ length: Int) {
  let count = cfDataGetLength(data)
  if length > count { return change(data, count, 0, nil, length &- count, "CFDataSetLength") }
  change(data, max(length, 0), count &- max(length, 0), nil, 0, "CFDataSetLength")
}

@_cdecl("CFDataIncreaseLength")
public func cfDataIncreaseLength(_ data: UInt, _ extra: Int) {
  change(data, cfDataGetLength(data), 0, nil, extra, "CFDataIncreaseLength")
}

@_cdecl("CFDataAppendBytes")
public func cfDataAppendBytes(_ data: UInt, _ bytes: UnsafePointer<UInt8>?, _ length: Int) {
  change(data, cfDataGetLength(data), 0, bytes, bytes == nil ? 0 : length, "CFDataAppendBytes")
}

@_cdecl("CFDataReplaceBytes")
public func cfDataReplaceBytes(
  _ data: UInt, _ range: treadle_cf_range, _ bytes: UnsafePointer<UInt8>?, _ length: Int
) {
  change(data, range.location, range.length, bytes, bytes == nil ? 0 : length, "CFDataReplaceBytes")
}

@_cdecl("CFDataDeleteBytes")
public func cfDataDeleteBytes(_ data: UInt, _ range: treadle_cf_range) {
  change(data, range.location, range.length, nil, 0, "CFDataDeleteBytes")
}

private func change(
  _ data: UInt, _ location: Int, _ length: Int, _ bytes: UnsafePointer<UInt8>?, _ size: Int, _ function: StaticString
) {
  access(data, function, ()) { (data: Pointer<DataBody>) in
    let range = treadle_cf_range(location: location, length: length)
    // The bytes may be the object's own, which moving them would change.
    var copy = ByteBuffer()
    if bytes != nil { copy.append(bytes, size) }
    if copy.failed || !data.pointee.replace(range, bytes == nil ? nil : UnsafePointer(copy.bytes), size) {
      complain(function)
    }
    copy.free()
  }
}
