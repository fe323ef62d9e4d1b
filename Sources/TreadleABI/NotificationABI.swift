// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@implementation @_cdecl("treadle_notification_add")
public func treadle_notification_add(
  _ name: UInt32, _ object: UnsafeMutableRawPointer?, _ fn: treadle_notification_fn?, _ info: UnsafeMutableRawPointer?,
  _ destroy: treadle_release_fn?, _ out_token: UnsafeMutablePointer<UInt64>?
) -> treadle_status {
  status("treadle_notification_add") { () throws(Failure) in
    do throws(Failure) {
      let out = try need(out_token, 0, "out_token")
      guard let code = unsafeBitCast(fn, to: UnsafeMutableRawPointer?.self) else {
        throw Failure(Status.argument, "fn", "is NULL")
      }
      let handler = Handler(code: code, info: info, destroy: destroy)
      // Stored before others can be told, so that the function finds its own token.
      try Notifications.add(name, object: UInt(bitPattern: object), handler) { out.pointee = $0 }
      return Status.ok
    } catch {
      destroy?(info)
      throw error
    }
  }
}

@implementation @_cdecl("treadle_notification_remove")
public func treadle_notification_remove(_ token: UInt64) -> treadle_status {
  status("treadle_notification_remove") { () throws(Failure) in
    try Notifications.remove(token)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_add_notification")
public func treadle_host_add_notification(
  _ host: OpaquePointer?, _ token: UInt64, _ name: UInt32, _ object: UnsafeMutableRawPointer?,
  _ out_token: UnsafeMutablePointer<UInt64>?
) -> treadle_status {
  status("treadle_host_add_notification") { () throws(Failure) in
    let out = try need(out_token, 0, "out_token")
    let host = try Host(bits(host), "host")
    try host.addNotification(token, name, object: UInt(bitPattern: object)) { out.pointee = $0 }
    return Status.ok
  }
}
