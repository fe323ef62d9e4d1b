// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// Custom sources: signalled by anybody, performed by a loop (§6 of the rules).
extension Item {
  /// A source. `code` is its plain perform callback, unless the context has another.
  package static func source(
    code: UnsafeMutableRawPointer?, info: UnsafeMutableRawPointer?, options: ItemOptions
  ) throws(Failure) -> Item {
    var traits: UInt8 = 0
    if options.value.order != 0 { traits |= Trait.ordered }
    if options.value.equal != nil { traits |= Trait.comparable }
    if options.value.main.invoke != nil { traits |= Trait.indirect }
    return try create(
      .source, traits: traits, code: code, info: info, context: options.value.isTrivial ? nil : options.value
    ) { $0.setSignalTime(0) }
  }
}
