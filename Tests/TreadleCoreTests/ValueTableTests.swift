// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import Testing

@testable import TreadleBase

@Suite("Values by the text of their keys")
struct ValueTableTests {
  @Test("a table gives a key's last value, counts what is in use, and is empty again")
  func values() throws {
    var table = ValueTable()
    var replaced: ValueTable.Pointer?
    for number in 1...500 {
      let entry = try #require(ValueTable.make("key \(number % 400)", UnsafeMutableRawPointer(bitPattern: number), nil, nil))
      let isStored = table.put(entry, replaced: &replaced)
      #expect(isStored && (replaced != nil) == (number > 400) && entry.pointee.references == 1)
      if let replaced {
        #expect(replaced.pointee.value == UnsafeMutableRawPointer(bitPattern: number - 400))
        treadle_system_free(replaced)
      }
    }
    let entry = try #require(table.find("key 7"))
    #expect(entry.pointee.value == UnsafeMutableRawPointer(bitPattern: 407) && table.find("key") == nil)
    table.take(entry)
    treadle_system_free(entry)
    #expect(table.find("key 7") == nil)
    var left = 0
    while let any = table.takeAny() {
      treadle_system_free(any)
      left += 1
    }
    #expect(left == 399 && table.find("key 8") == nil)
  }
}
