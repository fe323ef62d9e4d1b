// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// hello.swift: a plugin in Embedded Swift, all of it in this file, that links nothing, neither Treadle nor Swift's runtime. It
// repeats a timer and greets by its host's log.
//
//   interval-ms    how often; 1,000 by default
//
// It lives on the loop of the thread that starts it, in the default mode. Nothing of it is ended by hand: the timer belongs to
// the plugin's scope.

import CTreadle

/// The variable that Treadle's functions go through, which Swift takes from no header: the host stores here what it gives.
@_silgen_name("treadle_plugin_self")
nonisolated(unsafe) var pluginSelf: UnsafePointer<treadle_plugin_host>?

private func text(_ text: StaticString) -> UnsafePointer<CChar> {
  UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// The interval in nanoseconds. The host has seen that it is a number in the bounds of the description.
private func interval(_ text: UnsafePointer<CChar>) -> Int64 {
  var (milliseconds, next) = (Int64(0), text)
  while next.pointee != 0 {
    milliseconds = milliseconds * 10 + Int64(next.pointee) - 48
    next += 1
  }
  return milliseconds * 1_000_000
}

private func start() -> treadle_status {
  guard let host = pluginSelf else { return treadle_status(TREADLE_E_STATE) }
  return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { room in
    var length = 0
    let status = host.pointee.copy_setting(host, "interval-ms", room.baseAddress, room.count, &length)
    guard status == TREADLE_OK, let value = room.baseAddress else { return status }
    let greet: treadle_timer_fn = { _, _ in
      if let host = pluginSelf { host.pointee.log(host, 2, text("hello from Swift")) }
    }
    return treadle_timer_start(0, interval(value), greet, nil, nil)
  }
}

// MARK: What it says of itself

// In static memory: the same whenever it is asked for, and gone with the library.
private nonisolated(unsafe) var setting = treadle_plugin_setting()
private nonisolated(unsafe) var description = treadle_plugin_description()

@_cdecl("treadle_plugin_query")
public func query(_ abi: UInt32) -> UnsafePointer<treadle_plugin_description>? {
  setting.struct_size = MemoryLayout<treadle_plugin_setting>.size
  setting.key = text("interval-ms")
  setting.type = UInt32(TREADLE_SETTING_INTEGER)
  setting.default_value = text("1000")
  setting.minimum = 1
  setting.maximum = 9_999_999
  setting.description = text("how often to greet")

  description.struct_size = MemoryLayout<treadle_plugin_description>.size
  description.abi_min = UInt32(TREADLE_PLUGIN_ABI)
  description.abi_max = UInt32(TREADLE_PLUGIN_ABI)
  description.behaviour = UInt32(TREADLE_PLUGIN_BEHAVIOUR)
  withUnsafeMutablePointer(to: &pluginSelf) { description.`self` = $0 }
  description.id = text("org.example.hello")
  description.name = text("Hello")
  description.version = text("1.0")
  description.flags = UInt32(TREADLE_PLUGIN_MAY_UNMAP)
  withUnsafePointer(to: &setting) { description.settings = $0 }
  description.setting_count = 1
  description.`init` = { _, instance in
    instance?.pointee = nil
    return treadle_status(TREADLE_OK)
  }
  description.start = { _ in start() }
  description.deinit = { _ in }
  // The interval is what the plugin has started with.
  description.set = { _, _, _ in treadle_status(TREADLE_E_STATE) }
  return withUnsafePointer(to: &description) { $0 }
}
