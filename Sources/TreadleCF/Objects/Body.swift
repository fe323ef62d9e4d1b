// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// What an object is made of, in memory of its own.
protocol Body {
  static var kind: Kind { get }
}

/// A body in new memory; nil if there is none.
func allocate<Content>(_ content: Content) -> UnsafeMutableRawPointer? {
  guard let memory = treadle_cf_allocate(MemoryLayout<Content>.size) else { return nil }
  memory.initializeMemory(as: Content.self, repeating: content, count: 1)
  return memory
}

/// Calls `work` with a living object's body, which stays alive meanwhile; a bad reference gives `fallback`.
@inline(__always)
func access<Content: Body, Result>(
  _ reference: UInt, _ function: StaticString, _ fallback: Result,
  _ work: (UnsafeMutablePointer<Content>) -> Result
) -> Result {
  guard let slot = Slot.hold(reference, Content.kind), let body = slot.pointer.pointee.body else {
    complain(function)
    return fallback
  }
  let result = work(body.assumingMemoryBound(to: Content.self))
  slot.drop()
  return result
}

/// Frees what a kind of object holds. Items of run loops are gone from Treadle by then.
func destroy(_ kind: Kind, _ body: UnsafeMutableRawPointer) {
  switch kind {
  case .string: body.assumingMemoryBound(to: StringBody.self).pointee.free()
  case .data: body.assumingMemoryBound(to: DataBody.self).pointee.free()
  case .array: body.assumingMemoryBound(to: ArrayBody.self).pointee.free()
  case .set, .dictionary: body.assumingMemoryBound(to: TableBody.self).pointee.free()
  case .socket, .fileDescriptor:
    let watch = body.assumingMemoryBound(to: WatchBody.self)
    invalidate(watch, "CFRelease")
    watch.pointee.free()
  case .messagePort, .machPort: body.assumingMemoryBound(to: PortBody.self).pointee.free()
  case .source: body.assumingMemoryBound(to: SourceBody.self).pointee.loops.free()
  case .allocator, .null, .boolean, .date, .number, .runLoop, .timer, .observer: break
  }
  treadle_cf_free(body)
}
