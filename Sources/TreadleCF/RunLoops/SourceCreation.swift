// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

@_cdecl("CFRunLoopSourceCreate")
public func cfRunLoopSourceCreate(_ allocator: UInt, _ order: Int, _ context: UnsafeRawPointer?) -> UInt {
  guard let context else {
    complain("CFRunLoopSourceCreate")
    return 0
  }
  switch context.load(as: Int.self) {
  case 0: return makeCustom(order, context.load(as: treadle_cf_source_context.self))
  case 1: return makePort(order, context.load(as: treadle_cf_port_context.self))
  default:
    complain("CFRunLoopSourceCreate")
    return 0
  }
}

private func makeCustom(_ order: Int, _ given: treadle_cf_source_context) -> UInt {
  let client = withUnsafePointer(to: given.base) { ClientContext($0) }
  var body = SourceBody(
    base: ItemBase(client: client), variant: .custom, order: order, equal: given.equal, hash: given.hash)
  body.schedule = given.schedule
  body.cancel = given.cancel
  body.perform = given.perform
  let source = Slot.make(.source, allocate(body))
  if source == 0 { return 0 }
  var context = treadle_source_context()
  context.struct_size = MemoryLayout<treadle_source_context>.size
  context.info = UnsafeMutableRawPointer(bitPattern: source)
  context.retain = retainItem
  context.release = releaseItem
  context.describe = describeItem
  if given.equal != nil {
    context.equal = equalSources
    context.hash = hashOfSource
  }
  if given.schedule != nil { context.schedule = scheduleSource }
  if given.cancel != nil { context.cancel = cancelSource }
  context.perform = performSource
  context.order = Int64(order)
  return finish(source) { treadle_source_create(&context, &$0) }
}

private func makePort(_ order: Int, _ given: treadle_cf_port_context) -> UInt {
  let client = withUnsafePointer(to: given.base) { ClientContext($0) }
  var body = SourceBody(
    base: ItemBase(client: client), variant: .port, order: order, equal: given.equal, hash: given.hash)
  body.perform = given.perform
  body.getPort = given.get_port
  let source = Slot.make(.source, allocate(body))
  if source == 0 { return 0 }
  var context = descriptorContext(source)
  if given.equal != nil {
    context.equal = equalSources
    context.hash = hashOfSource
  }
  context.get_fd = portOfSource
  context.ready = readySource
  context.events = UInt32(TREADLE_READABLE)
  return finish(source) { treadle_descriptor_create(&context, &$0) }
}

/// The context of a source that watches a descriptor, but for what it watches.
func descriptorContext(_ source: UInt) -> treadle_descriptor_context {
  var context = treadle_descriptor_context()
  context.struct_size = MemoryLayout<treadle_descriptor_context>.size
  context.info = UnsafeMutableRawPointer(bitPattern: source)
  context.retain = retainItem
  context.release = releaseItem
  context.describe = describeItem
  context.fd = -1
  return context
}

private func withSource<Result>(
  _ info: UnsafeMutableRawPointer?, _ fallback: Result, _ work: (Pointer<SourceBody>) -> Result
) -> Result {
  access(UInt(bitPattern: info), "CFRunLoopSourceCreate", fallback, work)
}

private func equalSources(_ one: UnsafeMutableRawPointer?, _ other: UnsafeMutableRawPointer?) -> Int32 {
  withSource(one, 0) { a in withSource(other, 0) { b in a.pointee.isEqual(to: b.pointee) ? 1 : 0 } }
}

private func hashOfSource(_ info: UnsafeMutableRawPointer?) -> UInt64 {
  withSource(info, 0) { source in source.pointee.hash.map { UInt64($0(source.pointee.client.info)) } ?? 0 }
}

private func performSource(_ handle: OpaquePointer?, _ info: UnsafeMutableRawPointer?) {
  withSource(info, ()) { $0.pointee.perform?($0.pointee.client.info) }
}

private func readySource(_ handle: OpaquePointer?, _ events: UInt32, _ info: UnsafeMutableRawPointer?) {
  withSource(info, ()) { $0.pointee.perform?($0.pointee.client.info) }
}

private func portOfSource(_ info: UnsafeMutableRawPointer?) -> Int32 {
  withSource(info, -1) { source in source.pointee.getPort.map { $0(source.pointee.client.info) } ?? -1 }
}

private func scheduleSource(
  _ handle: OpaquePointer?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ info: UnsafeMutableRawPointer?
) {
  withSource(info, ()) { $0.pointee.schedule?($0.pointee.client.info, UInt(bitPattern: loop), modeString(mode)) }
}

private func cancelSource(
  _ handle: OpaquePointer?, _ loop: OpaquePointer?, _ mode: UnsafePointer<CChar>?, _ info: UnsafeMutableRawPointer?
) {
  withSource(info, ()) { $0.pointee.cancel?($0.pointee.client.info, UInt(bitPattern: loop), modeString(mode)) }
}

/// The string that callbacks see for a mode: kept for ever, since they may keep it without a reference.
private func modeString(_ mode: UnsafePointer<CChar>?) -> UInt {
  guard let mode else { return 0 }
  let text = UnsafeRawPointer(mode).assumingMemoryBound(to: UInt8.self)
  return constantString(text, lengthOf(text))
}
