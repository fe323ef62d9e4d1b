// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
import TreadleBase

/// Whether a plugin's description keeps the rules.
enum PluginCheck {
  private static let mostListed = 256
  private static let mostSettings: UInt32 = 256
  /// What this version knows of a description, which is sound; and the version that both sides speak.
  static func read(_ original: UnsafePointer<treadle_plugin_description>) throws(Failure) -> (
    treadle_plugin_description, UInt32
  ) {
    let description: treadle_plugin_description
    do throws(Failure) {
      // A newer plugin's may have more: both sides speak the version that both know.
      description = try ClientStruct.copyKnownPart(original, "plugin")
    } catch {
      throw refusal("has a struct_size that no version of a description had")
    }
    guard let id = description.id, isID(id) else {
      throw refusal("has an invalid id: it is not a domain name from its end")
    }
    let (least, most) = (description.abi_min, description.abi_max)
    if least > most { throw refusal("has an abi_min above its abi_max", id) }
    let abi = min(most, UInt32(TREADLE_PLUGIN_ABI))
    if abi < least || abi >> 16 != UInt32(TREADLE_PLUGIN_ABI) >> 16 {
      throw refusal("speaks no version of the plugin interface that this host speaks", id)
    }
    if description.behaviour == 0 || description.behaviour > UInt32(TREADLE_PLUGIN_BEHAVIOUR) {
      throw refusal("was built for a level of behaviour that this host does not have", id)
    }
    if description.reserved != 0 { throw refusal("has a reserved that is not 0", id) }
    if description.flags & ~UInt32(TREADLE_PLUGIN_MAY_UNMAP) != 0 { throw refusal("has unknown flags", id) }
    guard let name = description.name, let version = description.version, UTF8Text.isWellFormed(name),
      UTF8Text.isWellFormed(version)
    else { throw refusal("has no name or version, or one that is not UTF-8", id) }
    if description.`init` == nil || description.deinit == nil { throw refusal("has no init or no deinit", id) }
    try checkList(description.required, id)
    try checkList(description.optional, id)
    try checkList(description.provided, id)
    if description.provided?.pointee != nil && description.get_extension == nil {
      throw refusal("provides extensions, and has no get_extension", id)
    }
    try checkSettings(description, id)
    return (description, abi)
  }

  @inline(never)
  private static func refusal(
    _ text: StaticString, _ id: UnsafePointer<CChar>? = nil, _ more: UnsafePointer<CChar>? = nil
  ) -> Failure {
    LastError.detail(id, more)
    return Failure(Status.plugin, "plugin", text)
  }

  @inline(never)
  private static func checkList(_ list: UnsafePointer<UnsafePointer<CChar>?>?, _ id: UnsafePointer<CChar>)
    throws(Failure)
  {
    guard var next = list else { return }
    var count = 0
    while let name = next.pointee {
      if !isExtension(name) {
        throw refusal("lists an extension whose name is invalid: it is not like example.store/1", id, name)
      }
      count &+= 1
      if count > mostListed { throw refusal("lists more than 256 extensions", id) }
      next += 1
    }
  }

  private static func checkSettings(_ description: treadle_plugin_description, _ id: UnsafePointer<CChar>)
    throws(Failure)
  {
    if description.setting_count == 0 { return }
    guard let settings = description.settings, description.setting_count <= mostSettings else {
      throw refusal("has an invalid number of settings", id)
    }
    let all = ClientStructs(settings)
    for index in 0..<Int(description.setting_count) {
      let setting: treadle_plugin_setting
      do throws(Failure) {
        setting = try all.copy(index, "settings")
      } catch {
        if error.status == Status.tooNew { throw error }
        throw refusal("has a setting with a struct_size that no version had", id)
      }
      guard let key = setting.key, isKey(key) else { throw refusal("has a setting with an invalid key", id) }
      if setting.type > UInt32(TREADLE_SETTING_REAL) { throw refusal("has a setting of an unknown type", id, key) }
      if setting.reserved != 0 { throw refusal("has a setting whose reserved is not 0", id, key) }
      if setting.minimum > setting.maximum {
        throw refusal("has a setting whose minimum is above its maximum", id, key)
      }
      if setting.type != UInt32(TREADLE_SETTING_INTEGER) && (setting.minimum != 0 || setting.maximum != 0) {
        throw refusal("has a setting with limits that is not an integer", id, key)
      }
      if let text = setting.description, !UTF8Text.isWellFormed(text) {
        throw refusal("has a setting whose description is not UTF-8", id, key)
      }
      guard let value = setting.default_value else {
        if setting.type == UInt32(TREADLE_SETTING_TEXT) { continue }
        throw refusal("has a setting without a default", id, key)
      }
      if !allows(setting, value) { throw refusal("has a setting whose default is not of its type", id, key) }
      for other in 0..<index {
        if let known = try all.copy(other, "settings").key, strcmp(known, key) == 0 {
          throw refusal("has two settings of one key", id, key)
        }
      }
    }
  }

  // MARK: Names

  private static func isLetterOrDigit(_ byte: CChar) -> Bool { byte >= 97 && byte <= 122 || byte >= 48 && byte <= 57 }

  /// A setting's key: letters and digits, with points, underscores and hyphens inside.
  static func isKey(_ text: UnsafePointer<CChar>) -> Bool {
    guard let name = name(text) else { return false }
    return name.length <= 63 && text[name.length] == 0
  }

