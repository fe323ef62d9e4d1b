// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

@_cdecl("CFRunLoopPerformBlock")
public func cfRunLoopPerformBlock(_ loop: UInt, _ modes: UInt, _ block: UInt) {
  switch kind(of: modes) {
  case .string:
    withText(modes, "CFRunLoopPerformBlock", ()) { mode in
      var one: UnsafePointer<CChar>? = mode
      withUnsafePointer(to: &one) { perform(loop, $0, 1, block) }
    }
  case .array:
    access(modes, "CFRunLoopPerformBlock", ()) { (array: Pointer<ArrayBody>) in
      performIn(loop, array.pointee.count, block) { each in
        var index = 0
        while index < array.pointee.count {
          each(array.pointee[index])
          index &+= 1
        }
      }
    }
  case .set:
    tables(modes, .set, "CFRunLoopPerformBlock", ()) { set in
      performIn(loop, set.pointee.count, block) { each in set.pointee.forEach { each($0.key) } }
    }
  default: complain("CFRunLoopPerformBlock")
  }
}

/// Queues a block for the modes that are strings among the values. With none it can never run.
private func performIn(_ loop: UInt, _ count: Int, _ block: UInt, _ forEach: ((UInt) -> Void) -> Void) {
  guard count > 0, count < 0xFFFF, let memory = treadle_cf_allocate(count &* 8) else { return }
  let names = memory.bindMemory(to: UnsafePointer<CChar>?.self, capacity: count)
  var texts = ByteBuffer()
  var used = 0
  forEach { value in
    guard used < count, kind(of: value) == .string else { return }
    withText(value, "CFRunLoopPerformBlock", ()) { texts.append($0, Int(treadle_cf_length($0)) &+ 1) }
    used &+= 1
  }
  if used > 0, !texts.failed, let bytes = texts.bytes {
    var name = UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self)
    var index = 0
    while index < used {
      names[index] = name
      name += Int(treadle_cf_length(name)) &+ 1
      index &+= 1
    }
    perform(loop, names, used, block)
  }
  texts.free()
  treadle_cf_free(memory)
}

private func perform(_ loop: UInt, _ modes: UnsafePointer<UnsafePointer<CChar>?>, _ count: Int, _ block: UInt) {
  let copy = treadle_cf_block_copy(block)
  if copy == 0 || !isLoop(loop) {
    treadle_cf_block_release(copy)
    return complain("CFRunLoopPerformBlock")
  }
  var queued = treadle_post()
  queued.struct_size = MemoryLayout<treadle_post>.size
  queued.modes = modes
  queued.mode_count = count
  queued.fn = { treadle_cf_block_call(UInt(bitPattern: $0)) }
  queued.info = UnsafeMutableRawPointer(bitPattern: copy)
  // Called also when the block is refused.
  queued.destroy = { treadle_cf_block_release(UInt(bitPattern: $0)) }
  queued.flags = UInt32(TREADLE_POST_WITHOUT_WAKE)
  check(treadle_loop_post_in(handle(loop), &queued), "CFRunLoopPerformBlock")
}
