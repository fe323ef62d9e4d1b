// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import TreadleBase

/// What a plugin's process gives up before it loads the plugin, as the host has it and as the process reads it.
enum IsolatedConfinement {
  private static let knownRights = UInt32(
    TREADLE_RIGHTS_NO_NETWORK | TREADLE_RIGHTS_NO_PROCESSES | TREADLE_RIGHTS_NAMED_FILES | TREADLE_RIGHTS_IF_POSSIBLE
      | TREADLE_RIGHTS_USUAL_CALLS)
  private static let mostPaths = 256

  static func write(_ config: treadle_plugin_config, to frame: inout FrameWriter) throws(Failure) {
    var limits = treadle_plugin_limits()
    var rights = treadle_plugin_rights()
    if let given = config.limits { limits = try ClientStruct.copy(given, "limits") }
    if let given = config.rights { rights = try ClientStruct.copy(given, "rights") }
    if rights.flags & ~knownRights != 0 { throw Failure(Status.argument, "rights", "has unknown flags") }
    if rights.reserved != 0 { throw Failure(Status.argument, "rights", "has a reserved member that is not 0") }
    let namesFiles = rights.flags & UInt32(TREADLE_RIGHTS_NAMED_FILES) != 0
    if !namesFiles && (rights.readable != nil || rights.writable != nil) {
      throw Failure(Status.argument, "rights", "names files without TREADLE_RIGHTS_NAMED_FILES")
    }
    if rights.flags & UInt32(TREADLE_RIGHTS_USUAL_CALLS) == 0 && rights.calls != nil {
      throw Failure(Status.argument, "rights", "names system calls without TREADLE_RIGHTS_USUAL_CALLS")
    }
    frame.number(UInt64(config.limits == nil && config.rights == nil ? 0 : 1))
    frame.number(limits.address_space)
    frame.number(limits.processor_seconds)
    frame.number(limits.descriptors)
    // An empty path would be none on the other side.
    if let cgroup = limits.cgroup, cgroup.pointee == 0 { throw Failure(Status.argument, "cgroup", "is empty") }
    frame.text(limits.cgroup)
    frame.number(UInt64(rights.flags))
    frame.list(rights.readable)
    frame.list(rights.writable)
    frame.list(rights.calls)
  }

  /// Confines this process, in which nothing of the plugin has run. Where the kernel lacks a part, fails, or says so.
  static func apply(
    _ frame: inout FrameReader, _ path: UnsafePointer<CChar>?, _ filter: treadle_plugin_filter_fn?,
    _ say: (UnsafePointer<CChar>) -> Void
  ) throws(Failure) {
    let isGiven = frame.number() != 0
    var whole = treadle_system_confinement()
    whole.address_space = frame.number()
    whole.processor_seconds = frame.number()
    whole.descriptors = frame.number()
    let cgroup = frame.text()
    let rights = UInt32(truncatingIfNeeded: frame.number())
    var readable = try readList(&frame)
    defer { readable.free() }
    var writable = try readList(&frame)
    defer { writable.free() }
    var calls = try readList(&frame)
    defer { calls.free() }
    if frame.isBroken { throw IsolatedPlugin.brokenFailure }
    if !isGiven { return }
    if let cgroup { try enter(cgroup, rights, say) }
    try perform(&whole, rights, "limits or new privileges", say)
    var files = treadle_system_confinement()
    files.only_named_files = rights & UInt32(TREADLE_RIGHTS_NAMED_FILES) != 0
    files.library = path
    files.readable = UnsafePointer(readable.elements.baseAddress)
    files.writable = UnsafePointer(writable.elements.baseAddress)
    try perform(&files, rights, "files by name (Landlock)", say)
    var network = treadle_system_confinement()
    network.no_network = rights & UInt32(TREADLE_RIGHTS_NO_NETWORK) != 0
    try perform(&network, rights, "the network", say)
    var processes = treadle_system_confinement()
    processes.no_processes = rights & UInt32(TREADLE_RIGHTS_NO_PROCESSES) != 0
    try perform(&processes, rights, "processes", say)
    if rights & UInt32(TREADLE_RIGHTS_USUAL_CALLS) != 0 {
      try filterCalls(rights, UnsafePointer(calls.elements.baseAddress), filter, say)
    }
  }

  /// The last part: what the others need is not all usual.
  private static func filterCalls(
    _ flags: UInt32, _ calls: UnsafePointer<UnsafePointer<CChar>?>?, _ filter: treadle_plugin_filter_fn?,
    _ say: (UnsafePointer<CChar>) -> Void
  ) throws(Failure) {
    var rights = treadle_plugin_rights()
    rights.struct_size = MemoryLayout<treadle_plugin_rights>.size
    rights.flags = flags
    rights.calls = calls
    var status = Status.notSupported
    var isRefused = false
    var room: [32 of UInt64] = .init(repeating: 0)
    var span = room.mutableSpan
    span.withUnsafeMutableBytes { bytes in
      guard let reason = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
      if let filter {
        status = filter(&rights, reason, bytes.count)
      } else {
        var text = FixedText(bytes)
        text.append("the plugin's process is of a program that has no filter of system calls")
      }
      isRefused = status < 0 && flags & UInt32(TREADLE_RIGHTS_IF_POSSIBLE) == 0
      if status == Status.ok { return }
      if isRefused { LastError.detail(reason) } else { say(reason) }
    }
    if isRefused { throw Failure(Status.notSupported, "rights", "cannot be limited here") }
  }

  private static func enter(
    _ cgroup: UnsafePointer<CChar>, _ rights: UInt32, _ say: (UnsafePointer<CChar>) -> Void
  ) throws(Failure) {
    let result = treadle_system_enter_cgroup(cgroup)
    if result >= 0 { return }
    if rights & UInt32(TREADLE_RIGHTS_IF_POSSIBLE) == 0 {
      LastError.detail(cgroup)
      throw Failure(Status.notSupported, "cgroup", "cannot be entered by the process", osError: 0 &- result)
    }
    sayLine("the process cannot enter the cgroup ", cgroup, say)
  }

  private static func perform(
    _ part: inout treadle_system_confinement, _ rights: UInt32, _ name: StaticString,
    _ say: (UnsafePointer<CChar>) -> Void
  ) throws(Failure) {
    let result = treadle_system_confine(&part)
    if result >= 0 { return }
    let text = name.cText
    LastError.detail(text)
    if rights & UInt32(TREADLE_RIGHTS_IF_POSSIBLE) == 0 {
      throw Failure(Status.notSupported, "rights", "cannot be limited by this kernel", osError: 0 &- result)
    }
    LastError.forgetDetail()
    sayLine("this kernel does not limit ", text, say)
  }

  private static func sayLine(
    _ words: StaticString, _ name: UnsafePointer<CChar>, _ say: (UnsafePointer<CChar>) -> Void
  ) {
    var line: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
      (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &line) { room in
      var written = FixedText(room)
      written.append(words)
      written.appendValid(name)
      if let start = room.baseAddress { say(UnsafePointer(start.assumingMemoryBound(to: CChar.self))) }
    }
  }

  /// Pointers into the frame, NULL at the end.
  private static func readList(_ frame: inout FrameReader) throws(Failure) -> Buffer<UnsafePointer<CChar>?> {
    var list = Buffer<UnsafePointer<CChar>?>()
    let count = frame.count(atMost: mostPaths)
    if !list.reserve(count &+ 1) { throw Failure.noMemory("rights") }
    for _ in 0..<count { _ = list.appendInRoom(frame.text()) }
    _ = list.appendInRoom(nil)
    return list
  }
}
