// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// One callout, described for callbacks that get all of them in one shape: hosts and routines.
///
/// The layout is that of `treadle_event` in the C header; a test compares the two.
package struct Event {
  package enum Kind {
    package static let perform: UInt32 = 1
    package static let schedule: UInt32 = 2
    package static let cancel: UInt32 = 3
    package static let timer: UInt32 = 4
    package static let observer: UInt32 = 5
    package static let descriptor: UInt32 = 6
    package static let block: UInt32 = 7
    package static let request: UInt32 = 8
    package static let thread: UInt32 = 9
    package static let notification: UInt32 = 10
    package static let release: UInt32 = 11
    package static let call: UInt32 = 12
    package static let interrupt: UInt32 = 13
    package static let message: UInt32 = 14
    package static let messagePort: UInt32 = 15
  }

  package var structSize: Int
  package var kind: UInt32
  package var value: UInt32
  package var token: UInt64
  package var loop: OpaquePointer?
  package var subject: UnsafeMutableRawPointer?
  package var mode: UnsafePointer<CChar>?
  package var late: Int64
  package var descriptor: Int32
  package var reserved: UInt32
  package var argument: UnsafeMutableRawPointer?

  @inline(__always)
  init(
    _ kind: UInt32, value: UInt32 = 0, token: UInt64, loop: OpaquePointer?, subject: UInt, mode: UnsafePointer<CChar>?
  ) {
    structSize = MemoryLayout<Event>.size
    self.kind = kind
    self.value = value
    self.token = token
    self.loop = loop
    self.subject = UnsafeMutableRawPointer(bitPattern: subject)
    self.mode = mode
    late = 0
    descriptor = -1
    reserved = 0
    argument = nil
  }
}
