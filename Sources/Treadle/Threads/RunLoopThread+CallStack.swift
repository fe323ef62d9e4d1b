// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Glibc

// The C library's, which Glibc's module lacks.
@_silgen_name("backtrace")
private func backtrace(_ addresses: UnsafeMutablePointer<UnsafeMutableRawPointer?>, _ room: Int32) -> Int32
@_silgen_name("backtrace_symbols")
private func symbols(
  _ addresses: UnsafePointer<UnsafeMutableRawPointer?>, _ count: Int32
) -> UnsafeMutablePointer<UnsafePointer<CChar>?>?

/// Where the calling thread is (THR-16).
extension RunLoopThread {
  /// No stack is told deeper.
  private static var deepest: Int { 128 }

  /// The addresses to which the calls of the calling thread return, the innermost first: at least one, and at most 128
  /// (THR-16). Any thread. Since 1.0.
  public static var callStackReturnAddresses: [UInt] { addresses().map { UInt(bitPattern: $0) } }

  /// The same as texts for people: the file, the exported symbol if there is one, and the address (THR-16). Any thread.
  /// Since 1.0.
  public static var callStackSymbols: [String] {
    let addresses = addresses()
    guard let found = symbols(addresses, Int32(addresses.count)) else {
      return addresses.map { "[0x" + String(UInt(bitPattern: $0), radix: 16) + "]" }
    }
    defer { free(found) }
    return addresses.indices.map { index in found[index].map { String(cString: $0) } ?? "" }
  }

  private static func addresses() -> [UnsafeMutableRawPointer?] {
    [UnsafeMutableRawPointer?](unsafeUninitializedCapacity: deepest) { buffer, count in
      guard let base = buffer.baseAddress else { return }
      count = Int(backtrace(base, Int32(buffer.count)))
    }
  }
}
