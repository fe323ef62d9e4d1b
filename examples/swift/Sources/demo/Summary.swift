// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What the worker found in a line.
struct LineResult {
  let number: Int
  let length: Int
  let words: Int
  let checksum: UInt32
}

/// The checksum of zip and gzip, gone on with.
func checksum(_ checksum: UInt32, _ bytes: some Sequence<UInt8>) -> UInt32 {
  var sum = ~checksum
  for byte in bytes {
    sum ^= UInt32(byte)
    for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 0 ? 0 : 0xedb8_8320) }
  }
  return ~sum
}

/// A word is a run of ASCII letters, digits and apostrophes, and of bytes from 0x80 on (so that words of UTF-8 text stay whole);
/// ASCII capitals count as small.
func words(of line: ArraySlice<UInt8>) -> [[UInt8]] {
  let small = line.map { $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 }
  return small.split { !($0 >= 97 && $0 <= 122 || $0 >= 48 && $0 <= 57 || $0 == 39 || $0 >= 0x80) }.map(Array.init)
}

/// Totals, the longest line, a checksum and the frequent words.
struct Summary {
  var bytes = 0
  private var lines = 0, words = 0, distinct = 0
  private var longest = (number: 0, length: 0)
  private var sum: UInt32 = 0
  private var frequent: [String] = []

  mutating func add(_ result: LineResult) {
    lines += 1
    words += result.words
    sum = checksum(sum, withUnsafeBytes(of: result.checksum.littleEndian) { Array($0) })
    if result.length > longest.length { longest = (result.number, result.length) }
  }

  mutating func add(_ counts: [[UInt8]: Int]) {
    distinct = counts.count
    let long = counts.filter { $0.key.count >= 4 }
    let first = long.sorted { $0.value == $1.value ? $0.key.lexicographicallyPrecedes($1.key) : $0.value > $1.value }.prefix(5)
    frequent = first.map { "\(Summary.shown($0.key)) (\($0.value))" }
  }

  /// A word as it is printed: cut, and made printable.
  private static func shown(_ word: [UInt8]) -> String {
    let cut = word.prefix(32)
    var text = String(validating: cut, as: UTF8.self)
    // Control characters, which UTF-8 has from U+0080 to U+009F too, are not for a terminal.
    if text?.unicodeScalars.contains(where: { 0x80..<0xa0 ~= $0.value }) == true { text = nil }
    let bytes = cut.map { $0 < 0x80 ? String(UnicodeScalar($0)) : "\\x" + String($0, radix: 16) }
    return (text ?? bytes.joined()) + (word.count > 32 ? "..." : "")
  }

  func show() {
    func show(_ title: String, _ value: Any) { print("  \(title)\(String(repeating: " ", count: 16 - title.count))\(value)") }
    let digits = String(sum, radix: 16)
    print("Summary")
    show("lines", lines)
    show("bytes", bytes)
    show("words", words)
    show("distinct words", distinct)
    show("longest line", "line \(longest.number), \(longest.length) bytes")
    show("checksum", "0x\(String(repeating: "0", count: 8 - digits.count))\(digits)")
    show("frequent words", frequent.isEmpty ? "none" : frequent.joined(separator: ", "))
  }
}
