// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// The strings of literals and the names of modes that callbacks see: each text once, never freed. A table of
/// chains that doubles; guarded by LOCK_SHARED.
enum ConstantStrings {
  private struct Table {
    var chains: UnsafeMutablePointer<UInt>
    var mask: UInt
    var count: UInt
  }

  /// Of UTF-8; what is none stands for nothing, but each byte of it for a character of ISO Latin 1.
  static func find(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt {
    guard let table = table() else { return 0 }
    var reader = UTF8Reader(bytes, count)
    if reader.skipASCII() == count {
      let key = hash(bytes, count)
      let known = look(key, table) {
        $0.length == count && treadle_cf_compare($0.ascii, bytes, count) == 0 && $0.isASCII
      }
      if known != 0 { return known }
      var text = Text()
      text.append(ascii: bytes, count)
      return add(stringOf(text), key, table)
    }
    guard
      var text = Encoding.utf8.decode(bytes, count, external: false)
        ?? Encoding.latin1.decode(bytes, count, external: false)
    else { return 0 }
    let known = look(text.hash, table) { $0.isEqual(to: text) }
    if known == 0 { return add(stringOf(text), text.hash, table) }
    text.free()
    return known
  }

  private static func look(_ key: UInt, _ table: UnsafeMutablePointer<Table>, _ isSame: (Text) -> Bool) -> UInt {
    var string = table.pointee.chains[Int(key & table.pointee.mask)]
    while string != 0, let body = body(string) {
      if isSame(body.pointee.text) { return string }
      string = body.pointee.nextConstant
    }
    return 0
  }

  private static func add(_ string: UInt, _ hash: UInt, _ table: UnsafeMutablePointer<Table>) -> UInt {
    guard let slot = Slot.hold(string), let body = body(string) else { return 0 }
    slot.pin()
    if table.pointee.count > table.pointee.mask { grow(table) }
    let chain = table.pointee.chains + Int(hash & table.pointee.mask)
    body.pointee.nextConstant = chain.pointee
    chain.pointee = string
    table.pointee.count &+= 1
    return string
  }

  private static func body(_ string: UInt) -> UnsafeMutablePointer<StringBody>? {
    treadle_cf_slot(UInt32(truncatingIfNeeded: string >> 4) & 0xFF_FFFF)?.pointee.body?.assumingMemoryBound(
      to: StringBody.self)
  }

  private static func table() -> UnsafeMutablePointer<Table>? {
    if treadle_cf_shared().pointee.constant_strings == 0 {
      guard let chains = treadle_cf_allocate(64 &* 8) else { return nil }
      let table = Table(chains: chains.assumingMemoryBound(to: UInt.self), mask: 63, count: 0)
      guard let memory = allocate(table) else {
        treadle_cf_free(chains)
        return nil
      }
      treadle_cf_shared().pointee.constant_strings = UInt(bitPattern: memory)
      // The constants of the modes are the literals of their text, too.
      adopt(Constants.defaultMode, table: memory.assumingMemoryBound(to: Table.self))
      adopt(Constants.defaultMode &+ 16, table: memory.assumingMemoryBound(to: Table.self))
    }
    return UnsafeMutableRawPointer(bitPattern: treadle_cf_shared().pointee.constant_strings)?.assumingMemoryBound(
      to: Table.self)
  }

  private static func adopt(_ string: UInt, table: UnsafeMutablePointer<Table>) {
    guard let body = body(string) else { return }
    _ = add(string, body.pointee.text.hash, table)
  }

  private static func grow(_ table: UnsafeMutablePointer<Table>) {
    let size = (table.pointee.mask &+ 1) &* 2
    guard let memory = treadle_cf_allocate(Int(size) &* 8) else { return }
    let chains = memory.assumingMemoryBound(to: UInt.self)
    var index = 0
    while UInt(index) <= table.pointee.mask {
      var string = table.pointee.chains[index]
      while string != 0, let body = body(string) {
        let next = body.pointee.nextConstant
        let place = Int(body.pointee.text.hash & (size &- 1))
        body.pointee.nextConstant = chains[place]
        chains[place] = string
        string = next
      }
      index &+= 1
    }
    treadle_cf_free(table.pointee.chains)
    table.pointee.chains = chains
    table.pointee.mask = size &- 1
  }
}
