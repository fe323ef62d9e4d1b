// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFDictionaryGetTypeID") public func cfDictionaryGetTypeID() -> UInt { Kind.dictionary.typeID }

@_cdecl("CFDictionaryCreate")
public func cfDictionaryCreate(
  _ allocator: UInt, _ keys: UnsafePointer<UInt>?, _ values: UnsafePointer<UInt>?, _ count: Int,
  _ keyCallbacks: UnsafePointer<treadle_cf_key_callbacks>?, _ valueCallbacks: UnsafePointer<treadle_cf_value_callbacks>?
) -> UInt {
  guard count >= 0, keys != nil && values != nil || count == 0 else {
    complain("CFDictionaryCreate")
    return 0
  }
  let dictionary = make(keyCallbacks, valueCallbacks, mutable: false)
  if dictionary == 0 { return 0 }
  tables(dictionary, .dictionary, "CFDictionaryCreate", ()) { table in
    var index = 0
    while index < count, let keys, let values, put(table, keys[index], values[index], .ifAbsent, isSet: false) {
      index &+= 1
    }
  }
  return dictionary
}

private func make(
  _ keyCallbacks: UnsafePointer<treadle_cf_key_callbacks>?,
  _ valueCallbacks: UnsafePointer<treadle_cf_value_callbacks>?,
  mutable: Bool
) -> UInt {
  let keys = keyCallbacks?.pointee ?? treadle_cf_key_callbacks()
  return TableBody.make(
    .dictionary, ValueCallbacks(keys.base), keys.hash, ValueCallbacks(valueCallbacks), mutable: mutable)
}

@_cdecl("CFDictionaryCreateCopy")
public func cfDictionaryCreateCopy(_ allocator: UInt, _ dictionary: UInt) -> UInt {
  copyTable(dictionary, .dictionary, "CFDictionaryCreateCopy", mutable: false)
}

@_cdecl("CFDictionaryCreateMutable")
public func cfDictionaryCreateMutable(
  _ allocator: UInt, _ capacity: Int, _ keyCallbacks: UnsafePointer<treadle_cf_key_callbacks>?,
  _ valueCallbacks: UnsafePointer<treadle_cf_value_callbacks>?
) -> UInt {
  make(keyCallbacks, valueCallbacks, mutable: true)
}

@_cdecl("CFDictionaryCreateMutableCopy")
public func cfDictionaryCreateMutableCopy(_ allocator: UInt, _ capacity: Int, _ dictionary: UInt) -> UInt {
  copyTable(dictionary, .dictionary, "CFDictionaryCreateMutableCopy", mutable: true)
}

@_cdecl("CFDictionaryGetCount")
public func cfDictionaryGetCount(_ dictionary: UInt) -> Int {
  tables(dictionary, .dictionary, "CFDictionaryGetCount", 0) { $0.pointee.count }
}

@_cdecl("CFDictionaryContainsKey")
public func cfDictionaryContainsKey(_ dictionary: UInt, _ key: UInt) -> UInt8 {
  lookUp(dictionary, .dictionary, "CFDictionaryContainsKey", key, 0) { _ in 1 }
}

@_cdecl("CFDictionaryGetCountOfKey")
public func cfDictionaryGetCountOfKey(_ dictionary: UInt, _ key: UInt) -> Int {
  lookUp(dictionary, .dictionary, "CFDictionaryGetCountOfKey", key, 0) { _ in 1 }
}

@_cdecl("CFDictionaryGetCountOfValue")
public func cfDictionaryGetCountOfValue(_ dictionary: UInt, _ value: UInt) -> Int {
  tables(dictionary, .dictionary, "CFDictionaryGetCountOfValue", 0) { table in
    var count = 0
    table.pointee.forEach { if table.pointee.values.isEqual($0.value, value) { count &+= 1 } }
    return count
  }
}

@_cdecl("CFDictionaryContainsValue")
public func cfDictionaryContainsValue(_ dictionary: UInt, _ value: UInt) -> UInt8 {
  cfDictionaryGetCountOfValue(dictionary, value) > 0 ? 1 : 0
}

@_cdecl("CFDictionaryGetValue")
public func cfDictionaryGetValue(_ dictionary: UInt, _ key: UInt) -> UInt {
  lookUp(dictionary, .dictionary, "CFDictionaryGetValue", key, 0) { $0.value }
}

@_cdecl("CFDictionaryGetValueIfPresent")
public func cfDictionaryGetValueIfPresent(_ dictionary: UInt, _ key: UInt, _ value: UnsafeMutablePointer<UInt>?)
  -> UInt8
{
  lookUp(dictionary, .dictionary, "CFDictionaryGetValueIfPresent", key, 0) {
    value?.pointee = $0.value
    return 1
  }
}

@_cdecl("CFDictionaryGetKeysAndValues")
public func cfDictionaryGetKeysAndValues(
  _ dictionary: UInt, _ keys: UnsafeMutablePointer<UInt>?, _ values: UnsafeMutablePointer<UInt>?
) {
  tables(dictionary, .dictionary, "CFDictionaryGetKeysAndValues", ()) { table in
    var index = 0
    table.pointee.forEach {
      keys?[index] = $0.key
      values?[index] = $0.value
      index &+= 1
    }
  }
}

@_cdecl("CFDictionaryApplyFunction")
public func cfDictionaryApplyFunction(_ dictionary: UInt, _ function: treadle_cf_apply_pair_fn?, _ context: UInt) {
  tables(dictionary, .dictionary, "CFDictionaryApplyFunction", ()) { table in
    guard let function else { return complain("CFDictionaryApplyFunction") }
    table.pointee.forEach { function($0.key, $0.value, context) }
  }
}

@_cdecl("CFDictionaryAddValue")
public func cfDictionaryAddValue(_ dictionary: UInt, _ key: UInt, _ value: UInt) {
  putInto(dictionary, .dictionary, "CFDictionaryAddValue", key, value, .ifAbsent)
}

@_cdecl("CFDictionarySetValue")
public func cfDictionarySetValue(_ dictionary: UInt, _ key: UInt, _ value: UInt) {
  putInto(dictionary, .dictionary, "CFDictionarySetValue", key, value, .always)
}

@_cdecl("CFDictionaryReplaceValue")
public func cfDictionaryReplaceValue(_ dictionary: UInt, _ key: UInt, _ value: UInt) {
  putInto(dictionary, .dictionary, "CFDictionaryReplaceValue", key, value, .ifPresent)
}

@_cdecl("CFDictionaryRemoveValue")
public func cfDictionaryRemoveValue(_ dictionary: UInt, _ key: UInt) {
  removeFrom(dictionary, .dictionary, "CFDictionaryRemoveValue", key)
}

@_cdecl("CFDictionaryRemoveAllValues")
public func cfDictionaryRemoveAllValues(_ dictionary: UInt) {
  removeAll(dictionary, .dictionary, "CFDictionaryRemoveAllValues")
}
