// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase
import TreadlePlugins
import TreadleScopes

extension Scope {
  static func holding<Result>(
    _ handle: UInt, _ subject: StaticString = "scope", _ body: (Scope) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let scope = try Scope.hold(handle, subject)
    defer { scope.letGo() }
    return try scope.droppedIfThreadEnds { () throws(Failure) in try body(scope) }
  }
}

@implementation @_cdecl("treadle_scope_create")
public func treadle_scope_create(
  _ config: UnsafePointer<treadle_scope_config>?, _ out_scope: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_scope_create") { () throws(Failure) in
    out_scope?.pointee = nil
    let known = try ClientStruct.copyKnownPart(config, "config")
    do throws(Failure) {
      let out = try need(out_scope, nil, "out_scope")
      _ = try ClientStruct.copy(config, "config")
      try checkLabel(known.label)
      out.pointee = pointer(
        try Scope.making { () throws(Failure) in
          try Scope.create(label: known.label, destroy: known.destroy, info: known.info).handle
        })
      return Status.ok
    } catch {
      ClientCall.giveBack(known.destroy, known.info)
      throw error
    }
  }
}

@implementation @_cdecl("treadle_scope_enter")
public func treadle_scope_enter(_ scope: OpaquePointer?) -> treadle_status {
  status("treadle_scope_enter") { () throws(Failure) in
    if scope == nil {
      try Scope.enterNone()
    } else {
      try Scope.holding(bits(scope)) { scope throws(Failure) in try scope.enter() }
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_scope_leave")
public func treadle_scope_leave(_ scope: OpaquePointer?) -> treadle_status {
  status("treadle_scope_leave") { () throws(Failure) in
    if scope == nil {
      try Scope.leaveNone()
    } else {
      try Scope.holding(bits(scope)) { scope throws(Failure) in try scope.leave() }
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_scope_copy_holders")
public func treadle_scope_copy_holders(
  _ scope: OpaquePointer?, _ buffer: UnsafeMutablePointer<treadle_scope_holder>?, _ holder_size: Int, _ capacity: Int,
  _ out_count: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_scope_copy_holders") { () throws(Failure) in
    let out = try need(out_count, 0, "out_count")
    let room = try HolderRoom(buffer, holder_size, capacity)
    try Scope.holding(bits(scope)) { scope throws(Failure) in
      var count = 0
      let time = scope.isClosing ? Clock.now() &- scope.state.closedAt : 0
      ScopeHolder.forEach(in: scope) { holder, label in
        room.store(copy(holder, label, heldFor: time), at: count)
        count &+= 1
      }
      if PluginRegistry.isStopping(scope) {
        let stop: StaticString = "stop"
        let holder = ScopeHolder(kind: UInt32(TREADLE_HOLDER_CALL), threadID: 0, handle: 0)
        room.store(copy(holder, stop.cText, heldFor: time), at: count)
        count &+= 1
      }
      PluginRegistry.forEachUser(of: scope) { handle, id in
        let holder = ScopeHolder(kind: UInt32(TREADLE_HOLDER_PLUGIN), threadID: 0, handle: handle.bits)
        room.store(copy(holder, id, heldFor: 0), at: count)
        count &+= 1
      }
      // No lock of the scope is held here.
      room.tellThreads(of: count)
      out.pointee = count
    }
    return Status.ok
  }
}

/// A client's room for holders, of whatever version.
private struct HolderRoom {
  /// That of minor version 0 of the plugins' table, which ended with the label.
  private static let firstSize = 88
  private let start: UnsafeMutableRawPointer?
  private let stride: Int
  private let capacity: Int

  init(_ buffer: UnsafeMutablePointer<treadle_scope_holder>?, _ size: Int, _ capacity: Int) throws(Failure) {
    if size < HolderRoom.firstSize || size > 4096 || size & 7 != 0 {
      throw Failure(Status.argument, "holder_size", "is not the size of a treadle_scope_holder of any version")
    }
    if UInt(bitPattern: buffer) & 7 != 0 { throw Failure(Status.argument, "buffer", "is not aligned") }
    let bytes = try ClientBuffer(buffer, capacity)
    if capacity > Int.max / 4096 { throw Failure(Status.argument, "capacity", "is larger than memory") }
    start = UnsafeMutableRawPointer(bytes.start)
    stride = size
    self.capacity = capacity
  }

  private func place(_ index: Int) -> UnsafeMutableRawPointer? {
    index < capacity ? start.map { $0 + index &* stride } : nil
  }

  func store(_ holder: treadle_scope_holder, at index: Int) {
    guard let place = place(index) else { return }
    withUnsafeBytes(of: holder) { bytes in
      if let known = bytes.baseAddress { place.copyMemory(from: known, byteCount: min(stride, bytes.count)) }
    }
  }

  /// Adds to the holders what is known of their threads.
  func tellThreads(of count: Int) {
    for index in 0..<min(count, capacity) {
      guard let place = place(index) else { return }
      var holder = treadle_scope_holder()
      withUnsafeMutableBytes(of: &holder) { bytes in
        bytes.copyMemory(from: UnsafeRawBufferPointer(start: place, count: min(stride, bytes.count)))
      }
      if holder.thread_id == 0 { continue }
      var (name, callback) = (holder.thread_name, holder.callback)
      ScopeHolder.tellThread(holder.thread_id) { text in
        withUnsafeMutableBytes(of: &name) { fill($0, text) }
      } callback: { text in
        withUnsafeMutableBytes(of: &callback) { fill($0, text) }
      }
      (holder.thread_name, holder.callback) = (name, callback)
      store(holder, at: index)
    }
  }
}

private func copy(_ holder: ScopeHolder, _ label: UnsafePointer<CChar>?, heldFor time: Int64) -> treadle_scope_holder {
  var copy = treadle_scope_holder()
  copy.kind = holder.kind
  copy.thread_id = holder.threadID
  copy.object = UnsafeMutableRawPointer(bitPattern: holder.handle)
  copy.held_ns = time
  if let label { withUnsafeMutableBytes(of: &copy.label) { fill($0, label) } }
  return copy
}

/// As much of a text as there is room for, and zeroes behind it.
private func fill(_ room: UnsafeMutableRawBufferPointer, _ text: UnsafePointer<CChar>) {
  var index = 0
  while index &+ 1 < room.count, text[index] != 0 {
    room[index] = UInt8(bitPattern: text[index])
    index &+= 1
  }
  // Not in the middle of a character.
  while index > 0 && text[index] != 0 && UInt8(bitPattern: text[index]) & 0xC0 == 0x80 { index &-= 1 }
  while index < room.count {
    room[index] = 0
    index &+= 1
  }
}
