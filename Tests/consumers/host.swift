// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// A Swift program that uses the C library beside its own Swift runtime: classes, closures and strings of
// the host live on while loops run, so neither runtime took the other's place.
import CTreadle

final class Host {
  var performed = 0
  var greetings: [String] = []
}

let host = Host()
let loop = treadle_loop_current()
var context = treadle_source_context()
context.struct_size = MemoryLayout<treadle_source_context>.size
context.info = Unmanaged.passUnretained(host).toOpaque()
context.perform = { source, info in
  let host = Unmanaged<Host>.fromOpaque(info!).takeUnretainedValue()
  host.performed += 1
  host.greetings += (0..<1000).map { "hello \($0) from pass \(host.performed)" }
  host.greetings = host.greetings.suffix(1000)
  if host.performed < 3 {
    treadle_source_signal(source)
  } else {
    treadle_loop_stop(treadle_loop_current())
  }
}
var source: treadle_source?
treadle_source_create(&context, &source)
treadle_loop_add_source(loop, source, "kCFRunLoopDefaultMode")
treadle_source_signal(source)
treadle_loop_run_default(loop)
treadle_source_release(source)
print("treadle \(String(cString: treadle_version_string())): performed \(host.performed), greetings \(host.greetings.count)")
