// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Signatures that are called without libffi: the callbacks that C code writes most, which return
/// nothing and take pointers, or an observer's activity between two.
enum DirectShape {
  case none, pointer, twoPointers, threePointers, fourPointers, observer

  typealias Word = UnsafeMutableRawPointer?
  /// A C function whose type only its signature knows.
  typealias Code = @convention(c) () -> Void

  /// Each argument begins at the next word.
  static let wordSize = MemoryLayout<Word>.size
  /// The largest frame of any shape.
  static let frameSize = 4 * wordSize
  /// The largest frame of a call without libffi: of a shape, or of a plan.
  static var largestFrame: Int { max(frameSize, RegisterPlan.frameSize) }

  /// The shape of a signature, or nil if it needs libffi.
  init?(result: TypeCode, arguments: UnsafeBufferPointer<SignatureValue>) {
    guard result == .void else { return nil }
    if arguments.count == 3, arguments[0].code.isPointer, arguments[1].code == .uint32, arguments[2].code.isPointer {
      self = .observer
      return
    }
    guard arguments.allSatisfy({ $0.code.isPointer }) else { return nil }
    switch arguments.count {
    case 0: self = .none
    case 1: self = .pointer
    case 2: self = .twoPointers
    case 3: self = .threePointers
    case 4: self = .fourPointers
    default: return nil
    }
  }

  /// Calls a function of this shape. `frame` holds the arguments, each at its offset.
  @inline(__always)
  func call(_ code: Code, _ frame: UnsafeRawPointer) {
    switch self {
    case .none:
      code()
    case .pointer:
      typealias Function = @convention(c) (Word) -> Void
      unsafeBitCast(code, to: Function.self)(word(frame, 0))
    case .twoPointers:
      typealias Function = @convention(c) (Word, Word) -> Void
      unsafeBitCast(code, to: Function.self)(word(frame, 0), word(frame, 1))
    case .threePointers:
      typealias Function = @convention(c) (Word, Word, Word) -> Void
      unsafeBitCast(code, to: Function.self)(word(frame, 0), word(frame, 1), word(frame, 2))
    case .fourPointers:
      typealias Function = @convention(c) (Word, Word, Word, Word) -> Void
      unsafeBitCast(code, to: Function.self)(word(frame, 0), word(frame, 1), word(frame, 2), word(frame, 3))
    case .observer:
      typealias Function = @convention(c) (Word, UInt32, Word) -> Void
      let activity = frame.load(fromByteOffset: MemoryLayout<Word>.size, as: UInt32.self)
      unsafeBitCast(code, to: Function.self)(word(frame, 0), activity, word(frame, 2))
    }
  }

  /// Each argument of these shapes begins at the next word, for pointers are aligned so.
  @inline(__always)
  private func word(_ frame: UnsafeRawPointer, _ index: Int) -> Word {
    frame.load(fromByteOffset: index &* MemoryLayout<Word>.size, as: Word.self)
  }
}
