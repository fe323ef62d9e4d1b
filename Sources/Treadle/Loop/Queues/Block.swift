// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A block with modes of its own, or a destroy function, or a callback that is not a plain function. On the heap; in a queue
/// it is an `Entry` without a function. A plain post is the entry's function and info.
package struct BlockNode {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

  var code: UnsafeMutableRawPointer?
  var indirect: IndirectCallback
  var info: UnsafeMutableRawPointer?
  var destroy: Function?
  var token: UInt64
  var retire: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)?
  /// In place of `retire` where the host has completed the block: it has used its token up.
  var retireUsed: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)?
  var host: UnsafeMutableRawPointer?
  /// Slots of the modes that admit it; the loop's record stands for the common modes. Empty: those.
  var modes = Buffer<UInt32>()

  package init(
    code: UnsafeMutableRawPointer?, indirect: IndirectCallback, info: UnsafeMutableRawPointer?, destroy: Function?
  ) {
    self.code = code
    self.indirect = indirect
    self.info = info
    self.destroy = destroy
    token = 0
    retire = nil
    retireUsed = nil
    host = nil
  }

  /// Whether it is called through this very host.
  func isCalled(by host: UnsafeMutableRawPointer) -> Bool { indirect.object == host && indirect.direct == nil }

  /// Its host has completed it.
  @inline(__always)
  mutating func complete() {
    if let retireUsed { retire = retireUsed }
  }

  /// The end of a block that ran, or never will: its info goes back, once.
  mutating func dispose() {
    retire?(host, token)
    destroy?(info)
    indirect.drop?(indirect.object)
    modes.free()
  }

  static func allocate(_ block: BlockNode) -> UnsafeMutablePointer<BlockNode>? {
    guard let memory = treadle_system_allocate(MemoryLayout<BlockNode>.size) else { return nil }
    let node = memory.bindMemory(to: BlockNode.self, capacity: 1)
    node.initialize(to: block)
    return node
  }

  static func free(_ node: UnsafeMutablePointer<BlockNode>) {
    var last = node.pointee
    treadle_system_free(node)
    last.dispose()
  }
}

extension Entry {
  /// A plain function.
  @inline(__always)
  init(code: UnsafeMutableRawPointer, info: UnsafeMutableRawPointer?) {
    self.init(first: UInt64(UInt(bitPattern: code)), second: UInt64(UInt(bitPattern: info)))
  }

  init(_ node: UnsafeMutablePointer<BlockNode>) { self.init(first: 0, second: UInt64(UInt(bitPattern: node))) }

  /// The function of a plain post.
  @inline(__always)
  var code: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(first)) }
  /// Its info.
  @inline(__always)
  var info: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: UInt(second)) }
  /// The node of a block that is not a plain post.
  @inline(__always)
  var node: UnsafeMutablePointer<BlockNode>? {
    first == 0 ? info?.assumingMemoryBound(to: BlockNode.self) : nil
  }
}
