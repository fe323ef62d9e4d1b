// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// words.swift: a plugin in ordinary Swift, with its strings, dictionaries and classes, that counts words; extension:
// EXAMPLE_WORDS of words.h. Again and again it logs the most frequent one.
//
//   interval-ms    how often; 1,000 by default
//
// Swift's runtime comes with it, so that it stays mapped after its end; all else of it goes.

import CTreadle
import Synchronization

/// What is counted, from any thread.
final class Words: Sendable {
  private let counts = Mutex<[String: UInt64]>([:])

  func add(_ text: String) {
    let words = text.lowercased().split { !$0.isLetter && !$0.isNumber }
    counts.withLock { counts in
      for word in words { counts[String(word), default: 0] += 1 }
    }
  }

  func count(of word: String) -> UInt64 { counts.withLock { $0[word.lowercased()] ?? 0 } }

  /// Of words that are as frequent, the first in the alphabet.
  var mostFrequent: (word: String, count: UInt64)? {
    counts.withLock { counts in
      counts.min { ($1.value, $0.key) < ($0.value, $1.key) }.map { (word: $0.key, count: $0.value) }
    }
  }
}

private func words(_ instance: UnsafeMutableRawPointer) -> Words {
  Unmanaged<Words>.fromOpaque(instance).takeUnretainedValue()
}

@_cdecl("words_init")
public func wordsInit(
  _ host: UnsafePointer<treadle_plugin_host>, _ instance: UnsafeMutablePointer<UnsafeMutableRawPointer?>
) -> treadle_status {
  instance.pointee = Unmanaged.passRetained(Words()).toOpaque()
  return treadle_status(TREADLE_OK)
}

/// The timer is never ended by hand: it belongs to the plugin's scope, which ends it before words_deinit.
@_cdecl("words_start")
public func wordsStart(_ instance: UnsafeMutableRawPointer) -> treadle_status {
  guard let host = treadle_plugin_self else { return treadle_status(TREADLE_E_STATE) }
  var text = [CChar](repeating: 0, count: 16)
  var length = 0
  let status = host.pointee.copy_setting(host, "interval-ms", &text, text.count, &length)
  let digits = text.prefix(length).map { UInt8(bitPattern: $0) }
  guard status == TREADLE_OK, let milliseconds = Int64(String(decoding: digits, as: UTF8.self)) else {
    return status == TREADLE_OK ? treadle_status(TREADLE_E_RANGE) : status
  }
  let tell: treadle_timer_fn = { _, instance in
    guard let instance, let host = treadle_plugin_self, let (word, count) = words(instance).mostFrequent else { return }
    host.pointee.log(host, 2, "\"\(word)\" has occurred \(count) times")
  }
  return treadle_timer_start(milliseconds * 1_000_000, milliseconds * 1_000_000, tell, instance, nil)
}

@_cdecl("words_deinit")
public func wordsDeinit(_ instance: UnsafeMutableRawPointer) {
  Unmanaged<Words>.fromOpaque(instance).release()
}

@_cdecl("words_add")
public func wordsAdd(_ instance: UnsafeMutableRawPointer, _ text: UnsafePointer<CChar>) {
  words(instance).add(String(cString: text))
}

@_cdecl("words_count")
public func wordsCount(_ instance: UnsafeMutableRawPointer, _ word: UnsafePointer<CChar>) -> UInt64 {
  words(instance).count(of: String(cString: word))
}
