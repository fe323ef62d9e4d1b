// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleCF

/// Remote ports whose clients want to be told of their end are in the loop of a thread of this library, as on Apple's
/// systems, where a queue of the system's tells it: no loop of the program's needs to run for that, or has a source
/// more.
enum RemotePorts {
  static func watch(_ item: UnsafeMutableRawPointer?, _ function: StaticString) {
    let place = withUnsafeMutablePointer(to: &treadle_cf_shared().pointee.watcher) { $0 }
    // The child of a fork has no such thread: the loop that it knows of is none.
    for _ in 0..<2 {
      guard let loop = treadle_cf_published(place) ?? start(place) else { return complain(function) }
      let status = treadle_loop_add(OpaquePointer(loop), item, "kCFRunLoopDefaultMode")
      if status >= 0 || !treadle_is_valid(item) { return }
      if isLivingLoop(UInt(bitPattern: loop)) { return check(status, function) }
      treadle_cf_unpublish(place, loop)
    }
  }

  /// Starts the thread, unless another one does so meanwhile: the loop of the one that was first.
  private static func start(_ place: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> UnsafeMutableRawPointer? {
    var config = treadle_thread_config()
    config.struct_size = MemoryLayout<treadle_thread_config>.size
    config.flags = UInt32(TREADLE_THREAD_DETACHED)
    var thread: OpaquePointer?
    if treadle_thread_create(&config, &thread) < 0 { return nil }
    defer { _ = treadle_thread_release(thread) }
    _ = treadle_thread_set_name(thread, "treadle-cf ports")
    var loop: OpaquePointer?
    if treadle_thread_copy_loop(thread, &loop) < 0 { return nil }
    let made = UnsafeMutableRawPointer(loop)
    let first = treadle_cf_publish(place, made)
    if first != made {
      _ = treadle_loop_release(loop)
      return first
    }
    if treadle_thread_start(thread) >= 0 { return first }
    treadle_cf_unpublish(place, made)
    _ = treadle_loop_release(loop)
    return nil
  }
}
