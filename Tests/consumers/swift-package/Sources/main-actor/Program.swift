// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The main actor, and libdispatch's main queue, served by the main loop (RL-10). A program of its own, since the tests'
// main thread runs no loop.
import Dispatch
import Treadle

@MainActor
final class Model {
  var steps = 0, isThere = true

  func step() {
    steps += 1
    if !RunLoopThread.isMain || !loop.isCurrent { isThere = false }
  }

  let loop: RunLoop
  init() throws { loop = try RunLoop.main() }
}

@main
struct Program {
  @MainActor
  static func main() throws {
    let model = try Model(), loop = model.loop
    let ordinary = try loop.run() == .finished
    let served = try RunLoop.serveMainActor()

    // From other threads, by both ways.
    Task.detached {
      for _ in 0..<1000 { await model.step() }
      DispatchQueue.main.async {
        MainActor.assumeIsolated { model.step() }
        loop.stop()
      }
    }
    let stopped = try loop.run() == .stopped && model.steps == 1001 && model.isThere

    // Not inside of itself; what waits follows.
    Task {
      Task { model.step() }
      for _ in 0..<10 { try loop.run(for: .zero) }
      if model.steps == 1001 { model.step() }
      Task { loop.stop() }
    }
    let nested = try loop.run() == .stopped && model.steps == 1003

    // In a nested run of a callback.
    let timer = try RunLoopTimer(after: .zero) { _ in
      DispatchQueue.main.async { loop.stop() }
      try loop.run()
      loop.stop()
    }
    try loop.add(timer)
    let inside = try loop.run() == .stopped

    // One at a time, and undone.
    var twice = false
    do throws(TreadleError) { try RunLoop.serveMainActor() } catch { twice = error.code == .exists }
    served.invalidate()
    Task {
      model.step()
      loop.stop()
    }
    let undone = try loop.run() == .finished && model.steps == 1003
    try RunLoop.serveMainActor()
    let again = try loop.run() == .stopped && model.steps == 1004

    print(
      "treadle: main actor \(model.steps), ordinary \(ordinary), stopped \(stopped), nested \(nested), inside \(inside),",
      "once \(twice), undone \(undone && again)")
  }
}
