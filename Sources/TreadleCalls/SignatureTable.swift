// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import struct Synchronization.Atomic
package import TreadleBase

/// All signatures of the process: equal ones are one. It grows, up to a limit, and never shrinks.
///
/// A new life of the process (the child of a fork, see `Runtime`) begins with a new table, for in the old
/// one a thread that is gone may hold the lock. Everything stays within reach of a global variable, so
/// that leak checkers take it for what it is.
package struct SignatureTable {
  /// The signatures that a process can have: far more than any real program's, and a bound for memory.
  package static let limit = 65536

  /// What a signature's slot holds: written before its handle is given to anybody.
  private struct Cell: ~Copyable {
    let reference: Reference
    var body: UnsafeMutablePointer<Signature.Body>
  }

  private typealias Bucket = UnsafeMutablePointer<Signature.Body>?

  /// All of it is guarded by `mutex`, but for `tag` and `earlier`, which are constant.
  private struct State: ~Copyable {
    let mutex: Mutex
    /// The life of the process that it belongs to.
    let tag: UInt32
    /// The table of the life before.
    let earlier: UnsafeMutableRawPointer?
    var count: Int
    let buckets: UnsafeMutablePointer<Bucket>
  }

  private static let current = Atomic<UInt>(0)
  private static let bucketCount = 4096

  private let state: UnsafeMutablePointer<State>

  /// The table of this life of the process, which has been started.
  private init() throws(SignatureError) {
    let tag = treadle_system_tag()
    if let state = SignatureTable.existing(tag) {
      self.state = state
      return
    }
    let start = Mutex.at(treadle_system_start_lock())
    start.pointee.lock(.process)
    defer { start.pointee.unlock(.process) }
    if let state = SignatureTable.existing(tag) {
      self.state = state
    } else {
      state = try SignatureTable.make(tag)
    }
  }

  private static func existing(_ tag: UInt32) -> UnsafeMutablePointer<State>? {
    let memory = UnsafeMutableRawPointer(bitPattern: current.load(ordering: .acquiring))
    guard let state = memory?.assumingMemoryBound(to: State.self), state.pointee.tag == tag else { return nil }
    return state
  }

  private static func make(_ tag: UInt32) throws(SignatureError) -> UnsafeMutablePointer<State> {
    let size = Arena.room(State.self, 1) &+ Arena.room(Bucket.self, bucketCount)
    guard let block = Arena.allocate(size) else { throw .noMemory }
    var arena = Arena(block, size: size)
    guard let state = arena.take(State.self, 1), let buckets = arena.take(Bucket.self, bucketCount) else {
      Arena.free(block)
      throw .noMemory
    }
    buckets.initialize(repeating: nil, count: bucketCount)
    let earlier = UnsafeMutableRawPointer(bitPattern: current.load(ordering: .relaxed))
    state.initialize(to: State(mutex: Mutex(), tag: tag, earlier: earlier, count: 0, buckets: buckets))
    current.store(UInt(bitPattern: block), ordering: .releasing)
    return state
  }

  /// The signature that an encoding means, and its handle. The process has been started.
  package static func intern(
    _ encoding: UnsafeBufferPointer<UInt8>
  ) throws(SignatureError) -> (signature: Signature, handle: Handle) {
    let nodes = try EncodingParser.parse(encoding)
    defer { nodes.free() }
    var measure = TextWriter(UnsafeMutableBufferPointer(start: nil, count: 0))
    CanonicalText.write(nodes, to: &measure)
    guard let memory = Arena.allocate(measure.length) else { throw .noMemory }
    defer { Arena.free(memory) }
    let text = UnsafeMutableRawBufferPointer(start: memory, count: measure.length).bindMemory(to: UInt8.self)
    var writer = TextWriter(text)
    CanonicalText.write(nodes, to: &writer)
    return try SignatureTable().intern(nodes, UnsafeBufferPointer(text))
  }

  private func intern(
    _ nodes: TypeNodes, _ text: UnsafeBufferPointer<UInt8>
  ) throws(SignatureError) -> (signature: Signature, handle: Handle) {
    let hash = SignatureTable.hash(text)
    if let known = try find(hash, text) { return (known, known.handle) }
    // Two threads may make it: the first one's is kept.
    let signature = try Signature.make(nodes, text: text)
    do throws(SignatureError) {
      let kept = try enter(signature, hash)
      if kept != signature { signature.free() }
      return (kept, kept.handle)
    } catch {
      signature.free()
      throw error
    }
  }

  private func bucket(_ hash: UInt64) -> UnsafeMutablePointer<Bucket> {
    state.pointee.buckets + Int(truncatingIfNeeded: hash % UInt64(SignatureTable.bucketCount))
  }

  /// One that is there already.
  private func find(_ hash: UInt64, _ text: UnsafeBufferPointer<UInt8>) throws(SignatureError) -> Signature? {
    state.pointee.mutex.lock(.process)
    defer { state.pointee.mutex.unlock(.process) }
    if let known = findLocked(hash, text) { return known }
    guard state.pointee.count < SignatureTable.limit else { throw .tableFull }
    return nil
  }

  private func findLocked(_ hash: UInt64, _ text: UnsafeBufferPointer<UInt8>) -> Signature? {
    var next = bucket(hash).pointee
    while let body = next {
      let signature = Signature(body: body)
      if body.pointee.hash == hash, signature.text.elementsEqual(text) { return signature }
      next = body.pointee.next
    }
    return nil
  }

  /// Enters a signature, or finds the one that another thread has entered meanwhile.
  private func enter(_ signature: Signature, _ hash: UInt64) throws(SignatureError) -> Signature {
    state.pointee.mutex.lock(.process)
    defer { state.pointee.mutex.unlock(.process) }
    if let known = findLocked(hash, signature.text) { return known }
    guard state.pointee.count < SignatureTable.limit else { throw .tableFull }
    guard let (slot, memory) = Slab(.signature).take() else { throw .noMemory }
    let cell = memory.assumingMemoryBound(to: Cell.self)
    cell.pointee.body = signature.body
    cell.pointee.reference.begin(forClient: true)
    signature.body.pointee.handle = Handle(kind: .signature, slot: slot, generation: cell.pointee.reference.generation)
    signature.body.pointee.hash = hash
    signature.body.pointee.next = bucket(hash).pointee
    bucket(hash).pointee = signature.body
    state.pointee.count = state.pointee.count &+ 1
    return signature
  }

  /// Has libffi prepare a signature that calls do not need it for.
  static func prepare(_ signature: Signature) throws(SignatureError) {
    let table = try SignatureTable()
    let nodes = try EncodingParser.parse(signature.text)
    defer { nodes.free() }
    table.state.pointee.mutex.lock(.process)
    defer { table.state.pointee.mutex.unlock(.process) }
    try signature.prepare(nodes)
  }

  /// The signature that a client's handle means.
  package static func find(_ handle: UInt, _ subject: StaticString) throws(Failure) -> Signature {
    let handle = Handle(bits: handle)
    guard let memory = Slab(.signature).find(handle) else { throw handle.failure(subject) }
    return Signature(body: memory.assumingMemoryBound(to: Cell.self).pointee.body)
  }

  /// FNV-1a: short texts, and nobody gains by collisions among 65,536 of them.
  private static func hash(_ text: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return hash
  }
}
