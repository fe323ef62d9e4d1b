// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

#if !hasFeature(Embedded)
  /// Carries a Swift value through the core's `info` pointer: retained when the item is made, released by
  /// the core when it will never call again.
  final class Box<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }

    static func value(_ info: UnsafeMutableRawPointer?) -> Value? {
      info.map { Unmanaged<Box<Value>>.fromOpaque($0).takeUnretainedValue().value }
    }
  }

  extension Box where Value == @Sendable () -> Void {
    static var call: @convention(c) (UnsafeMutableRawPointer?) -> Void {
      { info in Box<@Sendable () -> Void>.value(info)?() }
    }
    static var release: @convention(c) (UnsafeMutableRawPointer?) -> Void {
      { info in if let info { Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(info).release() } }
    }
  }

#endif
