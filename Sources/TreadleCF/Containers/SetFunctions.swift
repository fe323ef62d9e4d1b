// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadleCF

@_cdecl("CFSetGetTypeID") public func cfSetGetTypeID() -> UInt { Kind.set.typeID }

@_cdecl("CFSetCreate")
public func cfSetCreate(
  _ allocator: UInt, _ values: UnsafePointer<UInt>?, _ count: Int, _ callbacks: UnsafePointer<treadle_cf_key_callbacks>?
) -> UInt {
  guard count >= 0, values != nil || count == 0 else {
    complain("CFSetCreate")
    return 0
  }
  let set = make(callbacks, mutable: false)
  if set == 0 { return 0 }
  tables(set, .set, "CFSetCreate", ()) { set in
    var index = 0
    while index < count, let values, put(set, values[index], 0, .ifAbsent, isSet: true) { index &+= 1 }
  }
  return set
}

private func make(_ callbacks: UnsafePointer<treadle_cf_key_callbacks>?, mutable: Bool) -> UInt {
  let keys = callbacks?.pointee ?? treadle_cf_key_callbacks()
  return TableBody.make(.set, ValueCallbacks(keys.base), keys.hash, ValueCallbacks(nil), mutable: mutable)
}

@_cdecl("CFSetCreateCopy")
public func cfSetCreateCopy(_ allocator: UInt, _ set: UInt) -> UInt {
  copyTable(set, .set, "CFSetCreateCopy", mutable: false)
}

@_cdecl("CFSetCreateMutable")
public func cfSetCreateMutable(
  _ allocator: UInt, _ capacity: Int, _ callbacks: UnsafePointer<treadle_cf_key_callbacks>?
) -> UInt {
  make(callbacks, mutable: true)
}

@_cdecl("CFSetCreateMutableCopy")
public func cfSetCreateMutableCopy(_ allocator: UInt, _ capacity: Int, _ set: UInt) -> UInt {
  copyTable(set, .set, "CFSetCreateMutableCopy", mutable: true)
}

@_cdecl("CFSetGetCount")
public func cfSetGetCount(_ set: UInt) -> Int { tables(set, .set, "CFSetGetCount", 0) { $0.pointee.count } }

@_cdecl("CFSetContainsValue")
public func cfSetContainsValue(_ set: UInt, _ value: UInt) -> UInt8 {
  lookUp(set, .set, "CFSetContainsValue", value, 0) { _ in 1 }
}

@_cdecl("CFSetGetCountOfValue")
public func cfSetGetCountOfValue(_ set: UInt, _ value: UInt) -> Int {
  lookUp(set, .set, "CFSetGetCountOfValue", value, 0) { _ in 1 }
}

@_cdecl("CFSetGetValue")
public func cfSetGetValue(_ set: UInt, _ value: UInt) -> UInt {
  lookUp(set, .set, "CFSetGetValue", value, 0) { $0.key }
}

@_cdecl("CFSetGetValueIfPresent")
public func cfSetGetValueIfPresent(_ set: UInt, _ candidate: UInt, _ value: UnsafeMutablePointer<UInt>?) -> UInt8 {
  lookUp(set, .set, "CFSetGetValueIfPresent", candidate, 0) {
    value?.pointee = $0.key
    return 1
  }
}

@_cdecl("CFSetGetValues")
public func cfSetGetValues(_ set: UInt, _ values: UnsafeMutablePointer<UInt>?) {
  tables(set, .set, "CFSetGetValues", ()) { set in
    guard let values else { return complain("CFSetGetValues") }
    var index = 0
    set.pointee.forEach {
      values[index] = $0.key
      index &+= 1
    }
  }
}

@_cdecl("CFSetApplyFunction")
public func cfSetApplyFunction(_ set: UInt, _ function: treadle_cf_apply_fn?, _ context: UInt) {
  tables(set, .set, "CFSetApplyFunction", ()) { set in
    guard let function else { return complain("CFSetApplyFunction") }
    set.pointee.forEach { function($0.key, context) }
  }
}

@_cdecl("CFSetAddValue")
public func cfSetAddValue(_ set: UInt, _ value: UInt) { putInto(set, .set, "CFSetAddValue", value, 0, .ifAbsent) }

@_cdecl("CFSetSetValue")
public func cfSetSetValue(_ set: UInt, _ value: UInt) { putInto(set, .set, "CFSetSetValue", value, 0, .always) }

@_cdecl("CFSetReplaceValue")
public func cfSetReplaceValue(_ set: UInt, _ value: UInt) {
  putInto(set, .set, "CFSetReplaceValue", value, 0, .ifPresent)
}

@_cdecl("CFSetRemoveValue")
public func cfSetRemoveValue(_ set: UInt, _ value: UInt) { removeFrom(set, .set, "CFSetRemoveValue", value) }

@_cdecl("CFSetRemoveAllValues")
public func cfSetRemoveAllValues(_ set: UInt) { removeAll(set, .set, "CFSetRemoveAllValues") }
