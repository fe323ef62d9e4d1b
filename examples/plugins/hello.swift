// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// hello.swift: a plugin in Embedded Swift that links nothing, neither Treadle nor Swift's runtime. It repeats a timer and
// greets by its host's log.
//
//   interval-ms    how often; 1,000 by default
//
// It lives on the loop of the thread that starts it, in the default mode. Nothing of it is ended by hand: the timer belongs to
// the plugin's scope.

import CTreadle

private func say(_ text: StaticString) {
  guard let host = treadle_plugin_self else { return }
  host.pointee.log(host, 2, UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self))
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

@_cdecl("hello_init")
public func helloInit(
  _ host: UnsafePointer<treadle_plugin_host>, _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>
) -> treadle_status {
  instance.pointee = nil
  return treadle_status(TREADLE_OK)
}

@_cdecl("hello_start")
public func helloStart(_ instance: UnsafeMutableRawPointer?) -> treadle_status {
  guard let host = treadle_plugin_self else { return treadle_status(TREADLE_E_STATE) }
  return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16) { text in
    var length = 0
    let status = host.pointee.copy_setting(host, "interval-ms", text.baseAddress, text.count, &length)
    guard status == TREADLE_OK, let text = text.baseAddress else { return status }
    return treadle_timer_start(0, interval(text), { _, _ in say("hello from Swift") }, nil, nil)
  }
}

@_cdecl("hello_deinit")
public func helloDeinit(_ instance: UnsafeMutableRawPointer?) {}

/// The interval is what the plugin has started with.
@_cdecl("hello_set")
public func helloSet(
  _ instance: UnsafeMutableRawPointer?, _ key: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>
) -> treadle_status {
  treadle_status(TREADLE_E_STATE)
}
