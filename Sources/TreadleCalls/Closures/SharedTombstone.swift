// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Synchronization
import TreadleBase

/// What tombstones have in common if their signature and default result are the same: a closure's body, of which calls
/// get the default result; and those of kept pointers the blocks that more stubs come from. So a pointer costs no
/// memory of its own once its closure is gone.
///
/// Never freed; a signature has a few.
struct SharedTombstone: ~Copyable {
  /// No call is handled by it.
  let body: ClosureBody.Pointer
  /// How many kept pointers name it.
  private let count = Atomic<UInt32>(0)
  /// What becomes of the slots of a block when all of its closures are gone (see `StubBlock`); 0: was not needed yet.
  let image = Atomic<UInt>(0)
  /// Where stubs are taken from. Guarded by the pool's gate.
  var block: StubBlock?
  /// The next one of the signature. Constant once others know this one.
  private var next: Pointer?

  typealias Pointer = UnsafeMutablePointer<SharedTombstone>

  /// As many default results of a signature are shared.
  private static let limit = 64
  /// A block is not worth its memory before.
  private static let fewest: UInt32 = 16

  private init(_ body: ClosureBody.Pointer) { self.body = body }

  /// Whether there have been so many pointers that more are expected.
  var isFrequent: Bool { count.load(ordering: .relaxed) >= SharedTombstone.fewest }

  /// A closure is gone, and its stub names what is shared. If there is no memory for that, or there are too many
  /// default results, the stub keeps the closure's own body.
  static func replace(_ body: ClosureBody.Pointer) {
    let stub = body.pointee.stub
    guard body.pointee.tag == treadle_system_tag(), let shared = shared(by: body) else { return }
    if !body.pointee.isKept {
      if stub.rename(body, shared.pointee.body) { ClosureBody.drop(body) }
      return
    }
    shared.pointee.count.add(1, ordering: .relaxed)
    stub.seal(naming: shared.pointee.body)
    ClosureBody.drop(body)
    if stub.hasFlag(StubSlot.Flag.block) { StubBlock.countSealed(stub) }
  }

  /// One that is there already; nil for a default result means zeros.
  static func known(_ signature: Signature, _ result: UnsafeRawPointer?) -> Pointer? {
    var next = first(signature)
    while let shared = next {
      if shared.pointee.hasDefault(result) { return shared }
      next = shared.pointee.next
    }
    return nil
  }

  private static func shared(by body: ClosureBody.Pointer) -> Pointer? {
    let signature = body.pointee.signature
    var made: Pointer?
    while true {
      let first = first(signature)
      if let known = known(signature, body.pointee.defaultResult) {
        free(made)
        return known
      }
      var count = 0
      var next = first
      while let shared = next {
        count &+= 1
        next = shared.pointee.next
      }
      if made == nil && count < limit { made = make(body) }
      guard let shared = made else { return nil }
      shared.pointee.next = first
      let entered = signature.body.pointee.tombstones.compareExchange(
        expected: UInt(bitPattern: first), desired: UInt(bitPattern: shared), ordering: .acquiringAndReleasing)
      if entered.exchanged { return shared }
    }
  }

  private static func first(_ signature: Signature) -> Pointer? {
    let first = UnsafeMutableRawPointer(bitPattern: signature.body.pointee.tombstones.load(ordering: .acquiring))
    return first?.assumingMemoryBound(to: SharedTombstone.self)
  }

  private func hasDefault(_ result: UnsafeRawPointer?) -> Bool {
    guard let own = body.pointee.defaultResult else { return true }
    let size = body.pointee.signature.result.layout.size
    if let result { return memcmp(own, result, size) == 0 }
    for offset in 0..<size where own.load(fromByteOffset: offset, as: UInt8.self) != 0 { return false }
    return true
  }

  private static func make(_ body: ClosureBody.Pointer) -> Pointer? {
    guard let memory = treadle_system_allocate(MemoryLayout<SharedTombstone>.size) else { return nil }
    var plan = ClosurePlan(body.pointee.signature, ClosureHandler.none)
    plan.defaultResult = UnsafeRawPointer(body.pointee.defaultResult)
    do throws(Failure) {
      let shared = memory.bindMemory(to: SharedTombstone.self, capacity: 1)
      shared.initialize(to: SharedTombstone(try ClosureBody.make(plan, body.pointee.stub)))
      shared.pointee.body.pointee.isShared = true
      return shared
    } catch {
      treadle_system_free(memory)
      return nil
    }
  }

  /// For one that was never shown to anybody.
  private static func free(_ shared: Pointer?) {
    guard let shared else { return }
    ClosureBody.drop(shared.pointee.body)
    treadle_system_free(shared)
  }
}
