// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_notification_add")
public func treadle_notification_add(
  _ config: UnsafePointer<treadle_notification_config>?, _ out_token: UnsafeMutablePointer<UInt64>?
) -> treadle_status {
  status("treadle_notification_add") { () throws(Failure) in
    out_token?.pointee = 0
    let known = try ClientStruct.copyKnownPart(config, "config")
    do throws(Failure) {
      let out = try need(out_token, 0, "out_token")
      _ = try ClientStruct.copy(config, "config")
      if known.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
      // Stored before others can be told, so that the function finds its own token.
      try Scope.within(bits(known.scope)) { () throws(Failure) in try register(known) { out.pointee = $0 } }
      return Status.ok
    } catch {
      ClientCall.giveBack(known.destroy, known.info)
      throw error
    }
  }
}

private func register(_ config: treadle_notification_config, store: (UInt64) -> Void) throws(Failure) {
  let object = UInt(bitPattern: config.object)
  if let host = try hostOf(config.host, config.token) {
    try refuse(config.fn != nil, "fn")
    try refuse(config.info != nil, "info")
    try refuse(config.destroy != nil, "destroy")
    return try host.addNotification(config.token, config.name, object: object, store: store)
  }
  guard let code = unsafeBitCast(config.fn, to: UnsafeMutableRawPointer?.self) else {
    throw Failure(Status.argument, "fn", "is NULL")
  }
  let handler = Handler(code: code, info: config.info, destroy: config.destroy)
  try Notifications.add(config.name, object: object, handler, store: store)
}

@implementation @_cdecl("treadle_notification_remove")
public func treadle_notification_remove(_ token: UInt64) -> treadle_status {
  status("treadle_notification_remove") { () throws(Failure) in
    try Notifications.remove(token)
    return Status.ok
  }
}
