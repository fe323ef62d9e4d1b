// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// The result of a signature, or one of its arguments.
package struct SignatureValue: BitwiseCopyable, Sendable {
  /// What kind of type it is.
  package let code: TypeCode
  /// Its size and alignment.
  package let layout: TypeLayout
  /// Where an argument lies in a call's frame, as what it is passed.
  package let offset: Int
  /// Where it lies among copies of all arguments that are laid out as the members of a struct.
  let copyOffset: Int
  /// What it says of itself besides.
  package let qualifiers: ArgumentQualifiers
  /// The frame has it as another type (`Promotion`).
  package let isPromoted: Bool

  /// libffi has it as a pointer to it (`ForeignReference`).
  let isByReference: Bool

  /// Whether it is copied with the text that it points to.
  var isText: Bool { code == .string && qualifiers.isByCopy }

  init(_ node: TypeNode, offset: Int, copyOffset: Int, isPromoted: Bool, isByReference: Bool) {
    code = node.code
    layout = node.layout
    self.offset = offset
    self.copyOffset = copyOffset
    qualifiers = node.qualifiers
    self.isPromoted = isPromoted
    self.isByReference = isByReference
  }
}
