// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Treadle

/// Who is there, and what is said to all. Lives on a loop of its own.
actor Room {
  private let executor: LoopExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private var people: [ObjectIdentifier: (connection: Connection, name: String)] = [:]
  private var isClosed = false

  init(on loop: RunLoop) throws { executor = try loop.executor }

  var names: [String] { people.values.map(\.name).sorted() }

  func enter(_ connection: Connection, as name: String) async {
    if isClosed { return await connection.finish() }
    people[ObjectIdentifier(connection)] = (connection, name)
    await say("* \(name) is here")
  }

  func leave(_ connection: Connection) async {
    if let gone = people.removeValue(forKey: ObjectIdentifier(connection)) { await say("* \(gone.name) is gone") }
  }

  /// False if somebody else has the name.
  func rename(_ connection: Connection, _ name: String) async -> Bool {
    guard let old = people[ObjectIdentifier(connection)]?.name, !names.contains(name) else { return false }
    people[ObjectIdentifier(connection)]?.name = name
    await say("* \(old) is \(name) now")
    return true
  }

  /// To everybody who is there now.
  func say(_ line: String) async {
    for person in people.values { await person.connection.tell(line) }
  }

  /// Everybody has to go.
  func close() async {
    isClosed = true
    for person in people.values { await person.connection.finish() }
  }
}
