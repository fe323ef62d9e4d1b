// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import TreadleBase

/// A request that somebody will make later, with all that this needs, so that it cannot fail for want of memory then. Ends
/// with `post` or `discard`.
package struct LaterRequest {
  private let node: RequestJob.Pointer
  private let loop: Loop

  /// In the common modes and the call mode of a loop. Takes the request over unless it throws.
  package init(_ request: Request, on loop: Loop) throws(Failure) {
    _ = try loop.findOrMakeCallMode()
    guard let node = RequestJob.allocate(request, isForCallMode: true) else { throw Failure.noMemory("completion") }
    loop.holdAgain()
    self.node = node
    self.loop = loop
  }

  /// Has it performed; when the loop has ended, only its releases are called.
  package consuming func post() {
    if !loop.enqueue(RequestJob.job(node)) { RequestJob.finish(node, RequestJob.Outcome.dropped) }
    loop.drop()
  }

  /// Gives the request back to its maker, who still has it.
  package consuming func discard() {
    RequestJob.free(node)
    loop.drop()
  }
}
