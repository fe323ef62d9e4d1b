// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_pool_push")
public func treadle_pool_push(_ out_token: UnsafeMutablePointer<UInt64>?) -> treadle_status {
  status("treadle_pool_push") { () throws(Failure) in
    let out = try need(out_token, 0, "out_token")
    out.pointee = try Pool.push()
    return Status.ok
  }
}

@implementation @_cdecl("treadle_pool_pop")
public func treadle_pool_pop(_ token: UInt64) -> treadle_status {
  status("treadle_pool_pop") { () throws(Failure) in
    try Pool.pop(token)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_pool_add")
public func treadle_pool_add(_ object: UnsafeMutableRawPointer?, _ release: treadle_release_fn?) -> treadle_status {
  status("treadle_pool_add") { () throws(Failure) in
    guard let release else { throw Failure(Status.argument, "release", "is NULL") }
    try Pool.add(release, object)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_host_pool_add")
public func treadle_host_pool_add(_ host: OpaquePointer?, _ token: UInt64) -> treadle_status {
  status("treadle_host_pool_add") { () throws(Failure) in
    try Host(bits(host), "host").addToPool(token)
    return Status.ok
  }
}
