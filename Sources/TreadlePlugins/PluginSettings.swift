// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
package import TreadleBase

/// The values of a plugin's settings: text that its types allow.
enum PluginSettings {
  typealias Values = Buffer<UnsafeMutablePointer<CChar>?>

  /// The defaults, and what the host gives in their place: keys and values by turns.
  static func begin(
    _ description: treadle_plugin_description, _ given: UnsafePointer<UnsafePointer<CChar>?>?
  ) throws(Failure) -> Values {
    var values = Values()
    do throws(Failure) {
      for index in 0..<Int(description.setting_count) {
        let value = try Plugin.copy(setting(description, index)?.default_value)
        if !values.append(value) {
          treadle_system_free(value)
          throw Failure.noMemory("settings")
        }
      }
      guard var next = given else { return values }
      while let key = next.pointee {
        let index = try find(description, key, "settings", "have a key that the plugin does not define")
        let value = try check(
          description, index, key, next[1], "settings", "have a value that is not one of the setting's type")
        treadle_system_free(values[index] ?? nil)
        values.set(index, value)
        next += 2
      }
      return values
    } catch {
      free(&values)
      throw error
    }
  }

  /// A setting of a description that was checked.
  static func setting(_ description: treadle_plugin_description, _ index: Int) -> treadle_plugin_setting? {
    guard let settings = description.settings else { return nil }
    return try? ClientStructs(settings).copy(index, "settings")
  }

  static func free(_ values: inout Values) {
    for value in values.elements { treadle_system_free(value) }
    values.free()
  }

  static func find(
    _ description: treadle_plugin_description, _ key: UnsafePointer<CChar>, _ subject: StaticString = "key",
    _ text: StaticString = "is not one that the plugin defines"
  ) throws(Failure) -> Int {
    for index in 0..<Int(description.setting_count) {
      if let known = setting(description, index)?.key, strcmp(known, key) == 0 { return index }
    }
    LastError.detail(description.id, key)
    throw Failure(Status.notFound, subject, text)
  }

  /// A copy of a value that the setting's type allows.
  static func check(
    _ description: treadle_plugin_description, _ index: Int, _ key: UnsafePointer<CChar>,
    _ value: UnsafePointer<CChar>?,
    _ subject: StaticString = "value", _ text: StaticString = "is not a value of the setting's type"
  ) throws(Failure) -> UnsafeMutablePointer<CChar>? {
    guard let value, let setting = setting(description, index), PluginCheck.allows(setting, value) else {
      LastError.detail(description.id, key)
      throw Failure(Status.argument, subject, text)
    }
    return try Plugin.copy(value)
  }
}

extension Plugin {
  /// Changes a setting. The caller is inside of the plugin (`PluginRegistry.using`).
  package func set(_ key: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?) throws(Failure) {
    guard let key else { throw Failure(Status.argument, "key", "is NULL") }
    let index = try PluginSettings.find(state.pointee.description, key)
    let copy = try PluginSettings.check(state.pointee.description, index, key, value)
    if let set = state.pointee.description.set, phase == PluginState.Phase.started {
      forgetReason()
      let answer = ClientCall.status(set, state.pointee.instance, key, value)
      if answer < 0 {
        treadle_system_free(copy)
        throw withReason { reason in failure(answer, "has refused a setting", key, reason) }
      }
    }
    let old = try PluginRegistry.locked { () throws(Failure) in
      let old = state.pointee.values[index] ?? nil
      state.pointee.values.set(index, copy)
      return old
    }
    treadle_system_free(old)
  }

  package func copySetting(_ key: UnsafePointer<CChar>?, _ text: inout FixedText) throws(Failure) {
    guard let key else { throw Failure(Status.argument, "key", "is NULL") }
    let index = try PluginSettings.find(state.pointee.description, key)
    var written = text
    try PluginRegistry.locked { () throws(Failure) in
      if let value = state.pointee.values[index] ?? nil { written.append(UnsafePointer(value)) }
    }
    text = written
  }

  package var phase: UInt32 {
    (try? PluginRegistry.locked { () throws(Failure) in state.pointee.phase }) ?? PluginState.Phase.stopped
  }
}
