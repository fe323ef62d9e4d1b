// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Synchronization
import Treadle

/// What one thread has for another, with the source that is signalled for it: signals coalesce, so one perform takes many.
final class Queue<Element: Sendable>: Sendable {
  private let elements = Mutex<[Element]>([])
  private let source: Mutex<RunLoopSource?> = Mutex(nil)

  /// Makes the source, on the loop of the calling thread, and has `take` called there with what has come.
  func start(label: String, cancelled: RunLoopSource.ModeBody? = nil, take: @escaping @Sendable (RunLoopSource, [Element]) throws -> Void) throws {
    let made = try RunLoopSource(label: label, cancel: cancelled) { source in
      try take(source, self.takeAll())
    }
    source.withLock { $0 = made }
    try made.start()
  }

  /// - Returns: how many wait now.
  @discardableResult
  func put(_ element: Element) -> Int {
    let count = elements.withLock { elements in
      elements.append(element)
      return elements.count
    }
    source.withLock { $0 }?.signal()
    return count
  }

  private func takeAll() -> [Element] {
    elements.withLock { elements in
      defer { elements = [] }
      return elements
    }
  }
}
