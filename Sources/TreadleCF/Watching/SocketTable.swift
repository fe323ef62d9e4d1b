// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// The sockets by their descriptors, without references (SOCK-1); guarded by LOCK_SOCKETS.
enum SocketTable {
  private struct Table {
    var references: UnsafeMutablePointer<UInt>?
    var capacity: Int
  }

  private static var table: UnsafeMutablePointer<Table>? {
    if treadle_cf_shared().pointee.sockets == 0 {
      treadle_cf_shared().pointee.sockets = UInt(bitPattern: allocate(Table(references: nil, capacity: 0)))
    }
    return UnsafeMutableRawPointer(bitPattern: treadle_cf_shared().pointee.sockets)?.assumingMemoryBound(to: Table.self)
  }

  static func find(_ fd: Int32) -> UInt {
    guard let table, fd >= 0, Int(fd) < table.pointee.capacity else { return 0 }
    return table.pointee.references?[Int(fd)] ?? 0
  }

  /// Calls `work` with each socket; the lock is held between the calls alone.
  static func forEach(_ work: (UInt) -> Void) {
    var index: Int32 = 0
    while index < lockingSockets({ Int32(clamping: table?.pointee.capacity ?? 0) }) {
      let socket = lockingSockets { find(index) }
      if socket != 0 { work(socket) }
      index &+= 1
    }
  }

  static func remember(_ fd: Int32, _ socket: UInt) -> Bool {
    guard let table, fd >= 0 else { return false }
    let index = Int(fd)
    if index >= table.pointee.capacity {
      let room = max(256, (index &+ 1) &* 2)
      guard let memory = treadle_cf_reallocate(table.pointee.references, room &* 8) else { return false }
      let references = memory.assumingMemoryBound(to: UInt.self)
      (references + table.pointee.capacity).initialize(repeating: 0, count: room &- table.pointee.capacity)
      table.pointee.references = references
      table.pointee.capacity = room
    }
    table.pointee.references?[index] = socket
    return true
  }

  static func forget(_ fd: Int32, _ socket: UInt) {
    if find(fd) == socket { table?.pointee.references?[Int(fd)] = 0 }
  }
}
