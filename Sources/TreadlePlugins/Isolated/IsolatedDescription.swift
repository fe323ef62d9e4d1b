// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import TreadleBase

/// A plugin's description, as its process tells it: texts and lists in one piece of memory, without functions.
struct IsolatedDescription {
  private(set) var known = treadle_plugin_description()
  private(set) var has: UInt64 = 0
  /// The id that the program has given it; nil: its own.
  private var given: UnsafeMutablePointer<CChar>?
  private var texts: UnsafeMutableRawPointer?
  private var size = 0
  private var pointers = Buffer<UnsafePointer<CChar>?>()
  private var settings = Buffer<treadle_plugin_setting>()

  private static let mostListed = 256

  static func write(_ description: treadle_plugin_description, to frame: inout FrameWriter) {
    frame.number(UInt64(description.abi_min))
    frame.number(UInt64(description.abi_max))
    frame.number(UInt64(description.behaviour))
    frame.number(UInt64(description.flags))
    var has: UInt64 = 0
    if description.save != nil { has |= IsolatedFrame.Has.save }
    if description.restore != nil { has |= IsolatedFrame.Has.restore }
    frame.number(has)
    frame.text(description.id)
    frame.text(description.name)
    frame.text(description.version)
    frame.list(description.required)
    frame.list(description.optional)
    frame.list(description.provided)
    frame.number(UInt64(description.setting_count))
    guard description.setting_count != 0, let settings = description.settings else { return }
    let all = ClientStructs(settings)
    for index in 0..<Int(description.setting_count) {
      guard let setting = try? all.copy(index, "settings") else { continue }
      frame.text(setting.key)
      frame.text(setting.default_value)
      frame.text(setting.description)
      frame.number(UInt64(setting.type))
      frame.number(setting.minimum)
      frame.number(setting.maximum)
    }
  }

  /// The program's name for it. Before it is read.
  mutating func name(_ id: UnsafePointer<CChar>) throws(Failure) {
    if !PluginCheck.isID(id) { throw Failure(Status.argument, "id", "is not a domain name from its end") }
    given = try Plugin.copy(id)
    known.id = UnsafePointer(given)
  }

  /// Reads one from the rest of an answer of so many bytes, which it copies. What it says is for `PluginCheck` to
  /// judge.
  mutating func read(_ answer: UnsafeRawBufferPointer) throws(Failure) {
    guard let memory = treadle_system_allocate(max(answer.count, 1)) else { throw Failure.noMemory("plugin") }
    texts = memory
    size = answer.count
    if let start = answer.baseAddress { memcpy(memory, start, answer.count) }
    var frame = FrameReader(memory, answer.count)
    known.struct_size = MemoryLayout<treadle_plugin_description>.size
    known.abi_min = UInt32(truncatingIfNeeded: frame.number())
    known.abi_max = UInt32(truncatingIfNeeded: frame.number())
    known.behaviour = UInt32(truncatingIfNeeded: frame.number())
    known.flags = UInt32(truncatingIfNeeded: frame.number())
    has = frame.number()
    let own = frame.text()
    known.id = given.map { UnsafePointer($0) } ?? own
    known.name = frame.text()
    known.version = frame.text()
    let required = try readList(&frame), optional = try readList(&frame), provided = try readList(&frame)
    let count = frame.count(atMost: IsolatedDescription.mostListed)
    if count != 0 && !settings.reserve(count) { throw Failure.noMemory("plugin") }
    for _ in 0..<count {
      var setting = treadle_plugin_setting()
      setting.struct_size = MemoryLayout<treadle_plugin_setting>.size
      setting.key = frame.text()
      setting.default_value = frame.text()
      setting.description = frame.text()
      setting.type = UInt32(truncatingIfNeeded: frame.number())
      setting.minimum = frame.signed()
      setting.maximum = frame.signed()
      _ = settings.appendInRoom(setting)
    }
    if frame.isBroken { throw IsolatedPlugin.brokenFailure }
    // Their places are known once nothing is appended any more.
    known.required = list(required)
    known.optional = list(optional)
    known.provided = list(provided)
    known.setting_count = UInt32(truncatingIfNeeded: count)
    known.settings = UnsafePointer(settings.elements.baseAddress)
  }

  /// Whether a process tells the same that this was read from.
  func isSame(as answer: UnsafeRawBufferPointer) -> Bool {
    guard let texts, answer.count == size else { return false }
    guard let start = answer.baseAddress else { return true }
    return memcmp(texts, start, size) == 0
  }

  /// The index of its first pointer.
  private mutating func readList(_ frame: inout FrameReader) throws(Failure) -> Int {
    let first = pointers.count
    let count = frame.count(atMost: IsolatedDescription.mostListed)
    if !pointers.reserve(first &+ count &+ 1) { throw Failure.noMemory("plugin") }
    for _ in 0..<count {
      let text = frame.text()
      if text == nil || frame.isBroken { throw IsolatedPlugin.brokenFailure }
      _ = pointers.appendInRoom(text)
    }
    _ = pointers.appendInRoom(nil)
    return first
  }

  private func list(_ first: Int) -> UnsafePointer<UnsafePointer<CChar>?>? {
    pointers.elements.baseAddress.map { UnsafePointer($0 + first) }
  }

  mutating func free() {
    treadle_system_free(given)
    treadle_system_free(texts)
    pointers.free()
    settings.free()
  }
}
