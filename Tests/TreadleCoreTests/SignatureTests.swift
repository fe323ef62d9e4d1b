// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Testing
import TreadleCore
import TreadleBase

@testable import TreadleCalls

/// The grammar of type encodings. The C tests go through the same parser with far more inputs; here its
/// parts are looked at from the inside. No numbered rule speaks of signatures.
@Suite("Signatures") struct SignatureTests {
  /// What a parse gives, in words.
  private struct Parsed: Equatable {
    var canonical = ""
    var prototype = ""
    var refusal: Refusal?
  }

  private struct Refusal: Equatable {
    let position: Int
    let reason: String
  }

  private static func parse(_ encoding: String) -> Parsed {
    let bytes = Array(encoding.utf8)
    return bytes.withUnsafeBufferPointer { text in
      do throws(SignatureError) {
        let nodes = try EncodingParser.parse(text)
        defer { nodes.free() }
        return Parsed(
          canonical: written { CanonicalText.write(nodes, to: &$0) },
          prototype: written { PrototypeWriter.write(nodes, to: &$0) })
      } catch {
        guard case .refused(let position, let reason) = error else { return Parsed() }
        return Parsed(refusal: Refusal(position: position, reason: reason.description))
      }
    }
  }

  private static func written(_ write: (inout TextWriter) -> Void) -> String {
    var bytes = [UInt8](repeating: 0, count: 8192)
    let length = bytes.withUnsafeMutableBufferPointer { buffer in
      var writer = TextWriter(buffer)
      write(&writer)
      return writer.length
    }
    return String(decoding: bytes.prefix(length), as: UTF8.self)
  }

  @Test(
    "An encoding is reduced to what a call depends on",
    arguments: [
      ("v", "v", "void f(void)"),
      ("i^vq", "i^vq", "int32_t f(void *, int64_t)"),
      ("Vv16r^v0n*8", "Vv^v*", "/* oneway */ void f(void *, char *)"),
      ("irNO^v0oN*8Oi", "iON^vN*i", "int32_t f(/* by copy */ /* in and out */ void *, /* in and out */ char *, int32_t)"),
      ("i*8...c16fO*", "i*...cfO*", "int32_t f(char *, ... /* int8_t, float, char * */)"),
      ("i^v...", "i^v...", "int32_t f(void *, ...)"),
      ("^?^?", "^?^?", "void (*f(void (*)(void)))(void)"),
      ("{point=\"x\"d\"y\"d}^{list=^{list}(u=ic)b3@?}", "{=dd}^v", "struct { double; double; } f(void *)"),
      (
        "v{a=[02[3s]]{b=[4^?]}}", "v{=[2[3s]]{=[4^?]}}",
        "void f(struct { int16_t[2][3]; struct { void (*[4])(void); }; })"
      ),
    ])
  func reduction(encoding: String, canonical: String, prototype: String) {
    let parsed = SignatureTests.parse(encoding)
    #expect(parsed == Parsed(canonical: canonical, prototype: prototype))
    // The canonical text is itself an encoding of the same signature.
    #expect(SignatureTests.parse(canonical) == parsed)
    #expect(canonical.utf8.count <= encoding.utf8.count)
  }

  @Test(
    "A refusal says where and why",
    arguments: [
      ("", 0, "is empty: the result's type is missing"),
      ("vl", 1, "has l or L, whose size depends on the platform: use i, I, q or Q"),
      ("v(u=i)", 1, "has a union by value, which cannot be passed"),
      ("v{a=b3}", 4, "has a bit-field, which cannot be passed"),
      ("v@", 1, "has an object, which is not supported"),
      ("v[3i]", 1, "has an array as argument or result: use ^, or a struct"),
      ("v{a}", 1, "has an incomplete struct by value"),
      ("v{a=}", 1, "has an empty struct by value"),
      ("v{a=[64[64[64q]]]}", 7, "has more than 4,096 bytes by value"),
      ("v{a=i", 5, "lacks a closing bracket"),
      ("vv", 1, "has v (void) by value elsewhere than as the result"),
      ("vVi", 1, "has V (oneway) elsewhere than before the result"),
      ("v^", 2, "ends where a type is expected"),
      ("v...", 1, "has ... with no argument before it"),
      ("vi...i...", 6, "has ... twice"),
      ("vi..", 2, "has dots that are not three: ... is what variadic arguments follow"),
      ("v!", 1, "has a character that does not begin a type"),
    ])
  func refusal(encoding: String, position: Int, reason: String) {
    #expect(SignatureTests.parse(encoding).refusal == Refusal(position: position, reason: reason))
  }

