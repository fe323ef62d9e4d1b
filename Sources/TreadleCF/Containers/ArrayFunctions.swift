// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFArrayGetTypeID") public func cfArrayGetTypeID() -> UInt { Kind.array.typeID }

@_cdecl("CFArrayCreate")
public func cfArrayCreate(
  _ allocator: UInt, _ values: UnsafePointer<UInt>?, _ count: Int,
  _ callbacks: UnsafePointer<treadle_cf_value_callbacks>?
) -> UInt {
  guard count >= 0, values != nil || count == 0 else {
    complain("CFArrayCreate")
    return 0
  }
  return make(ValueCallbacks(callbacks), mutable: false) { array in
    var index = 0
    while index < count, let values, add(array, values[index], at: index) { index &+= 1 }
    return index == count
  }
}

@_cdecl("CFArrayCreateCopy")
public func cfArrayCreateCopy(_ allocator: UInt, _ array: UInt) -> UInt {
  copy(array, "CFArrayCreateCopy", mutable: false)
}

@_cdecl("CFArrayCreateMutable")
public func cfArrayCreateMutable(
  _ allocator: UInt, _ capacity: Int, _ callbacks: UnsafePointer<treadle_cf_value_callbacks>?
) -> UInt {
  ArrayBody.make(ValueCallbacks(callbacks), mutable: true)
}

@_cdecl("CFArrayCreateMutableCopy")
public func cfArrayCreateMutableCopy(_ allocator: UInt, _ capacity: Int, _ array: UInt) -> UInt {
  copy(array, "CFArrayCreateMutableCopy", mutable: true)
}

/// An array for CF objects that may be changed.
func cfArrayOfObjects() -> UInt {
  var callbacks = treadle_cf_value_callbacks()
  callbacks.retain = { _, value in cfRetain(value) }
  callbacks.release = { _, value in cfRelease(value) }
  callbacks.describe = { cfCopyDescription($0) }
  callbacks.equal = { cfEqual($0, $1) }
  return ArrayBody.make(ValueCallbacks(callbacks), mutable: true)
}

/// A new array that `fill` fills in; 0, with everything released, if it could not.
private func make(_ callbacks: ValueCallbacks, mutable: Bool, _ fill: (Pointer<ArrayBody>) -> Bool) -> UInt {
  let array = ArrayBody.make(callbacks, mutable: mutable)
  if array == 0 || access(array, "CFArrayCreate", false, fill) { return array }
  cfRelease(array)
  return 0
}

private func add(_ array: Pointer<ArrayBody>, _ value: UInt, at index: Int) -> Bool {
  guard let kept = array.pointee.callbacks.retain(value) else { return false }
  if array.pointee.insert(kept, at: index) { return true }
  array.pointee.callbacks.release(kept)
  return false
}

private func copy(_ array: UInt, _ function: StaticString, mutable: Bool) -> UInt {
  access(array, function, 0) { (array: Pointer<ArrayBody>) in
    make(array.pointee.callbacks, mutable: mutable) { copy in
      var index = 0
      while index < array.pointee.count, add(copy, array.pointee[index], at: index) { index &+= 1 }
      return index == array.pointee.count
    }
  }
}

@_cdecl("CFArrayGetCount")
public func cfArrayGetCount(_ array: UInt) -> Int {
  access(array, "CFArrayGetCount", 0) { (array: Pointer<ArrayBody>) in array.pointee.count }
}

@_cdecl("CFArrayGetValueAtIndex")
public func cfArrayGetValueAtIndex(_ array: UInt, _ index: Int) -> UInt {
  access(array, "CFArrayGetValueAtIndex", 0) { (array: Pointer<ArrayBody>) in
    if index < 0 || index >= array.pointee.count { complain("CFArrayGetValueAtIndex") }
    return array.pointee[index]
  }
}

@_cdecl("CFArrayGetValues")
public func cfArrayGetValues(_ array: UInt, _ range: treadle_cf_range, _ values: UnsafeMutablePointer<UInt>?) {
  access(array, "CFArrayGetValues", ()) { (array: Pointer<ArrayBody>) in
    guard let values, array.pointee.contains(range) else { return complain("CFArrayGetValues") }
    if let from = array.pointee.values { treadle_cf_copy(values, from + range.location, range.length &* 8) }
  }
}

@_cdecl("CFArrayGetFirstIndexOfValue")
public func cfArrayGetFirstIndexOfValue(_ array: UInt, _ range: treadle_cf_range, _ value: UInt) -> Int {
  access(array, "CFArrayGetFirstIndexOfValue", -1) { (array: Pointer<ArrayBody>) in
    array.pointee.find(value, range) ?? -1
  }
}

@_cdecl("CFArrayGetLastIndexOfValue")
public func cfArrayGetLastIndexOfValue(_ array: UInt, _ range: treadle_cf_range, _ value: UInt) -> Int {
  access(array, "CFArrayGetLastIndexOfValue", -1) { (array: Pointer<ArrayBody>) in
    guard array.pointee.contains(range) else { return -1 }
    var index = range.location &+ range.length
    while index > range.location {
      index &-= 1
      if array.pointee.callbacks.isEqual(array.pointee[index], value) { return index }
    }
    return -1
  }
}

@_cdecl("CFArrayContainsValue")
public func cfArrayContainsValue(_ array: UInt, _ range: treadle_cf_range, _ value: UInt) -> UInt8 {
  access(array, "CFArrayContainsValue", 0) { (array: Pointer<ArrayBody>) in
    array.pointee.find(value, range) == nil ? 0 : 1
  }
}

