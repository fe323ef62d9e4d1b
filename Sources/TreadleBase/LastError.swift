// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

/// The calling thread's last error. Where its texts are is kept, and they are put together when somebody asks.
package enum LastError {
  @inline(never)
  package static func record(_ failure: Failure, in function: StaticString) {
    let last = treadle_system_failure()
    last.pointee.sequence &+= 1
    last.pointee.code = failure.status
    last.pointee.os_errno = failure.osError
    last.pointee.subject = failure.subject.cText
    last.pointee.text = failure.text.cText
    last.pointee.place = nil
    last.pointee.function = function.cText
    guard let detail = last.pointee.detail else { return }
    if detail.pointee.is_new == 0 { detail.pointee.text.0 = 0 }
    detail.pointee.is_new = 0
  }

  /// Completes the failure that was just recorded.
  package static func add(_ place: StaticString, _ number: Int) {
    treadle_system_failure().pointee.place = place.cText
    treadle_system_failure().pointee.number = Int64(number)
  }

  /// Completes the failure that will be recorded next, by up to three texts, which may be a client's: what of them is
  /// not UTF-8 is replaced. Without memory it stays as it is.
  @inline(never)
  package static func detail(
    _ text: UnsafePointer<CChar>?, _ more: UnsafePointer<CChar>? = nil, _ most: UnsafePointer<CChar>? = nil
  ) {
    guard let detail = needDetail() else { return }
    detail.pointee.is_new = 1
    withUnsafeMutableBytes(of: &detail.pointee.text) { room in
      var written = FixedText(room)
      if let text { written.appendValid(text) }
      if text != nil && more != nil { written.append(": ") }
      if let more { written.appendValid(more) }
      if let most {
        written.append(": ")
        written.appendValid(most)
      }
      written.dropPartOfCharacter()
    }
  }

  private static func needDetail() -> UnsafeMutablePointer<treadle_system_detail>? {
    let last = treadle_system_failure()
    if let detail = last.pointee.detail { return detail }
    guard (try? Runtime.watchThread()) != nil,
      let memory = treadle_system_allocate(MemoryLayout<treadle_system_detail>.size)
    else { return nil }
    last.pointee.detail = memory.bindMemory(to: treadle_system_detail.self, capacity: 1)
    return last.pointee.detail
  }

  /// The thread ends.
  package static func forget() {
    let last = treadle_system_failure()
    treadle_system_free(last.pointee.detail)
    last.pointee.detail = nil
  }

  /// Runs client code between a failure's completion and its record.
  package static func keepingDetail(_ body: () -> Void) {
    guard let detail = treadle_system_failure().pointee.detail, detail.pointee.is_new != 0 else { return body() }
    let kept = detail.pointee
    detail.pointee.is_new = 0
    body()
    detail.pointee = kept
  }

  /// The failure that was completed is nobody's: it was dealt with.
  package static func forgetDetail() { treadle_system_failure().pointee.detail?.pointee.is_new = 0 }

  /// What completes the failure that is not recorded yet; `body` is not called where nothing does.
  package static func withDetail(_ body: (UnsafePointer<CChar>) -> Void) {
    guard let detail = treadle_system_failure().pointee.detail, detail.pointee.is_new != 0 else { return }
    detail.pointee.is_new = 0
    withUnsafeBytes(of: &detail.pointee.text) { bytes in
      if let start = bytes.baseAddress { body(start.assumingMemoryBound(to: CChar.self)) }
    }
  }

  package static func write(function: UnsafeMutableRawBufferPointer, message: UnsafeMutableRawBufferPointer) {
    let last = treadle_system_failure()
    var name = FixedText(function)
    var text = FixedText(message)
    guard let function = last.pointee.function, let subject = last.pointee.subject, let reason = last.pointee.text
    else {
      return
    }
    name.append(function)
    text.append(subject)
    text.append(" ")
    text.append(reason)
    if let detail = last.pointee.detail, detail.pointee.text.0 != 0 {
      text.append(": ")
      withUnsafeBytes(of: &detail.pointee.text) { bytes in
        if let start = bytes.baseAddress { text.append(start.assumingMemoryBound(to: CChar.self)) }
      }
    }
    if let place = last.pointee.place {
      text.append(" (")
      text.append(place)
      text.append(last.pointee.number)
      text.append(")")
    }
    text.dropPartOfCharacter()
  }
}
