// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A function's type in C's terms, made of Swift's types, with the sizes that the library reads and writes.
struct CallSignature: Sendable {
  let encoding: String
  let resultSize: Int

  /// - Throws: `TreadleError` of the code `.signature` for an encoding that is malformed, or of another size than its
  ///   type.
  init<each Argument: RunLoopArgument>(
    result: (encoding: String, size: Int), _ arguments: repeat (each Argument).Type
  ) throws(TreadleError) {
    var encoding = result.encoding
    var sizes: [Int] = []
    for type in repeat each arguments {
      encoding += type.typeEncoding
      sizes.append(type is String.Type ? MemoryLayout<UInt>.size : CallSignature.size(of: type))
    }
    var signature: OpaquePointer?
    try check(encoding.withCString { treadle_signature_parse($0, &signature) })
    var count = 0
    try check(treadle_signature_get_argument_count(signature, &count))
    if count != sizes.count {
      throw TreadleError(.signature, "“\(encoding)” has \(count) arguments, and \(sizes.count) were given")
    }
    for (index, size) in zip(Int32(-1)..., [result.size] + sizes) {
      var inC = 0, alignment = 0
      try check(treadle_signature_get_layout(signature, index, &inC, &alignment))
      if inC == size { continue }
      let which = index < 0 ? "the result" : "argument \(index)"
      throw TreadleError(.signature, "\(which) of “\(encoding)” has \(inC) bytes in C, and \(size) in Swift")
    }
    self.encoding = encoding
    resultSize = result.size
  }

  private static func size<Value>(of type: Value.Type) -> Int { MemoryLayout<Value>.size }
}

/// Takes the arguments of a call, one after the other. The signature's sizes are those of the types.
struct CallArguments {
  private let places: UnsafePointer<UnsafeRawPointer?>?
  private var index = 0

  init(_ call: borrowing treadle_call) { places = call.arguments }

  mutating func next<Value: RunLoopValue>(_ type: Value.Type) -> Value {
    defer { index &+= 1 }
    return places?[index]?.loadUnaligned(as: type) ?? CallArguments.zero(type)
  }

  /// The value whose bits are zeros.
  static func zero<Value: RunLoopValue>(_ type: Value.Type) -> Value {
    withUnsafeTemporaryAllocation(byteCount: MemoryLayout<Value>.size, alignment: MemoryLayout<Value>.alignment) {
      bytes in
      bytes.initializeMemory(as: UInt8.self, repeating: 0)
      return bytes.loadUnaligned(as: type)
    }
  }
}
