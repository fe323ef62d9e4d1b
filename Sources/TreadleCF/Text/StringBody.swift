// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

/// A string.
struct StringBody: Body {
  static var kind: Kind { .string }

  var text: Text
  let isMutable: Bool
  /// Text outside of ASCII as UTF-8 with a NUL, once somebody asked for it, until the text changes.
  private var copy: UnsafeMutableRawPointer?
  /// The next of the constant strings.
  var nextConstant: UInt = 0

  init(text: Text, isMutable: Bool) {
    self.text = text
    self.isMutable = isMutable
  }

  /// The text as UTF-8 with a NUL, which stays the string's; nil if there is no memory.
  var utf8: UnsafeMutablePointer<UInt8>? {
    mutating get { text.ascii ?? madeUTF8() }
  }

  /// Several threads may ask a string that does not change.
  @inline(never)
  private mutating func madeUTF8() -> UnsafeMutablePointer<UInt8>? {
    if let copy = treadle_cf_published(&copy) { return copy.assumingMemoryBound(to: UInt8.self) }
    var made = text.utf8()
    if made.failed {
      made.free()
      return nil
    }
    let kept = treadle_cf_publish(&copy, made.bytes)
    if kept != UnsafeMutableRawPointer(made.bytes) { made.free() }
    return kept?.assumingMemoryBound(to: UInt8.self)
  }

  /// The text is about to change.
  mutating func forgetUTF8() {
    treadle_cf_free(copy)
    copy = nil
  }

  /// Takes a text; nil, with the text freed, if there is no memory.
  static func make(_ text: consuming Text, mutable: Bool = false) -> UnsafeMutableRawPointer? {
    var text = text
    if text.reserve(0), let memory = allocate(StringBody(text: text, isMutable: mutable)) { return memory }
    text.free()
    return nil
  }

  static func make(_ text: StaticString) -> UnsafeMutableRawPointer? {
    var out = Text()
    out.append(text)
    return make(out)
  }

  mutating func free() {
    forgetUTF8()
    text.free()
  }
}

/// A new string of a text, which is taken; 0 if there is no memory.
func stringOf(_ text: consuming Text, mutable: Bool = false) -> UInt {
  Slot.make(.string, StringBody.make(text, mutable: mutable))
}

@inline(__always)
func strings<Result>(
  _ string: UInt, _ function: StaticString, _ fallback: Result, _ work: (Pointer<StringBody>) -> Result
) -> Result {
  access(string, function, fallback, work)
}

func strings<Result>(
  _ one: UInt, _ other: UInt, _ function: StaticString, _ fallback: Result,
  _ work: (Pointer<StringBody>, Pointer<StringBody>) -> Result
) -> Result {
  pair(one, other, function, fallback, work)
}

/// Calls `work` with a string's text.
@inline(__always)
func texts<Result>(_ string: UInt, _ function: StaticString, _ fallback: Result, _ work: (Text) -> Result) -> Result {
  strings(string, function, fallback) { work($0.pointee.text) }
}

/// Calls `work` with the name of something, of a mode, in UTF-8.
@inline(__always)
func withText<Result>(
  _ string: UInt, _ function: StaticString, _ fallback: Result, _ work: (UnsafePointer<CChar>) -> Result
) -> Result {
  strings(string, function, fallback) { string in
    guard let bytes = string.pointee.utf8 else { return fallback }
    return work(UnsafeRawPointer(bytes).assumingMemoryBound(to: CChar.self))
  }
}
