// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// When a pair is put.
enum Putting {
  case ifAbsent, always, ifPresent
}

/// Puts a pair into a table, with the key's object in place of an equal one's; a set's value is not used. In
/// CoreFoundation's order: values are retained and released before keys, what is new before what is old.
func put(_ table: Pointer<TableBody>, _ key: UInt, _ value: UInt, _ when: Putting, isSet: Bool) -> Bool {
  if let index = table.pointee.find(key) {
    if case .ifAbsent = when { return true }
    guard let (kept, keptValue) = retain(table, key, value, isSet: isSet) else { return false }
    guard let old = table.pointee.replace(index, kept, keptValue) else { return false }
    if !isSet { table.pointee.values.release(old.value) }
    table.pointee.keys.release(old.key)
    return true
  }
  if case .ifPresent = when { return true }
  guard let (kept, keptValue) = retain(table, key, value, isSet: isSet) else { return false }
  if table.pointee.insert(kept, keptValue) { return true }
  if !isSet { table.pointee.values.release(keptValue) }
  table.pointee.keys.release(kept)
  return false
}

/// What the table keeps of a pair; nil if one of both was not retained.
private func retain(_ table: Pointer<TableBody>, _ key: UInt, _ value: UInt, isSet: Bool) -> (UInt, UInt)? {
  guard let keptValue = isSet ? 0 : table.pointee.values.retain(value) else { return nil }
  if let kept = table.pointee.keys.retain(key) { return (kept, keptValue) }
  if !isSet { table.pointee.values.release(keptValue) }
  return nil
}

/// A change of a table that a client asked for.
func putInto(
  _ table: UInt, _ kind: Kind, _ function: StaticString, _ key: UInt, _ value: UInt, _ when: Putting
) {
  tables(table, kind, function, ()) { table in
    if !table.pointee.isMutable || !put(table, key, value, when, isSet: kind == .set) { complain(function) }
  }
}

func removeFrom(_ table: UInt, _ kind: Kind, _ function: StaticString, _ key: UInt) {
  tables(table, kind, function, ()) { table in
    guard table.pointee.isMutable else { return complain(function) }
    guard let index = table.pointee.find(key), let place = table.pointee.places?[index] else { return }
    table.pointee.remove(index)
    table.pointee.values.release(place.value)
    table.pointee.keys.release(place.key)
  }
}

func removeAll(_ table: UInt, _ kind: Kind, _ function: StaticString) {
  tables(table, kind, function, ()) { table in
    guard table.pointee.isMutable else { return complain(function) }
    let old = table.pointee
    table.pointee.places = nil
    table.pointee.mask = -1
    table.pointee.count = 0
    table.pointee.filled = 0
    old.free()
  }
}

/// A copy, with the same callbacks.
func copyTable(_ table: UInt, _ kind: Kind, _ function: StaticString, mutable: Bool) -> UInt {
  tables(table, kind, function, 0) { table in
    let copy = TableBody.make(kind, table.pointee.keys, table.pointee.hash, table.pointee.values, mutable: mutable)
    if copy == 0 { return 0 }
    var complete = true
    tables(copy, kind, function, ()) { copy in
      table.pointee.forEach { complete = put(copy, $0.key, $0.value, .ifAbsent, isSet: kind == .set) && complete }
    }
    if complete { return copy }
    cfRelease(copy)
    return 0
  }
}

/// Whether a key is there, and its place.
func lookUp<Result>(
  _ table: UInt, _ kind: Kind, _ function: StaticString, _ key: UInt, _ absent: Result,
  _ present: (TableBody.Place) -> Result
) -> Result {
  tables(table, kind, function, absent) { table in
    guard let index = table.pointee.find(key), let place = table.pointee.places?[index] else { return absent }
    return present(place)
  }
}
