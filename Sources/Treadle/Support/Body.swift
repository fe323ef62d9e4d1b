// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Glibc

/// Carries Swift values through a `void *info`: retained when it is handed over, released by the library when it will
/// never call again.
final class Body<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }

  /// The pointer to hand over, with a reference.
  static func pass(_ value: Value) -> UnsafeMutableRawPointer { Unmanaged.passRetained(Body(value)).toOpaque() }

  /// Calls `body` with what a callback got, which lives meanwhile.
  @inline(__always)
  static func use<Result>(_ info: UnsafeMutableRawPointer?, _ body: (Value) -> Result) -> Result? {
    info.map { Unmanaged<Body>.fromOpaque($0)._withUnsafeGuaranteedRef { body($0.value) } }
  }
}

/// A body that takes nothing, in two words that belong to a `void *info`. The member of a struct, for alone a closure
/// would be wrapped once more.
struct CallableBody {
  /// Nil once it was called.
  private var body: (@Sendable () throws -> Void)?

  /// The pointer to hand over.
  static func pass(_ body: consuming @escaping @Sendable () throws -> Void) throws(TreadleError)
    -> UnsafeMutableRawPointer
  {
    // Swift's own allocation takes a longer way.
    guard let room = malloc(MemoryLayout<CallableBody>.size) else { throw TreadleError(.noMemory, "out of memory") }
    room.initializeMemory(as: CallableBody.self, to: CallableBody(body: body))
    return room
  }

  /// Calls it once, and gives back what it holds.
  static let call: @convention(c) (UnsafeMutableRawPointer?) -> Void = { info in
    guard let room = info?.assumingMemoryBound(to: CallableBody.self) else { return }
    if let body = room.pointee.body.take() { contain(body) }
  }

  /// Called or not.
  static let giveBack: @convention(c) (UnsafeMutableRawPointer?) -> Void = { info in
    guard let room = info?.assumingMemoryBound(to: CallableBody.self) else { return }
    room.deinitialize(count: 1)
    free(room)
  }
}

/// Gives back what `Body.pass` has handed over, whatever its type.
let releaseBody: @convention(c) (UnsafeMutableRawPointer?) -> Void = { info in
  if let info { Unmanaged<AnyObject>.fromOpaque(info).release() }
}

/// Runs a client's body inside of a callback, which nothing may leave: errors go to the last resort (THR-19, PERF-11).
@inline(__always)
func contain(_ body: () throws -> Void) {
  do { try body() } catch { RunLoopLastResort.report(error) }
}
