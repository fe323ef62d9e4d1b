// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

internal import CFFI

/// A way around an error of libffi on x86-64 (seen in 3.4.4). A struct of 9 to 16 bytes, whose first half goes into an
/// integer register and whose second half into a vector register, is written to the former as a whole: if that is the
/// last integer register, what lies behind it is the first vector register, with an earlier argument.
///
/// Such a struct is given to libffi as two arguments, which travel in the same two registers. There is one in a
/// signature at most, as there is one last register. Closures are not concerned.
struct ForeignSplit {
  /// The type with one argument more.
  var type = ffi_cif()
  /// The struct's index.
  let index: Int

  /// Where the second half begins.
  static let half = 8
  private static let generalRegisters = 6
  private static let vectorRegisters = 8

  /// What `prepare` needs.
  static func room(_ count: Int) -> Int {
    Arena.room(ForeignSplit.self, 1) &+ Arena.room(FFITypes.TypePointer?.self, count &+ 1)
  }

  /// The index of the struct in question, if the signature has one.
  static func find(_ nodes: TypeNodes) -> Int? {
    #if arch(x86_64)
      var general = nodes[0].code == .structure && nodes[0].layout.size > 16 ? 1 : 0
      var (vector, argument, index) = (0, 0, nodes[0].end)
      while index < nodes.count {
        let needs = registers(nodes, index)
        if general &+ needs.general <= generalRegisters && vector &+ needs.vector <= vectorRegisters {
          let isLast = general &+ needs.general == generalRegisters
          if needs.isMixed && isLast && vector > 0 { return argument }
          general &+= needs.general
          vector &+= needs.vector
        }
        argument &+= 1
        index = nodes[index].end
      }
    #endif
    return nil
  }

  private struct Registers {
    var general = 0
    var vector = 0
    /// An integer register for the first half, a vector register for the second.
    var isMixed = false
  }

  /// The registers that an argument takes if there are as many: none in memory.
  private static func registers(_ nodes: TypeNodes, _ index: Int) -> Registers {
    let node = nodes[index]
    guard node.code == .structure else { return isVector(node.code) ? Registers(vector: 1) : Registers(general: 1) }
    guard node.layout.size <= 2 &* half else { return Registers() }
    var general: (first: Bool, second: Bool) = (false, false)
    findIntegers(nodes, index, 0, &general)
    let isDouble = node.layout.size > half
    var needs = Registers()
    needs.general = (general.first ? 1 : 0) &+ (isDouble && general.second ? 1 : 0)
    needs.vector = (isDouble ? 2 : 1) &- needs.general
    needs.isMixed = isDouble && general.first && !general.second
    return needs
  }

  private static func isVector(_ code: TypeCode) -> Bool { code == .float || code == .double }

  /// Which halves of a type, at an offset inside the struct, have anything but floating-point numbers.
  private static func findIntegers(
    _ nodes: TypeNodes, _ index: Int, _ offset: Int, _ general: inout (first: Bool, second: Bool)
  ) {
    let node = nodes[index]
    switch node.code {
    case .structure:
      var layout = TypeLayout()
      var member = index &+ 1
      while member < node.end {
        findIntegers(nodes, member, offset &+ layout.append(nodes[member].layout), &general)
        member = nodes[member].end
      }
    case .array:
      var number = 0
      while number < node.count {
        findIntegers(nodes, index &+ 1, offset &+ number &* nodes[index &+ 1].layout.size, &general)
        number &+= 1
      }
    default:
      if isVector(node.code) { return }
      if offset < half { general.first = true } else { general.second = true }
    }
  }

  /// Prepares the type with one argument more; nil only if the room was measured wrongly.
  static func prepare(
    _ signature: Signature, at index: Int, _ result: FFITypes.TypePointer,
    _ arguments: UnsafeMutablePointer<FFITypes.TypePointer?>, in arena: inout Arena
  ) -> UnsafeMutablePointer<ForeignSplit>? {
    let count = signature.argumentCount
    guard let split = arena.take(ForeignSplit.self, 1),
      let types = arena.take(FFITypes.TypePointer?.self, count &+ 1), let value = signature.argument(index)
    else { return nil }
    split.initialize(to: ForeignSplit(index: index))
    let isFloat = value.layout.size &- half == MemoryLayout<Float>.size
    var position = 0
    while position <= count {
      let type: FFITypes.TypePointer?
      if position == index {
        type = treadle_ffi_uint64()
      } else if position == index &+ 1 {
        type = isFloat ? treadle_ffi_float() : treadle_ffi_double()
      } else {
        type = arguments[position < index ? position : position &- 1]
      }
      (types + position).initialize(to: type)
      position &+= 1
    }
    let number = UInt32(truncatingIfNeeded: count &+ 1)
    let status: ffi_status
    if let fixedCount = signature.body.pointee.fixedCount {
      let fixed = UInt32(truncatingIfNeeded: index < fixedCount ? fixedCount &+ 1 : fixedCount)
      status = ffi_prep_cif_var(&split.pointee.type, FFI_DEFAULT_ABI, fixed, number, result, types)
    } else {
      status = ffi_prep_cif(&split.pointee.type, FFI_DEFAULT_ABI, number, result, types)
    }
    return status == FFI_OK ? split : nil
  }
}
