// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// Calls that load the argument registers, all of them, and take the result from the first general or vector register.
/// The function's own type may have fewer arguments, and a narrower result.
enum RegisterCall {
  typealias Word = UInt64

  // Embedded Swift for 64-bit Arm is compiled as for no system at all: os(Linux) is false there.
  #if arch(x86_64) && _pointerBitWidth(_64)
    static let generalRegisters = 6
    static let vectorRegisters = 8

    @inline(__always)
    static func forWord(_ code: DirectShape.Code, _ general: UnsafePointer<Word>) -> Word {
      typealias Function = @convention(c) (Word, Word, Word, Word, Word, Word) -> Word
      return unsafeBitCast(code, to: Function.self)(
        general[0], general[1], general[2], general[3], general[4], general[5])
    }
    @inline(__always)
    static func forWord(
      _ code: DirectShape.Code, _ general: UnsafePointer<Word>, _ vector: UnsafePointer<Double>
    ) -> Word {
      typealias Function =
        @convention(c) (
          Word, Word, Word, Word, Word, Word, Double, Double, Double, Double, Double, Double, Double, Double
        ) -> Word
      return unsafeBitCast(code, to: Function.self)(
        general[0], general[1], general[2], general[3], general[4], general[5],
        vector[0], vector[1], vector[2], vector[3], vector[4], vector[5], vector[6], vector[7])
    }
    @inline(__always)
    static func forNumber(_ code: DirectShape.Code, _ general: UnsafePointer<Word>) -> Double {
      typealias Function = @convention(c) (Word, Word, Word, Word, Word, Word) -> Double
      return unsafeBitCast(code, to: Function.self)(
        general[0], general[1], general[2], general[3], general[4], general[5])
    }
    @inline(__always)
    static func forNumber(
      _ code: DirectShape.Code, _ general: UnsafePointer<Word>, _ vector: UnsafePointer<Double>
    ) -> Double {
      typealias Function =
        @convention(c) (
          Word, Word, Word, Word, Word, Word, Double, Double, Double, Double, Double, Double, Double, Double
        ) -> Double
      return unsafeBitCast(code, to: Function.self)(
        general[0], general[1], general[2], general[3], general[4], general[5],
        vector[0], vector[1], vector[2], vector[3], vector[4], vector[5], vector[6], vector[7])
    }
  #elseif arch(arm64) && _pointerBitWidth(_64)
    static let generalRegisters = 8
    static let vectorRegisters = 8

    @inline(__always)
    static func forWord(_ code: DirectShape.Code, _ general: UnsafePointer<Word>) -> Word {
      typealias Function = @convention(c) (Word, Word, Word, Word, Word, Word, Word, Word) -> Word
      return unsafeBitCast(code, to: Function.self)(
        general[0], general[1], general[2], general[3], general[4], general[5], general[6], general[7])
    }
    @inline(__always)
    static func forWord(
      _ code: DirectShape.Code, _ general: UnsafePointer<Word>, _ vector: UnsafePointer<Double>
    ) -> Word {
      typealias Function =
        @convention(c) (
          Word, Word, Word, Word, Word, Word, Word, Word, Double, Double, Double, Double, Double, Double, Double, Double
        ) -> Word
      return unsafeBitCast(code, to: Function.self)(
        general[0], general[1], general[2], general[3], general[4], general[5], general[6], general[7],
        vector[0], vector[1], vector[2], vector[3], vector[4], vector[5], vector[6], vector[7])
    }
    @inline(__always)
    static func forNumber(_ code: DirectShape.Code, _ general: UnsafePointer<Word>) -> Double {
      typealias Function = @convention(c) (Word, Word, Word, Word, Word, Word, Word, Word) -> Double
      return unsafeBitCast(code, to: Function.self)(
        general[0], general[1], general[2], general[3], general[4], general[5], general[6], general[7])
    }
    @inline(__always)
    static func forNumber(
      _ code: DirectShape.Code, _ general: UnsafePointer<Word>, _ vector: UnsafePointer<Double>
    ) -> Double {
      typealias Function =
        @convention(c) (
          Word, Word, Word, Word, Word, Word, Word, Word, Double, Double, Double, Double, Double, Double, Double, Double
        ) -> Double
      return unsafeBitCast(code, to: Function.self)(
        general[0], general[1], general[2], general[3], general[4], general[5], general[6], general[7],
        vector[0], vector[1], vector[2], vector[3], vector[4], vector[5], vector[6], vector[7])
    }
  #else
    static let generalRegisters = 0
    static let vectorRegisters = 0

    // Never called: there is no plan.
    static func forWord(_ code: DirectShape.Code, _ general: UnsafePointer<Word>) -> Word { 0 }
    static func forWord(
      _ code: DirectShape.Code, _ general: UnsafePointer<Word>, _ vector: UnsafePointer<Double>
    ) -> Word { 0 }
    static func forNumber(_ code: DirectShape.Code, _ general: UnsafePointer<Word>) -> Double { 0 }
    static func forNumber(
      _ code: DirectShape.Code, _ general: UnsafePointer<Word>, _ vector: UnsafePointer<Double>
    ) -> Double { 0 }
  #endif
}
