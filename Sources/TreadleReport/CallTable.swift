// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
import TreadleBase

/// How often items and loops were called, and for how long, while somebody debugs: by their handles, which are not used
/// again. All-zero bytes are an empty one.
struct CallTable {
  struct Record: BitwiseCopyable {
    var handle: UInt
    var count: UInt64 = 0
    var duration: Int64 = 0
    /// The longest call, what was called (0: no item), and the kind of its event.
    var longest: Int64 = 0
    var called: UInt = 0
    var kind: UInt32 = 0
    /// Of a descriptor (`Draining`).
    var drain = DrainRecord()
    /// Of a loop (`Sleeplessness`).
    var quiet = QuietSignal()
    var passes = PassRecord()
  }

  private var records: Buffer<Record>
  /// A record's place, from 1.
  private var places: HashIndex

  func record(of handle: UInt) -> Record? {
    places.find(UInt64(handle)) { records[Int($0) &- 1]?.handle == handle }.flatMap { records[Int($0) &- 1] }
  }

  /// Without memory it is not counted.
  mutating func add(_ handle: UInt, _ duration: Int64, called: UInt, kind: UInt32, code: UInt = 0) {
    withRecord(of: handle) { record in
      record.count &+= 1
      record.duration = Clock.after(duration, from: record.duration)
      if duration >= record.longest { (record.longest, record.called, record.kind) = (duration, called, kind) }
      record.passes.note(called: called, kind: kind, code: code)
    }
  }

  /// Changes a record, which is made if there is none; nil without memory.
  @discardableResult
  mutating func withRecord<Result>(of handle: UInt, _ body: (inout Record) -> Result) -> Result? {
    guard let place = places.find(UInt64(handle), where: { records[Int($0) &- 1]?.handle == handle }) ?? insert(handle),
      var record = records[Int(place) &- 1]
    else { return nil }
    let result = body(&record)
    records.set(Int(place) &- 1, record)
    return result
  }

  /// Changes what is known of a descriptor that was called; nil without memory.
  mutating func withDrain<Result>(of handle: UInt, _ body: (inout DrainRecord) -> Result) -> Result? {
    guard let place = places.find(UInt64(handle), where: { records[Int($0) &- 1]?.handle == handle }),
      var record = records[Int(place) &- 1]
    else { return nil }
    let result = body(&record.drain)
    records.set(Int(place) &- 1, record)
    return result
  }

  private mutating func insert(_ handle: UInt) -> UInt? {
    if records.isFull && records.count >= CallTable.fewRecords { dropGone() }
    guard records.append(Record(handle: handle)) else { return nil }
    if places.insert(UInt64(handle), UInt(records.count)) { return UInt(records.count) }
    records.truncate(records.count &- 1)
    return nil
  }
  private static let fewRecords = 256

  /// Forgets those whose objects are gone, so that the table is no longer than twice what lives.
  private mutating func dropGone() {
    places.free()
    var kept = 0
    for record in records.elements {
      let handle = Handle(bits: record.handle)
      guard let kind = handle.kind, Slab(kind).find(handle) != nil,
        places.insert(UInt64(record.handle), UInt(kept &+ 1))
      else {
        continue
      }
      records.set(kept, record)
      kept &+= 1
    }
    records.truncate(kept)
  }
}