  @Test("Limits are exact")
  func limits() {
    func refusal(_ encoding: String) -> Int? { SignatureTests.parse(encoding).refusal?.position }
    func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
    #expect(refusal("v" + many("i", EncodingLimits.arguments)) == nil)
    #expect(refusal("v" + many("i", EncodingLimits.arguments + 1)) == 33)
    #expect(refusal("v" + many("^", EncodingLimits.nesting) + "v") == nil)
    #expect(refusal("v" + many("^", EncodingLimits.nesting + 1) + "v") == 33)
    #expect(refusal("v^{" + many("n", EncodingLimits.length - 4) + "}") == nil)
    #expect(refusal("v^{" + many("n", EncodingLimits.length - 3) + "}") == EncodingLimits.length)
    #expect(refusal("v{=[4096c]}") == nil)
    #expect(refusal("v{=[4097c]}") == 3)
    // Behind a pointer nothing is passed, so nothing is too large.
    #expect(refusal("v^{" + "=" + many("d", 1000) + "}") == nil)
  }

  @Test(
    "Layouts are those of C",
    arguments: [
      ("v{=cd}", 16, 8), ("v{=dc}", 16, 8), ("v{=cs}", 4, 2), ("v{=[3c]}", 3, 1), ("v{=[3s]c}", 8, 2),
      ("v{=c{=cq}f}", 32, 8), ("v{=[2{=if}]B}", 20, 4), ("v{=^?c}", 16, 8),
    ])
  func layouts(encoding: String, size: Int, alignment: Int) throws {
    let signature = try intern(encoding).signature
    let layout = try #require(signature.argument(0)).layout
    #expect(layout.size == size)
    #expect(layout.alignment == alignment)
  }

  @Test("Arguments lie in the frame as members of a struct do")
  func frames() throws {
    let signature = try intern("vcdsi{=[3c]}q").signature
    let offsets = (0..<signature.argumentCount).compactMap { signature.argument($0)?.offset }
    #expect(offsets == [0, 8, 16, 20, 24, 32])
    #expect(signature.frameSize == 40)
    #expect(signature.argument(6) == nil && signature.argument(-1) == nil)
  }

  @Test(
    "The common callbacks need no libffi",
    arguments: [
      ("v", true), ("v^v", true), ("v*^?", true), ("v^v^v^v^v", true), ("v^vI^v", true), ("v^v^v^v^v^v", false),
      ("i^v", false), ("v^vi^v", false), ("vI^v^v", false), ("vq", false), ("v{=^v}", false),
    ])
  func shapes(encoding: String, direct: Bool) throws {
    #expect((try intern(encoding).signature.shape != nil) == direct)
  }

  #if arch(x86_64) || arch(arm64)
    /// The registers in which each argument travels: general ones from 0, vector ones behind them.
    private static func registers(_ encoding: String) throws -> [Int]? {
      let signature = try intern(encoding).signature
      guard signature.plan != nil else { return nil }
      return (0..<signature.argumentCount).compactMap { signature.argument($0).map { $0.offset / 8 } }
    }

    @Test("What travels in registers is called from their image, and anything else by libffi")
    func plans() throws {
      let first = RegisterCall.generalRegisters
      #expect(try SignatureTests.registers("qdqfi") == [first, 0, first + 1, 1])
      #expect(try SignatureTests.registers("v") == [])
      for (code, most, start) in [("q", first, 0), ("d", RegisterCall.vectorRegisters, first)] {
        let full = "v" + String(repeating: code, count: most)
        #expect(try SignatureTests.registers(full) == Array(start..<start + most))
        #expect(try SignatureTests.registers(full + code) == nil)
      }
      for encoding in ["{=q}", "v{=q}", "v{=d}", "vq...q", "vq..."] { #expect(try SignatureTests.registers(encoding) == nil) }
      // Copies of arguments lie as close as ever.
      let signature = try intern("vcdsif").signature
      #expect((0..<signature.argumentCount).compactMap { signature.argument($0)?.copyOffset } == [0, 8, 16, 20, 24])
      #expect(signature.copySize == 28)
    }
  #endif

  @Test("Equal signatures are one, whoever parses first")
  func interning() async throws {
    let encodings = (1...200).map { "v" + "{=[\($0)S]}" + ($0 % 2 == 0 ? "q" : "*") }
    let results = await withTaskGroup(of: [UInt].self) { group in
      for _ in 0..<8 { group.addTask { encodings.compactMap { try? intern($0).handle.bits } } }
      return await group.reduce(into: [[UInt]]()) { $0.append($1) }
    }
    let first = try #require(results.first)
    #expect(Set(first).count == encodings.count)
    #expect(results.allSatisfy { $0 == first })
    #expect(try SignatureTable.find(first[0], "signature") == intern("vr{name=[1S]}*").signature)
  }
}
