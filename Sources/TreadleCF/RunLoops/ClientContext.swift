// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// A client's info and what keeps it, of a timer, an observer or a source.
struct ClientContext {
  var info: UInt = 0
  let retain: treadle_cf_retain_fn?
  let release: treadle_cf_release_fn?
  let describe: treadle_cf_describe_fn?
  /// Whether retain has been called for the creation.
  var isRetained = false

  init(_ context: UnsafePointer<treadle_cf_context>?) {
    info = context?.pointee.info ?? 0
    retain = context?.pointee.retain
    release = context?.pointee.release
    describe = context?.pointee.describe
  }

  /// A block is kept as any info is: by one more copy, which only counts.
  init(block: UInt) {
    info = block
    retain = { treadle_cf_block_copy($0) }
    release = { treadle_cf_block_release($0) }
    describe = nil
  }

  /// Stores it for a client; without info once the item is invalid.
  func store(_ context: UnsafeMutablePointer<treadle_cf_context>, hasInfo: Bool) {
    context.pointee.info = hasInfo ? info : 0
    context.pointee.retain = retain
    context.pointee.release = release
    context.pointee.describe = describe
  }
}

/// How the body of every item begins.
struct ItemBase {
  /// Treadle's item.
  var handle: OpaquePointer?
  var client: ClientContext
}

/// The body of an item; `base` is its first member.
protocol ItemBody: Body {
  var base: ItemBase { get set }
}

extension ItemBody {
  var handle: OpaquePointer? { base.handle }
  var client: ClientContext { base.client }
}
