// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@_optimize(speed)
@implementation @_cdecl("treadle_loop_post")
public func treadle_loop_post(
  _ loop: OpaquePointer?, _ fn: treadle_post_fn?, _ info: UnsafeMutableRawPointer?
) -> treadle_status {
  if !Loop.postsPlainly { return postSlowly(loop, fn, info) }
  return status("treadle_loop_post") { () throws(Failure) in try Loop.post(bits(loop), demand(fn), info) }
}

/// Not inlined: plain posts would save registers for it.
@inline(never)
@_optimize(speed)
private func postSlowly(_ loop: OpaquePointer?, _ fn: treadle_post_fn?, _ info: UnsafeMutableRawPointer?)
  -> treadle_status
{
  status("treadle_loop_post") { () throws(Failure) in try Loop.postSlowly(bits(loop), demand(fn), info) }
}

@inline(__always)
private func demand(_ fn: treadle_post_fn?) throws(Failure) -> UnsafeMutableRawPointer {
  guard let code = unsafeBitCast(fn, to: UnsafeMutableRawPointer?.self) else {
    throw Failure(Status.argument, "fn", "is NULL")
  }
  return code
}

@implementation @_cdecl("treadle_loop_post_in")
public func treadle_loop_post_in(
  _ loop: OpaquePointer?, _ post: UnsafePointer<treadle_post>?
) -> treadle_status {
  status("treadle_loop_post_in") { () throws(Failure) in
    let known = try ClientStruct.copyKnownPart(post, "post")
    do throws(Failure) {
      let given = try ClientStruct.copy(post, "post")
      let host = try hostOf(given.host, given.token)
      try check(given)
      let modes = try modeList(given.modes, given.mode_count)
      let wakes = given.flags == 0
      return try Loop.holding(bits(loop), "loop") { loop throws(Failure) in
        let handle = loop.handle.bits
        if let host {
          return try host.post(given.token, on: handle, modes: modes, wakes: wakes, label: keepLabel(given.label))
        }
        let routine = try mainCallback(hasPlain: given.fn != nil, given.routine, "routine")
        do throws(Failure) {
          let item = WorkItem(
            post: unsafeBitCast(given.fn, to: UnsafeMutableRawPointer?.self), given.info, destroy: given.destroy,
            indirect: routine,
            label: keepLabel(given.label))
          return try Loop.post(handle, item, modes: modes, wakes: wakes)
        } catch {
          drop(routine)
          throw error
        }
      }
    } catch {
      ClientCall.giveBack(known.destroy, known.info)
      throw error
    }
  }
}

private func check(_ post: treadle_post) throws(Failure) {
  if post.host != nil {
    try refuse(post.fn != nil, "fn")
    try refuse(post.routine != nil, "routine")
    try refuse(post.info != nil, "info")
    try refuse(post.destroy != nil, "destroy")
  } else if post.fn == nil && post.routine == nil {
    throw Failure(Status.argument, "fn", "is NULL, and so are routine and host")
  }
  if post.flags & ~UInt32(TREADLE_POST_WITHOUT_WAKE) != 0 {
    throw Failure(Status.argument, "flags", "has unknown flags")
  }
  if post.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
  try checkLabel(post.label)
}

/// What descriptions call a post or request, which outlives it.
func keepLabel(_ label: UnsafePointer<CChar>?) -> UnsafePointer<CChar>? { label.flatMap { Labels.keep($0) } }

/// A client's array of mode names.
func modeList(
  _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int
) throws(Failure) -> UnsafeBufferPointer<UnsafePointer<CChar>?> {
  if count < 0 || count > 0xFFFF { throw Failure(Status.argument, "mode_count", "is larger than 65535") }
  if modes == nil && count != 0 { throw Failure(Status.argument, "modes", "is NULL, but mode_count is not 0") }
  return UnsafeBufferPointer(start: modes, count: count)
}
