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
    return try body(scope)
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
      out.pointee = pointer(try Scope.making { () throws(Failure) in try Scope.create(label: known.label, destroy: known.destroy, info: known.info).handle })
      return Status.ok
    } catch {
      known.destroy?(known.info)
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
  _ scope: OpaquePointer?, _ buffer: UnsafeMutablePointer<treadle_scope_holder>?, _ capacity: Int,
  _ out_count: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_scope_copy_holders") { () throws(Failure) in
    let out = try need(out_count, 0, "out_count")
    let buffer = try ClientBuffer(buffer, capacity)
    try Scope.holding(bits(scope)) { scope throws(Failure) in
      var count = 0
      let time = scope.isClosing ? Clock.now() &- scope.state.pointee.closedAt : 0
      ScopeHolder.forEach(in: scope) { holder, label in
        buffer.store(copy(holder, label, heldFor: time), at: count)
        count &+= 1
      }
      PluginRegistry.forEachUser(of: scope) { handle, id in
        let holder = ScopeHolder(kind: UInt32(TREADLE_HOLDER_PLUGIN), threadID: 0, handle: handle.bits)
        buffer.store(copy(holder, id, heldFor: 0), at: count)
        count &+= 1
      }
      out.pointee = count
    }
    return Status.ok
  }
}

private func copy(_ holder: ScopeHolder, _ label: UnsafePointer<CChar>?, heldFor time: Int64) -> treadle_scope_holder {
  var copy = treadle_scope_holder()
  copy.kind = holder.kind
  copy.thread_id = holder.threadID
  copy.object = UnsafeMutableRawPointer(bitPattern: holder.handle)
  copy.held_ns = time
  guard let label else { return copy }
  withUnsafeMutableBytes(of: &copy.label) { room in
    var index = 0
    while index &+ 1 < room.count, label[index] != 0 {
      room[index] = UInt8(bitPattern: label[index])
      index &+= 1
    }
    // Not in the middle of a character.
    while index > 0 && label[index] != 0 && UInt8(bitPattern: label[index]) & 0xC0 == 0x80 { index &-= 1 }
    while index < room.count {
      room[index] = 0
      index &+= 1
    }
  }
  return copy
}
