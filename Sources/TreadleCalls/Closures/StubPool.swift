// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI
import CTreadleStubs
import CTreadleSystem
import Synchronization
import TreadleBase

/// All stubs of the process, and in which order they are used: those that never were first, then the one whose closure
/// ended longest ago, so that a pointer that somebody has kept stays harmless for as long as can be. Pointers that are
/// never used again (`keepsCode`) come from blocks (`StubBlock`) if there are many of their kind.
///
/// A new life of the process (the child of a fork, see `Runtime`) begins with the stubs that the parent had used as
/// tombstones. Its allocated ones are left alone: their memory may be the parent's too.
enum StubPool {
  /// In static memory; all-zero at first.
  struct State: ~Copyable {
    let gate: Gate
    /// The life of the process that the rest speaks of. Written under the start lock.
    let tag: Atomic<UInt32>
    /// Calls on retired pointers, in all lives.
    let lateCalls: Atomic<UInt64>
    // Guarded by the gate.
    /// Stubs 0..<begun have been used.
    var begun: UInt32
    var used: UInt32
    var allocated: UInt32
    /// Stubs of the library's code that are lost for good: their pointers are kept.
    var lost: UInt32
    /// Blocks of kept stubs.
    var blocks: UInt32
    /// libffi's executable memory is the parent's too: no more of it is asked for.
    var isShared: Bool
    /// An allocated stub's memory is mapped at two addresses.
    var isMappedApart: Bool
    var retired: StubQueue
    var retiredAllocated: StubQueue
  }

  private static var state: UnsafeMutablePointer<State> {
    UnsafeMutableRawPointer(treadle_stub_pool()).assumingMemoryBound(to: State.self)
  }

  static var capacity: UInt32 { treadle_stub_count() }

  /// A blank stub that leads calls to `ClosureEntry`, for a closure of this signature.
  static func take(_ plan: ClosurePlan) throws(Failure) -> Stub {
    start()
    let (signature, mayAllocate) = (plan.signature, plan.mayAllocate)
    if plan.keepsCode && mayAllocate && isHalfLost, let shared = SharedTombstone.known(signature, plan.defaultResult),
      shared.pointee.isFrequent
    {
      try prepareType(signature)
      if let stub = takeOfBlock(shared) { return stub }
    }
    if let stub = takeOwn() {
      do throws(Failure) {
        try prepare(stub, signature)
        return stub
      } catch {
        putBack(stub)
        if !mayAllocate { throw error }
      }
    }
    guard mayAllocate else {
      if capacity == 0 {
        throw Failure(Status.notSupported, "flags", "do not allow libffi's closures, the only kind on this processor")
      }
      throw Failure(Status.noMemory, "pool", "of closures is exhausted")
    }
    try prepareType(signature)
    guard let stub = takeAllocated() else { throw Failure.noMemory("executable memory") }
    if AllocatedStub.prepare(stub, signature) { return stub }
    putBack(stub)
    throw unfit
  }

  /// Has calls of a stub of the pool lead to `ClosureEntry`.
  private static func prepare(_ stub: Stub, _ signature: Signature) throws(Failure) {
    // Also where libffi has no part in it: a call of the pointer's last life may have come as far as libffi, and is to
    // find a type that was prepared.
    try prepareType(signature)
    guard let words = words(signature) else { throw unfit }
    stub.slot.pointee.lead(to: words)
  }

  /// What a stub's slot begins with, if its calls lead to `ClosureEntry`. The type has been prepared.
  static func words(_ signature: Signature) -> treadle_ffi_stub? {
    let entry = signature.plan == nil ? nil : treadle_stub_register_entry()
    var words = treadle_ffi_stub()
    if let entry {
      words.code = UInt(bitPattern: entry)
      words.type = UInt(bitPattern: signature.body)
      words.entry = UInt(bitPattern: unsafeBitCast(ClosureEntry.call, to: UnsafeRawPointer.self))
    } else if !treadle_ffi_prepare_stub(&words, &signature.body.pointee.cif, ClosureEntry.call) {
      return nil
    }
    return words
  }

  /// Has libffi prepare a type, if it did not yet.
  private static func prepareType(_ signature: Signature) throws(Failure) {
    do throws(SignatureError) {
      try SignatureTable.prepare(signature)
    } catch {
      switch error {
      case .noMemory: throw Failure.noMemory("signature")
      default: throw unfit
      }
    }
  }

  private static var unfit: Failure {
    Failure(Status.notSupported, "signature", "cannot be a closure with this libffi")
  }

  private static func takeOwn() -> Stub? {
    state.pointee.gate.lock()
    defer { state.pointee.gate.unlock() }
    var taken: Stub?
    if state.pointee.begun < capacity, let slot = treadle_stub_slot(state.pointee.begun) {
      let stub = Stub(UnsafeMutableRawPointer(slot))
      stub.slot.pointee.code = treadle_stub_code(state.pointee.begun)
      state.pointee.begun = state.pointee.begun &+ 1
      taken = stub
    } else {
      taken = state.pointee.retired.take()
    }
    if taken != nil { state.pointee.used = state.pointee.used &+ 1 }
    return taken
  }

