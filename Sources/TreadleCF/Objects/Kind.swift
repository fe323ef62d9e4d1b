// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// The types of objects; the value is the CFTypeID.
enum Kind: UInt32 {
  case allocator = 1
  case null
  case boolean
  case string
  case data
  case date
  case number
  case array
  case set
  case dictionary
  case runLoop  // Treadle's own handles stand for these
  case source
  case timer
  case observer
  case socket
  case fileDescriptor
  case messagePort
  case machPort

  var typeID: UInt { UInt(rawValue) }

  var name: StaticString {
    switch self {
    case .allocator: "CFAllocator"
    case .null: "CFNull"
    case .boolean: "CFBoolean"
    case .string: "CFString"
    case .data: "CFData"
    case .date: "CFDate"
    case .number: "CFNumber"
    case .array: "CFArray"
    case .set: "CFSet"
    case .dictionary: "CFDictionary"
    case .runLoop: "CFRunLoop"
    case .source: "CFRunLoopSource"
    case .timer: "CFRunLoopTimer"
    case .observer: "CFRunLoopObserver"
    case .socket: "CFSocket"
    case .fileDescriptor: "CFFileDescriptor"
    case .messagePort: "CFMessagePort"
    case .machPort: "CFMachPort"
    }
  }
}
