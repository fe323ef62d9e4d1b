// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A block that belongs to the scope which its thread has entered: a carrier is queued in its place (`ScopeWork`).
extension BlockNode {
  /// The carrier of a block, which it takes over unless this throws; the block itself outside of scopes.
  @inline(__always)
  func scoped() throws(Failure) -> BlockNode {
    treadle_system_thread().pointee.scope == nil ? self : try carried()
  }

  @inline(never)
  private func carried() throws(Failure) -> BlockNode {
    let dispose: ScopeWork.Dispose = { content in
      var last = content.assumingMemoryBound(to: BlockNode.self).pointee
      last.dispose()
    }
    guard let work = try ScopeWork.make(ScopeWork.Sort.post, self, dispose) else { return self }
    let call = IndirectCallback(object: UnsafeMutableRawPointer(work), invoke: BlockNode.callContent, drop: ScopeWork.endCarrier)
    var carrier = BlockNode(code: nil, indirect: call, info: nil, destroy: nil)
    carrier.name = name
    return carrier
  }

  private static let callContent: IndirectCallback.Invoke = { object, event in
    guard let work = object?.assumingMemoryBound(to: ScopeWork.self), let event, ScopeWork.begin(work) else { return true }
    return ScopeWork.during(work) { callClient(ScopeWork.content(work, as: BlockNode.self), event) }
  }

  private static func callClient(_ block: UnsafeMutablePointer<BlockNode>, _ event: UnsafeRawPointer) -> Bool {
    if let direct = block.pointee.indirect.direct {
      direct.pointee.perform(subject: nil, value: 0)
    } else if let invoke = block.pointee.indirect.invoke {
      var own = event.assumingMemoryBound(to: Event.self).pointee
      own.token = block.pointee.token
      let tag = treadle_system_tag()
      let isComplete = invoke(block.pointee.indirect.object, &own)
      if isComplete && treadle_system_tag() == tag { block.pointee.complete() }
      return isComplete
    } else if let code = block.pointee.code {
      unsafeBitCast(code, to: BlockNode.Function.self)(block.pointee.info)
    }
    return true
  }
}
