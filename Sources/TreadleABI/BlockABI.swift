// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import Treadle
import TreadleBase

@_optimize(speed)
@implementation @_cdecl("treadle_loop_post")
public func treadle_loop_post(
  _ loop: OpaquePointer?, _ fn: treadle_block_fn?, _ info: UnsafeMutableRawPointer?
) -> treadle_status {
  status("treadle_loop_post") { () throws(Failure) in
    guard let code = unsafeBitCast(fn, to: UnsafeMutableRawPointer?.self) else {
      throw Failure(Status.argument, "fn", "is NULL")
    }
    return try Loop.post(bits(loop), code, info)
  }
}

@implementation @_cdecl("treadle_loop_perform_block")
public func treadle_loop_perform_block(
  _ loop: OpaquePointer?, _ block: UnsafePointer<treadle_block>?
) -> treadle_status {
  status("treadle_loop_perform_block") { () throws(Failure) in
    let given = block
    var block = try copyKnownPart(block, "block")
    do throws(Failure) {
      block = try copyStruct(given, "block")
      if block.fn == nil && block.routine == nil { throw Failure(Status.argument, "fn", "is NULL, and so is routine") }
      let modes = try modeList(block.modes, block.mode_count)
      let routine = try mainCallback(hasPlain: block.fn != nil, block.routine, "routine")
      do throws(Failure) {
        let node = BlockNode(
          code: unsafeBitCast(block.fn, to: UnsafeMutableRawPointer?.self), indirect: routine, info: block.info,
          destroy: block.destroy)
        return try Loop.holding(bits(loop), "loop") { loop throws(Failure) in try loop.perform(node, modes: modes) }
      } catch {
        drop(routine)
        throw error
      }
    } catch {
      block.destroy?(block.info)
      throw error
    }
  }
}

/// A client's array of mode names.
func modeList(
  _ modes: UnsafePointer<UnsafePointer<CChar>?>?, _ count: Int
) throws(Failure) -> UnsafeBufferPointer<UnsafePointer<CChar>?> {
  if count < 0 || count > 0xFFFF { throw Failure(Status.argument, "mode_count", "is larger than 65535") }
  if modes == nil && count != 0 { throw Failure(Status.argument, "modes", "is NULL, but mode_count is not 0") }
  return UnsafeBufferPointer(start: modes, count: count)
}
