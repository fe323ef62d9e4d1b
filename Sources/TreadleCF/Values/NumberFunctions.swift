// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

@_cdecl("CFBooleanGetTypeID") public func cfBooleanGetTypeID() -> UInt { Kind.boolean.typeID }

@_cdecl("CFBooleanGetValue")
public func cfBooleanGetValue(_ boolean: UInt) -> UInt8 {
  if kind(of: boolean) != .boolean { complain("CFBooleanGetValue") }
  return boolean == Constants.true_ ? 1 : 0
}

@_cdecl("CFNumberGetTypeID") public func cfNumberGetTypeID() -> UInt { Kind.number.typeID }

@_cdecl("CFNumberCreate")
public func cfNumberCreate(_ allocator: UInt, _ type: Int, _ value: UnsafeRawPointer?) -> UInt {
  guard let value, let number = NumberBody(type, value) else {
    complain("CFNumberCreate")
    return 0
  }
  return Slot.make(.number, allocate(number))
}

@_cdecl("CFNumberGetType")
public func cfNumberGetType(_ number: UInt) -> Int {
  access(number, "CFNumberGetType", 0) { (number: Pointer<NumberBody>) in number.pointee.type }
}

@_cdecl("CFNumberGetByteSize")
public func cfNumberGetByteSize(_ number: UInt) -> Int {
  access(number, "CFNumberGetByteSize", 0) { (number: Pointer<NumberBody>) in number.pointee.size }
}

@_cdecl("CFNumberIsFloatType")
public func cfNumberIsFloatType(_ number: UInt) -> UInt8 {
  access(number, "CFNumberIsFloatType", 0) { (number: Pointer<NumberBody>) in number.pointee.isFloating ? 1 : 0 }
}

@_cdecl("CFNumberGetValue")
public func cfNumberGetValue(_ number: UInt, _ type: Int, _ value: UnsafeMutableRawPointer?) -> UInt8 {
  access(number, "CFNumberGetValue", 0) { (number: Pointer<NumberBody>) in
    guard let value, let exact = number.pointee.store(type, value) else {
      complain("CFNumberGetValue")
      return 0
    }
    return exact ? 1 : 0
  }
}

@_cdecl("CFNumberCompare")
public func cfNumberCompare(_ number: UInt, _ other: UInt, _ context: UnsafeMutableRawPointer?) -> Int {
  pair(number, other, "CFNumberCompare", 0) { (one: Pointer<NumberBody>, two) in one.pointee.compare(two.pointee) }
}
