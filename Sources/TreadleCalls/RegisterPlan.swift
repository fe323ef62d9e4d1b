// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// A signature all of whose arguments travel in registers: such a function is called without libffi, from a frame that
/// is the image of the registers. All are loaded, and the function looks at those that its type has.
///
/// The calling conventions of x86-64 and of 64-bit Arm agree as far as that goes: integers and pointers take the next
/// general register, floating-point numbers the next vector register, and who needs less ignores the rest.
struct RegisterPlan: BitwiseCopyable {
  typealias Word = RegisterCall.Word

  /// What becomes of the result.
  private enum Result: UInt8 {
    case nothing, byte, half, word, long, float, double
  }

  private let result: Result
  private var generalCount = 0
  private var vectorCount = 0

  private static let generalRegisters = RegisterCall.generalRegisters
  private static let vectorRegisters = RegisterCall.vectorRegisters
  /// Whether this processor's convention is known.
  static var isKnown: Bool { generalRegisters != 0 }

  private static let generalSize = generalRegisters * MemoryLayout<Word>.size
  /// The largest frame of any plan.
  static let frameSize = generalSize + vectorRegisters * MemoryLayout<Word>.size

  /// The plan of a function without arguments; nil if its result does not come in a register.
  init?(result code: TypeCode) {
    guard RegisterPlan.isKnown else { return nil }
    switch code {
    case .void: result = .nothing
    case .int8, .uint8, .bool: result = .byte
    case .int16, .uint16: result = .half
    case .int32, .uint32: result = .word
    case .int64, .uint64, .pointer, .string, .function: result = .long
    case .float: result = .float
    case .double: result = .double
    case .structure, .array: return nil
    }
  }

  /// Where the next argument lies in the frame; nil if it has no register.
  mutating func place(_ code: TypeCode) -> Int? {
    switch code {
    case .structure, .array, .void: return nil
    case .float, .double:
      guard vectorCount < RegisterPlan.vectorRegisters else { return nil }
      vectorCount &+= 1
      return RegisterPlan.generalSize &+ (vectorCount &- 1) &* MemoryLayout<Word>.size
    default:
      guard generalCount < RegisterPlan.generalRegisters else { return nil }
      generalCount &+= 1
      return (generalCount &- 1) &* MemoryLayout<Word>.size
    }
  }

  /// The image without the registers behind the last that is used.
  var frameSize: Int { vectorCount == 0 ? RegisterPlan.generalSize : RegisterPlan.frameSize }

  /// What an argument is passed as. Some compilers take it that the caller has widened what is narrower than an int.
  static func passed(_ code: TypeCode) -> TypeCode { code == .float ? code : Promotion.promoted(code) }

  // MARK: Calling

  /// Calls a function of this plan. `frame` has `frameSize` bytes. `room` has room for the result's type, and no
  /// alignment is asked of it; nil drops the result.
  @inline(__always)
  func call(_ code: DirectShape.Code, _ frame: UnsafeRawPointer, result room: UnsafeMutableRawPointer?) {
    let general = frame.assumingMemoryBound(to: Word.self)
    let vector = (frame + RegisterPlan.generalSize).assumingMemoryBound(to: Double.self)
    if result == .float || result == .double {
      let number =
        vectorCount == 0 ? RegisterCall.forNumber(code, general) : RegisterCall.forNumber(code, general, vector)
      store(number.bitPattern, to: room)
    } else {
      store(
        vectorCount == 0 ? RegisterCall.forWord(code, general) : RegisterCall.forWord(code, general, vector), to: room)
    }
  }

  /// What lies behind a narrow result in its register means nothing.
  @inline(__always)
  private func store(_ word: Word, to room: UnsafeMutableRawPointer?) {
    guard let room else { return }
    switch result {
    case .nothing: break
    case .byte: room.storeBytes(of: UInt8(truncatingIfNeeded: word), as: UInt8.self)
    case .half: room.storeBytes(of: UInt16(truncatingIfNeeded: word), as: UInt16.self)
    case .word, .float: room.storeBytes(of: UInt32(truncatingIfNeeded: word), as: UInt32.self)
    case .long, .double: room.storeBytes(of: word, as: Word.self)
    }
  }
}
