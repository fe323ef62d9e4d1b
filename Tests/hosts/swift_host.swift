// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// What the files of the runner in Swift share.
import Glibc
import Synchronization
import Treadle

nonisolated(unsafe) var name = ""

func require(_ condition: Bool, _ what: String = "", line: Int = #line) {
  if condition { return }
  print("\(name): fail (swift.swift:\(line): \(what))")
  fflush(nil)
  _exit(1)
}

/// What bodies tell, which may run on any thread.
final class Told: Sendable {
  private let text = Mutex("")
  private let number = Mutex(0)
  func note(_ word: String) { text.withLock { $0 += word } }
  var words: String { text.withLock { $0 } }
  func count() -> Int {
    number.withLock {
      $0 += 1
      return $0
    }
  }
  var counted: Int { number.withLock { $0 } }
  func clear() {
    text.withLock { $0 = "" }
    number.withLock { $0 = 0 }
  }
}
let told = Told()

/// The mode of the case, and what ends with it.
nonisolated(unsafe) var mode: RunLoopMode = "none"
nonisolated(unsafe) var ends: [() -> Void] = []

func refuses(_ code: TreadleError.Code, _ word: String, line: Int = #line, _ call: () throws -> Void) {
  do {
    try call()
    require(false, "was not refused", line: line)
  } catch let error as TreadleError {
    require(error.code == code && "\(error)".contains(word), "\(error)", line: line)
  } catch {
    require(false, "\(error)", line: line)
  }
}

/// An item in the mode of the case, until its end.
func added<Item: RunLoopItem>(_ item: Item) throws -> Item {
  require(try RunLoop.current().add(item, to: mode))
  ends.append { item.invalidate() }
  return item
}
func noting(_ word: String) throws -> RunLoopSource { try added(RunLoopSource { _ in told.note(word) }) }
@discardableResult func pass(_ of: RunLoopMode? = nil) throws -> RunLoopResult {
  try RunLoop.current().run(in: of ?? mode, for: .zero, whenEmpty: true)
}
func said(_ wanted: String, line: Int = #line) { require(told.words == wanted, told.words, line: line) }