  private static func takeAllocated() -> Stub? {
    state.pointee.gate.lock()
    let retired = state.pointee.retiredAllocated.take()
    let isShared = state.pointee.isShared
    state.pointee.gate.unlock()
    if let retired { return retired }
    guard !isShared, let stub = AllocatedStub.make() else { return nil }
    state.pointee.gate.lock()
    state.pointee.allocated = state.pointee.allocated &+ 1
    if AllocatedStub.isMappedApart(stub) { state.pointee.isMappedApart = true }
    state.pointee.gate.unlock()
    return stub
  }

  // MARK: Kept pointers

  /// Kept pointers leave half of the library's own stubs to other closures, if memory may be mapped for them.
  private static var isHalfLost: Bool {
    state.pointee.gate.lock()
    defer { state.pointee.gate.unlock() }
    return state.pointee.lost >= capacity / 2
  }

  private static func takeOfBlock(_ shared: SharedTombstone.Pointer) -> Stub? {
    var made: StubBlock?
    while true {
      state.pointee.gate.lock()
      if shared.pointee.block == nil, let block = made {
        shared.pointee.block = block
        state.pointee.blocks = state.pointee.blocks &+ 1
        made = nil
      }
      let stub = shared.pointee.block?.take()
      if let block = shared.pointee.block, block.isUsedUp { shared.pointee.block = nil }
      if stub != nil { state.pointee.allocated = state.pointee.allocated &+ 1 }
      let mayMake = state.pointee.blocks < StubBlock.limit
      state.pointee.gate.unlock()
      if let stub {
        made?.free()
        return stub
      }
      guard mayMake, made == nil, let block = StubBlock.make(shared) else { return nil }
      made = block
    }
  }

  /// A closure has ended: its stub waits to be used again, if it may be.
  static func give(_ stub: Stub) {
    if stub.hasFlag(StubSlot.Flag.block) { return }
    let isKept = stub.hasFlag(StubSlot.Flag.kept)
    state.pointee.gate.lock()
    defer { state.pointee.gate.unlock() }
    if stub.hasFlag(StubSlot.Flag.allocated) {
      if !isKept { state.pointee.retiredAllocated.append(stub) }
    } else {
      state.pointee.used = state.pointee.used &- 1
      if isKept { state.pointee.lost = state.pointee.lost &+ 1 } else { state.pointee.retired.append(stub) }
    }
  }

  /// One that was taken and not used.
  static func putBack(_ stub: Stub) {
    if stub.hasFlag(StubSlot.Flag.block) {
      stub.inherit()
      StubBlock.seal(stub)
      return
    }
    stub.inherit()
    give(stub)
  }

  // MARK: Lives

  private static func start() {
    let tag = treadle_system_tag()
    if state.pointee.tag.load(ordering: .acquiring) == tag { return }
    let start = Mutex.at(treadle_system_start_lock())
    start.pointee.lock(.process)
    defer { start.pointee.unlock(.process) }
    let before = state.pointee.tag.load(ordering: .relaxed)
    if before == tag { return }
    if before != 0 { inherit() }
    treadle_stub_set_handler(ClosureEntry.callWithRegisters)
    state.pointee.tag.store(tag, ordering: .releasing)
  }

  /// The first use in the child of a fork.
  private static func inherit() {
    state.pointee.gate.forget()
    state.pointee.isShared = state.pointee.isShared || state.pointee.isMappedApart
    state.pointee.retiredAllocated = StubQueue()
    state.pointee.retired = StubQueue()
    state.pointee.allocated = 0
    state.pointee.used = 0
    state.pointee.lost = 0
    var index: UInt32 = 0
    while index < state.pointee.begun, let slot = treadle_stub_slot(index) {
      let stub = Stub(UnsafeMutableRawPointer(slot))
      stub.inherit()
      if stub.hasFlag(StubSlot.Flag.kept) {
        state.pointee.lost = state.pointee.lost &+ 1
      } else {
        state.pointee.retired.append(stub)
      }
      index &+= 1
    }
  }

  // MARK: Counts

  static func countLateCall() { state.pointee.lateCalls.add(1, ordering: .relaxed) }

  static var counts: ClosurePool.Counts {
    start()
    state.pointee.gate.lock()
    defer { state.pointee.gate.unlock() }
    return ClosurePool.Counts(
      capacity: capacity, used: state.pointee.used, retired: state.pointee.retired.count,
      allocated: state.pointee.allocated,
      lateCalls: state.pointee.lateCalls.load(ordering: .relaxed))
  }
}
