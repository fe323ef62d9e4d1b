// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem
import TreadleBase

/// Why a function of a plugin is about to fail, as its code says on the thread that is in it
/// (`treadle_plugin_host.fail`).
struct PluginReason {
  /// 0 for none.
  fileprivate var threadID: Int32 = 0
  /// With NUL.
  fileprivate var text:
    (
      UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
      UInt64, UInt64
    ) =
      (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

extension Plugin {
  /// The plugin's code on the calling thread says it. What is not UTF-8 is nothing.
  func giveReason(_ text: UnsafePointer<CChar>) {
    if !UTF8Text.isWellFormed(text) { return }
    var reason = PluginReason(threadID: Runtime.threadID)
    withUnsafeMutableBytes(of: &reason.text) { room in
      if let start = room.baseAddress { memcpy(start, text, UTF8Text.prefix(of: text, atMost: room.count &- 1)) }
    }
    replaceReason(reason)
  }

  /// What was said before a function is called is not about that.
  func forgetReason() { replaceReason(PluginReason()) }

  private func replaceReason(_ reason: PluginReason) {
    try? PluginRegistry.locked { () throws(Failure) in state.pointee.reason = reason }
  }

  /// Calls `body` with what was said on the calling thread since; nil for nothing.
  func withReason<Result>(_ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    var reason = PluginReason()
    try? PluginRegistry.locked { () throws(Failure) in reason = state.pointee.reason }
    if reason.threadID == 0 || reason.threadID != Runtime.threadID { return body(nil) }
    return withUnsafeBytes(of: &reason.text) { bytes in body(bytes.baseAddress?.assumingMemoryBound(to: CChar.self)) }
  }
}
