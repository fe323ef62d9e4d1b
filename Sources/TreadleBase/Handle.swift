// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The kinds of objects that have handles. The raw values are part of each handle.
package enum Kind: UInt32 {
  case loop = 1
  case source = 2
  case timer = 3
  case observer = 4
  case descriptor = 5
  case signature = 6
  case routine = 7
  case host = 8
  case thread = 9
  case lock = 10
  case condition = 11
  case invocation = 12
  case closure = 13
  /// Modes have no handle; their slab is numbered with the others.
  case mode = 14
  case scope = 15
  case port = 16
  case message = 17

  /// What errors call an object of this kind.
  package var name: StaticString {
    switch self {
    case .loop: "loop"
    case .source: "source"
    case .timer: "timer"
    case .observer: "observer"
    case .descriptor: "descriptor"
    case .signature: "signature"
    case .routine: "routine"
    case .host: "host"
    case .thread: "thread"
    case .lock: "lock"
    case .condition: "condition"
    case .invocation: "invocation"
    case .closure: "closure"
    case .mode: "mode"
    case .scope: "scope"
    case .port: "port"
    case .message: "message"
    }
  }

  /// Whether it is one of the five that a loop looks after.
  @inline(__always)
  package var isItem: Bool {
    self == .source || self == .timer || self == .observer || self == .descriptor || self == .port
  }

  /// The raw values.
  static var all: ClosedRange<UInt32> { 1...17 }

  /// Calls `body` with each kind of item, sources first (RL-8). An array of them would have to be allocated.
  @inline(__always)
  package static func forEachItemKind<Thrown: Error>(_ body: (Kind) throws(Thrown) -> Void) throws(Thrown) {
    try body(.source)
    try body(.descriptor)
    try body(.port)
    try body(.timer)
    try body(.observer)
  }
}

/// The encoded id that a client holds: it names a slot of a slab and is never dereferenced.
///
///     bit 63..56   55..32       31..30   29..6   5..1   0
///         tag      generation   0        slot    kind   1
///
/// The tag tells the handles of one copy of the library, in one life of the process (see `Runtime`), from all others
/// and from garbage, the generation tells the objects that used one slot in turn.
package struct Handle: BitwiseCopyable {
  package let bits: UInt

  @inline(__always)
  package init(bits: UInt) { self.bits = bits }

  @inline(__always)
  package init(kind: Kind, slot: UInt32, generation: UInt32) {
    bits =
      UInt(treadle_system_tag()) << 56 | UInt(generation & 0xFF_FFFF) << 32
      | UInt(Handle.tag(kind, slot & 0xFF_FFFF))
  }

  /// `tag`: the low half of the handle's bits, which say what kind of object lies in which slot.
  @inline(__always)
  package init(tag: UInt32, generation: UInt32) {
    bits = UInt(treadle_system_tag()) << 56 | UInt(generation & 0xFF_FFFF) << 32 | UInt(tag)
  }

  // The low half of a handle, which also names an object of whatever generation.

  @inline(__always)
  package static func tag(_ kind: Kind, _ slot: UInt32) -> UInt32 { slot << 6 | kind.rawValue << 1 | 1 }
  /// The tag of another slot of the same kind.
  @inline(__always)
  package static func tag(like other: UInt32, _ slot: UInt32) -> UInt32 { slot << 6 | other & 63 }
  @inline(__always)
  package static func slot(ofTag tag: UInt32) -> UInt32 { tag >> 6 }
  @inline(__always)
  package static func kindNumber(ofTag tag: UInt32) -> UInt32 { tag >> 1 & 31 }

  @inline(__always)
  package var tag: UInt32 { UInt32(truncatingIfNeeded: bits) }
  @inline(__always)
  package var slot: UInt32 { UInt32(truncatingIfNeeded: bits >> 6) & 0xFF_FFFF }
  @inline(__always)
  package var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) & 0xFF_FFFF }

  /// The kind that the handle says its object is of; nil for what cannot be a handle. Whether there is such an object
  /// is seen where it is looked up.
  @inline(__always)
  package var kind: Kind? {
    let number = Handle.kindNumber(ofTag: UInt32(truncatingIfNeeded: bits))
    return isPlausible(number) ? Kind(rawValue: number) : nil
  }

  /// Whether all the fixed parts are those of a handle of this kind.
  @inline(__always)
  package func isPlausible(_ kind: UInt32) -> Bool {
    let fixed: UInt = 0xFF00_0000_C000_003F
    let expected = UInt(treadle_system_tag()) << 56 | UInt(kind) << 1 | 1
    return bits & fixed == expected && expected >> 56 != 0
  }

  /// Why `isPlausible` said no, or the slot holds nothing of this generation.
  @inline(never)
  package func failure(_ subject: StaticString) -> Failure {
    if treadle_system_is_forked() { return Runtime.forkedFailure }
    if bits == 0 { return Failure(Status.argument, subject, "is NULL") }
    if let kind, kind != .mode, Slab(kind).find(self) != nil {
      return Failure(Status.kind, subject, "is a handle of another kind")
    }
    let tag = UInt(treadle_system_tag())
    let isHandle = bits & 1 == 1 && bits & 0xC000_0000 == 0 && tag != 0 && bits >> 56 != 0 && slot != 0
    if isHandle, bits >> 56 != tag,
      let kind = Kind(rawValue: Handle.kindNumber(ofTag: UInt32(truncatingIfNeeded: bits))), kind != .mode
    {
      return Failure(Status.stale, subject, "is a handle of another copy of Treadle, or of the process before its fork")
    }
    return Failure(Status.stale, subject, "is not the handle of a living object")
  }
}
