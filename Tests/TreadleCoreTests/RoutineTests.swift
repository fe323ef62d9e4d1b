// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Testing
import TreadleCore
import TreadleBase

@testable import TreadleCalls

/// Starts the process's state, as every function of the C ABI does that makes an object.
private func started() throws {
  try Runtime.start()
}

/// The signature of an encoding.
func intern(_ encoding: String) throws -> (signature: Signature, handle: Handle) {
  try started()
  let bytes = Array(encoding.utf8)
  return try bytes.withUnsafeBufferPointer { text throws(SignatureError) in try SignatureTable.intern(text) }
}

/// A count that a C function adds to.
private final class Tally: @unchecked Sendable {
  var calls = 0
  var destroyed = 0

  var info: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static func of(_ info: UnsafeMutableRawPointer?) -> Tally? {
    info.map { Unmanaged<Tally>.fromOpaque($0).takeUnretainedValue() }
  }

  static let call: @convention(c) (UnsafeMutableRawPointer?) -> Void = { Tally.of($0)?.calls += 1 }
  static let callWithFactor: @convention(c) (UnsafeMutableRawPointer?, Int16) -> Int32 = { info, factor in
    Tally.of(info)?.calls += 1
    return Int32(factor) * 1000
  }
  static let destroy: @convention(c) (UnsafeMutableRawPointer?) -> Void = { Tally.of($0)?.destroyed += 1 }
}

private let overlapping = Atomic<Int>(0)

/// Routines from the inside; the C tests compare every type with the C compiler.
@Suite("Routines") struct RoutineTests {
  private typealias Code = @convention(c) () -> Void

  private func routine(_ encoding: String, _ code: Code, _ tally: Tally, factor: Int16? = nil) throws -> Handle {
    var builder = try RoutineBuilder(try intern(encoding).signature, code: code)
    var info = tally.info
    try builder.bind(&info, size: MemoryLayout.size(ofValue: info))
    if var factor { try builder.bind(&factor, size: MemoryLayout.size(ofValue: factor)) }
    return try builder.finish(destroy: Tally.destroy, info: tally.info)
  }

  @Test("A result is as wide as its type, whatever libffi leaves in the register")
  func result() throws {
    let tally = Tally()
    let handle = try routine("i^vs", unsafeBitCast(Tally.callWithFactor, to: Code.self), tally, factor: -3)
    let routine = try Routine.retained(handle.bits, "routine")
    var bytes: [Int32] = [7, 7, 7]
    routine.call(nil, result: &bytes)
    #expect(bytes == [-3000, 7, 7])
    routine.drop()
    #expect(tally.calls == 1 && tally.destroyed == 0)
    try Routine.releaseForClient(handle.bits)
    #expect(tally.destroyed == 1)
  }

  @Test("An item keeps the routine after the client released it")
  func indirect() throws {
    let tally = Tally()
    let handle = try routine("v^v", unsafeBitCast(Tally.call, to: Code.self), tally)
    let callback = try Routine.retained(handle.bits, "routine").indirect()
    try Routine.releaseForClient(handle.bits)
    #expect(throws: Failure.self) { try Routine.releaseForClient(handle.bits) }
    #expect(tally.destroyed == 0)
    callback.drop?(callback.object)
    #expect(tally.destroyed == 1)
    #expect(throws: Failure.self) { try Routine.retained(handle.bits, "routine") }
  }

  @Test("Calls and references of one routine may overlap")
  func overlap() async throws {
    let code: @convention(c) (Int64, Int64) -> Int64 = { left, right in
      overlapping.add(Int(left), ordering: .relaxed)
      return left &* right
    }
    var builder = try RoutineBuilder(try intern("qqq").signature, code: unsafeBitCast(code, to: Code.self))
    var (left, right) = (Int64(3), Int64(-5))
    try builder.bind(&left, size: 8)
    try builder.bind(&right, size: 8)
    let tally = Tally()
    let handle = try builder.finish(destroy: Tally.destroy, info: tally.info)
    let bits = handle.bits
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<500 {
            guard let routine = try? Routine.retained(bits, "routine") else { return }
            var result: Int64 = 0
            routine.call(nil, result: &result)
            if result != -15 { overlapping.store(Int.min, ordering: .relaxed) }
            routine.drop()
          }
        }
      }
    }
    #expect(overlapping.load(ordering: .relaxed) == 8 * 500 * 3)
    try Routine.releaseForClient(bits)
    #expect(tally.destroyed == 1)
  }

  @Test("What a refused routine collected is not destroyed by the builder")
  func refusal() throws {
    var builder = try RoutineBuilder(try intern("vi").signature, code: {})
    var wide: Int64 = 0
    #expect(throws: Failure.self) { try builder.bind(&wide, size: 8) }
    #expect(throws: Failure.self) { try builder.supply(.value) }
    builder.discard()
  }

  @Test("Which argument an event can supply")
  func fitting() {
    let all: [TypeCode] = [
      .int8, .uint8, .int16, .uint16, .int32, .uint32, .int64, .uint64, .float, .double, .bool, .string, .pointer,
      .function, .structure,
    ]
    func types(_ source: ArgumentSource) -> [TypeCode] { all.filter { source.fits($0) } }
    #expect(types(.bound) == all)
    for source in [ArgumentSource.loop, .mode, .subject, .event] { #expect(types(source) == [.string, .pointer]) }
    for source in [ArgumentSource.value, .descriptor] { #expect(types(source) == [.int32, .uint32, .int64, .uint64]) }
    #expect(types(.late) == [.int64, .uint64])
  }
}