  /// org.example.watcher
  static func isID(_ text: UnsafePointer<CChar>) -> Bool {
    guard let name = name(text) else { return false }
    return name.isDomain && name.length <= 63 && text[name.length] == 0
  }

  /// example.store/1: a name like an id, and a revision of one to seven digits, which does not begin with 0.
  @inline(never)
  static func isExtension(_ text: UnsafePointer<CChar>) -> Bool {
    guard let name = name(text), name.isDomain, name.length <= 63, text[name.length] == 47 else { return false }
    let start = name.length &+ 1
    var end = start
    while text[end] >= 48 && text[end] <= 57 && end < start &+ 8 { end &+= 1 }
    return end > start && end <= start &+ 7 && text[start] != 48 && text[end] == 0
  }

  private struct Name {
    var length: Int
    /// At least two parts, each of which begins and ends with a letter or a digit.
    var isDomain: Bool
  }

  /// The name that a text begins with, which begins and ends with a letter or a digit; nil if there is none. One of
  /// more than 63 bytes is longer than that.
  private static func name(_ text: UnsafePointer<CChar>) -> Name? {
    var name = Name(length: 0, isDomain: true)
    var points = 0
    while name.length <= 63 {
      let (byte, index) = (text[name.length], name.length)
      if byte == 46 {
        points &+= 1
        if index == 0 || !isLetterOrDigit(text[index &- 1]) || !isLetterOrDigit(text[index &+ 1]) {
          name.isDomain = false
        }
      } else if !isLetterOrDigit(byte) && byte != 95 && byte != 45 {
        break
      }
      name.length &+= 1
    }
    guard name.length > 0, isLetterOrDigit(text[0]), isLetterOrDigit(text[name.length &- 1]) else { return nil }
    if points == 0 { name.isDomain = false }
    return name
  }

  // MARK: Values

  /// Whether a setting's type allows a value.
  @inline(never)
  static func allows(_ setting: treadle_plugin_setting, _ value: UnsafePointer<CChar>) -> Bool {
    switch setting.type {
    case UInt32(TREADLE_SETTING_BOOLEAN): return strcmp(value, "true") == 0 || strcmp(value, "false") == 0
    case UInt32(TREADLE_SETTING_INTEGER):
      guard let number = integer(value) else { return false }
      return setting.minimum == 0 && setting.maximum == 0 || number >= setting.minimum && number <= setting.maximum
    case UInt32(TREADLE_SETTING_REAL): return isReal(value)
    default: return UTF8Text.isWellFormed(value)
    }
  }

  private static func integer(_ text: UnsafePointer<CChar>) -> Int64? {
    let isNegative = text[0] == 45
    var index = isNegative ? 1 : 0
    if text[index] == 0 { return nil }
    var number: Int64 = 0
    while text[index] != 0 {
      guard text[index] >= 48, text[index] <= 57 else { return nil }
      let digit = Int64(text[index] &- 48)
      let (tenfold, isTooMuch) = number.multipliedReportingOverflow(by: 10)
      let (sum, isMore) = tenfold.addingReportingOverflow(isNegative ? 0 &- digit : digit)
      if isTooMuch || isMore { return nil }
      number = sum
      index &+= 1
    }
    return number
  }

  /// The decimal digits of a number that count, as far as they decide whether it is too large: at most as many as the
  /// largest has.
  private struct Magnitude {
    var digits: UInt64 = 0
    var count = 0
    /// Of the first digit that is not 0: 0 for units.
    var exponent = 0

    mutating func append(_ digit: CChar, isWhole: Bool) {
      if count == 0 && digit == 48 {
        if !isWhole { exponent &-= 1 }
        return
      }
      if count > 0 && isWhole { exponent &+= 1 }
      if count == 0 && !isWhole { exponent &-= 1 }
      if count < 17 { digits = digits &* 10 &+ UInt64(UInt8(bitPattern: digit &- 48)) }
      count &+= 1
    }

    /// Whether a double has it: the largest is 1.7976931348623157e308.
    func isFinite(_ shift: Int) -> Bool {
      if count == 0 || exponent &+ shift != 308 { return count == 0 || exponent &+ shift < 308 }
      var scaled = digits
      for _ in min(count, 17)..<17 { scaled = scaled &* 10 }
      return scaled <= 17_976_931_348_623_157
    }
  }

  /// Digits with at most one point, and perhaps an exponent; not larger than any double.
  private static func isReal(_ text: UnsafePointer<CChar>) -> Bool {
    var index = text[0] == 45 ? 1 : 0
    var hasDigits = false
    var hasPoint = false
    var magnitude = Magnitude()
    while text[index] >= 48 && text[index] <= 57 || text[index] == 46 && !hasPoint {
      if text[index] == 46 {
        hasPoint = true
      } else {
        hasDigits = true
        magnitude.append(text[index], isWhole: !hasPoint)
      }
      index &+= 1
    }
    if !hasDigits { return false }
    var shift = 0
    if text[index] == 101 || text[index] == 69 {
      index &+= 1
      let isNegative = text[index] == 45
      if isNegative || text[index] == 43 { index &+= 1 }
      if text[index] == 0 { return false }
      while text[index] >= 48 && text[index] <= 57 {
        // Further ones change nothing: no text is so long that its digits make up for them.
        if shift < 1 << 48 { shift = shift &* 10 &+ Int(text[index] &- 48) }
        index &+= 1
      }
      if isNegative { shift = 0 &- shift }
    }
    return text[index] == 0 && magnitude.isFinite(shift)
  }
}
