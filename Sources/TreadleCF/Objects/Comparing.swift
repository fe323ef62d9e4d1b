// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

@_cdecl("CFEqual")
public func cfEqual(_ one: UInt, _ other: UInt) -> UInt8 {
  guard let type = kind(of: one), let otherType = kind(of: other) else {
    complain("CFEqual")
    return 0
  }
  if one == other { return 1 }
  if type != otherType { return 0 }
  switch type {
  case .string: return strings(one, other, "CFEqual", false) { $0.pointee.text.isEqual(to: $1.pointee.text) } ? 1 : 0
  case .data:
    return pair(one, other, "CFEqual", false) { (a: Pointer<DataBody>, b) in a.pointee.isEqual(to: b.pointee) } ? 1 : 0
  case .date: return dateOf(one, "CFEqual") == dateOf(other, "CFEqual") ? 1 : 0
  case .number:
    return pair(one, other, "CFEqual", false) { (a: Pointer<NumberBody>, b) in a.pointee.compare(b.pointee) == 0 }
      ? 1 : 0
  case .array:
    return pair(one, other, "CFEqual", false) { (a: Pointer<ArrayBody>, b) in ArrayBody.isEqual(a, b) } ? 1 : 0
  case .set, .dictionary:
    return pairOfTables(one, other, type, "CFEqual", false) { TableBody.isEqual($0, $1) } ? 1 : 0
  case .source:
    return pair(one, other, "CFEqual", false) { (a: Pointer<SourceBody>, b) in a.pointee.isEqual(to: b.pointee) }
      ? 1 : 0
  case .allocator, .null, .boolean, .runLoop, .timer, .observer, .socket, .fileDescriptor, .messagePort, .machPort:
    return 0
  }
}

@_cdecl("CFHash")
public func cfHash(_ object: UInt) -> UInt {
  guard let type = kind(of: object) else {
    complain("CFHash")
    return 0
  }
  switch type {
  case .string: return texts(object, "CFHash", 0) { $0.hash }
  case .data:
    return access(object, "CFHash", 0) { (data: Pointer<DataBody>) in
      hash(data.pointee.bytes, min(data.pointee.count, 80))
    }
  case .date: return spread(dateOf(object, "CFHash").bitPattern)
  case .number: return access(object, "CFHash", 0) { (number: Pointer<NumberBody>) in number.pointee.hash }
  case .array:
    return access(object, "CFHash", 0) { (array: Pointer<ArrayBody>) in UInt(bitPattern: array.pointee.count) }
  case .set, .dictionary: return tables(object, type, "CFHash", 0) { UInt(bitPattern: $0.pointee.count) }
  case .source:
    return access(object, "CFHash", 0) { (source: Pointer<SourceBody>) in
      if let hash = source.pointee.hash { hash(source.pointee.client.info) } else { spread(UInt64(object)) }
    }
  case .allocator, .null, .boolean, .runLoop, .timer, .observer, .socket, .fileDescriptor, .messagePort, .machPort:
    return spread(UInt64(object))
  }
}

typealias Pointer<Pointee> = UnsafeMutablePointer<Pointee>

/// Calls `work` with two bodies of one kind.
func pair<Content: Body, Result>(
  _ one: UInt, _ other: UInt, _ function: StaticString, _ fallback: Result,
  _ work: (Pointer<Content>, Pointer<Content>) -> Result
) -> Result {
  access(one, function, fallback) { (a: Pointer<Content>) in
    access(other, function, fallback) { (b: Pointer<Content>) in work(a, b) }
  }
}

/// FNV-1a.
func hash(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> UInt {
  var value: UInt64 = 0xCBF2_9CE4_8422_2325
  guard let bytes else { return UInt(value) }
  var index = 0
  while index < count {
    value = (value ^ UInt64(bytes[index])) &* 0x100_0000_01B3
    index &+= 1
  }
  return UInt(value)
}

func hash(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) -> UInt { hash(UnsafePointer(bytes), count) }

/// Mixes the bits of a number, so that neighbours are far from each other.
func spread(_ value: UInt64) -> UInt {
  var mixed = value
  mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
  mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
  return UInt(mixed ^ mixed >> 31)
}