@_cdecl("CFArrayGetCountOfValue")
public func cfArrayGetCountOfValue(_ array: UInt, _ range: treadle_cf_range, _ value: UInt) -> Int {
  access(array, "CFArrayGetCountOfValue", 0) { (array: Pointer<ArrayBody>) in
    guard array.pointee.contains(range) else { return 0 }
    var count = 0
    var index = range.location
    while index < range.location &+ range.length {
      if array.pointee.callbacks.isEqual(array.pointee[index], value) { count &+= 1 }
      index &+= 1
    }
    return count
  }
}

@_cdecl("CFArrayApplyFunction")
public func cfArrayApplyFunction(
  _ array: UInt, _ range: treadle_cf_range, _ function: treadle_cf_apply_fn?, _ context: UInt
) {
  access(array, "CFArrayApplyFunction", ()) { (array: Pointer<ArrayBody>) in
    guard let function, array.pointee.contains(range) else { return complain("CFArrayApplyFunction") }
    var index = range.location
    while index < range.location &+ range.length && index < array.pointee.count {
      function(array.pointee[index], context)
      index &+= 1
    }
  }
}

/// A mutable array, for a change; `work` says whether it was in order.
private func change(_ array: UInt, _ function: StaticString, _ work: (Pointer<ArrayBody>) -> Bool) {
  access(array, function, ()) { (array: Pointer<ArrayBody>) in
    if !array.pointee.isMutable || !work(array) { complain(function) }
  }
}

@_cdecl("CFArrayAppendValue")
public func cfArrayAppendValue(_ array: UInt, _ value: UInt) {
  change(array, "CFArrayAppendValue") { add($0, value, at: $0.pointee.count) }
}

@_cdecl("CFArrayInsertValueAtIndex")
public func cfArrayInsertValueAtIndex(_ array: UInt, _ index: Int, _ value: UInt) {
  change(array, "CFArrayInsertValueAtIndex") { index >= 0 && index <= $0.pointee.count && add($0, value, at: index) }
}

@_cdecl("CFArraySetValueAtIndex")
public func cfArraySetValueAtIndex(_ array: UInt, _ index: Int, _ value: UInt) {
  change(array, "CFArraySetValueAtIndex") { array in
    if index == array.pointee.count { return add(array, value, at: index) }
    guard index >= 0, index < array.pointee.count, let kept = array.pointee.callbacks.retain(value) else {
      return false
    }
    let old = array.pointee[index]
    array.pointee.values?[index] = kept
    array.pointee.callbacks.release(old)
    return true
  }
}

@_cdecl("CFArrayRemoveValueAtIndex")
public func cfArrayRemoveValueAtIndex(_ array: UInt, _ index: Int) {
  change(array, "CFArrayRemoveValueAtIndex") { array in
    guard let value = array.pointee.remove(at: index) else { return false }
    array.pointee.callbacks.release(value)
    return true
  }
}

@_cdecl("CFArrayRemoveAllValues")
public func cfArrayRemoveAllValues(_ array: UInt) {
  change(array, "CFArrayRemoveAllValues") { array in
    array.pointee.removeAll()
    return true
  }
}

@_cdecl("CFArrayAppendArray")
public func cfArrayAppendArray(_ array: UInt, _ other: UInt, _ range: treadle_cf_range) {
  change(array, "CFArrayAppendArray") { array in
    access(other, "CFArrayAppendArray", false) { (other: Pointer<ArrayBody>) in
      guard other.pointee.contains(range) else { return false }
      var index = range.location
      while index < range.location &+ range.length, add(array, other.pointee[index], at: array.pointee.count) {
        index &+= 1
      }
      return true
    }
  }
}

@_cdecl("CFArraySortValues")
public func cfArraySortValues(
  _ array: UInt, _ range: treadle_cf_range, _ comparator: treadle_cf_comparator?, _ context: UInt
) {
  change(array, "CFArraySortValues") { array in
    guard let comparator, array.pointee.contains(range) else { return false }
    if range.length < 2 { return true }
    guard let values = array.pointee.values, let memory = treadle_cf_allocate(range.length &* 16) else { return false }
    // In memory of its own, since the comparator is the client's and may do anything.
    var from = memory.assumingMemoryBound(to: UInt.self)
    var to = from + range.length
    treadle_cf_copy(from, values + range.location, range.length &* 8)
    var width = 1
    while width < range.length {
      var start = 0
      while start < range.length {
        merge(from, to, start, min(start &+ width, range.length), min(start &+ width &* 2, range.length)) {
          comparator($0, $1, context) <= 0
        }
        start &+= width &* 2
      }
      swap(&from, &to)
      width &*= 2
    }
    if array.pointee.contains(range), let values = array.pointee.values {
      treadle_cf_copy(values + range.location, from, range.length &* 8)
    }
    treadle_cf_free(memory)
    return true
  }
}

/// Merges two sorted neighbours.
private func merge(
  _ from: UnsafeMutablePointer<UInt>, _ to: UnsafeMutablePointer<UInt>, _ start: Int, _ middle: Int, _ end: Int,
  _ isInOrder: (UInt, UInt) -> Bool
) {
  var left = start, right = middle, out = start
  while out < end {
    let takesLeft = left < middle && (right >= end || isInOrder(from[left], from[right]))
    to[out] = from[takesLeft ? left : right]
    if takesLeft { left &+= 1 } else { right &+= 1 }
    out &+= 1
  }
}
