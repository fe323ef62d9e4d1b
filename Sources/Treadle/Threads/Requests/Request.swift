// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// A function with its target and argument, to be performed on a thread (§17 of the rules).
package struct Request {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void
  package typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
  package typealias Equal = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32

  package var function: Function?
  package var target: UnsafeMutableRawPointer?
  package var argument: UnsafeMutableRawPointer?
  /// In place of `function`: a routine, or a host's dispatch.
  package var indirect = IndirectCallback(object: nil, invoke: nil, drop: nil)
  package var releaseTarget: Release?
  package var releaseArgument: Release?
  package var equal: Equal?
  var token: UInt64 = 0
  var retire: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)? = nil
  var host: UnsafeMutableRawPointer? = nil
  /// In place of `retire` where the host has completed the request: it has used its token up.
  var retireUsed: (@convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void)? = nil

  package init(function: Function?, target: UnsafeMutableRawPointer?, argument: UnsafeMutableRawPointer?) {
    self.function = function
    self.target = target
    self.argument = argument
  }

  /// False when a host's callback did not complete.
  func perform(on loop: OpaquePointer?, mode: UnsafePointer<CChar>?) -> Bool {
    if let function {
      function(target, argument)
      return true
    }
    guard let invoke = indirect.invoke else { return true }
    if let direct = indirect.direct {
      direct.pointee.perform(subject: target, value: 0)
      return true
    }
    var event = Event(
      Event.Kind.request, token: token, loop: loop, subject: UInt(bitPattern: target), mode: mode)
    event.argument = argument
    return invoke(indirect.object, &event)
  }

  /// Its host has completed it.
  @inline(__always)
  mutating func complete() {
    if let retireUsed { retire = retireUsed }
  }

  /// It was performed, or never will be.
  package func dispose() {
    retire?(host, token)
    releaseTarget?(target)
    releaseArgument?(argument)
    indirect.drop?(indirect.object)
  }

  /// Whether this waiting request is meant by another one that is only a description (PERF-15).
  func matches(_ other: Request) -> Bool {
    if target != other.target || indirect.object != other.indirect.object { return false }
    if unsafeBitCast(function, to: UInt.self) != unsafeBitCast(other.function, to: UInt.self) { return false }
    if argument == other.argument { return true }
    guard let equal else { return false }
    return equal(argument, other.argument) != 0
  }
}
