// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// The events of an item of a run loop, as a sequence to iterate over in a task: `for await`. The item is in the loop
/// from the making of the sequence on, and the iteration ends with it: by `end`, by its scope's closing, when the
/// loop's thread is gone, when the task is cancelled that iterates, or when the sequence and its iterators are gone. It
/// never hangs for want of a loop.
///
/// At most one element waits for a consumer that is slow: the newest; of the operating system's signals all. Meant for
/// one consumer; several share the elements. Since 1.0.
public struct RunLoopSequence<Element: Sendable>: AsyncSequence, Sendable {
  /// Nothing is thrown: an iteration ends. Since 1.0.
  public typealias Failure = Never

  private let elements: AsyncStream<Element>
  private let item: StreamedItem

  init(_ elements: AsyncStream<Element>, of item: StreamedItem) {
    self.elements = elements
    self.item = item
  }

  /// Ends the item, and the iteration after the element that waits. Any thread. Since 1.0.
  public func end() { item.end() }

  /// True until the item has ended. Any thread. Since 1.0.
  public var isValid: Bool { item.isValid }

  /// An iterator; what several of them get are the same elements, each once. Since 1.0.
  public func makeAsyncIterator() -> Iterator { Iterator(elements: elements.makeAsyncIterator(), item: item) }

  /// Waits for one element after the other. Since 1.0.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var elements: AsyncStream<Element>.Iterator
    fileprivate let item: StreamedItem

    /// The next element; nil when the item has ended, or the task is cancelled. Since 1.0.
    public mutating func next() async -> Element? { await next(isolation: nil) }

    /// The next element; nil when the item has ended, or the task is cancelled. Since 1.0.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      item.ask()
      return await elements.next(isolation: actor)
    }
  }
}

extension RunLoopSequence: CustomStringConvertible {
  /// The item, for debugging. Any thread. Since 1.0.
  public var description: String { "RunLoopSequence(\(item.description))" }
}

/// The item behind a sequence. The loop alone holds it, so that it ends with the loop's thread: here is its handle,
/// which means nothing once the item is gone.
final class StreamedItem: Sendable {
  /// 0 until the item is there. The handle's bits.
  private let bits = Atomic<UInt>(0)
  /// What a descriptor is watched for while somebody asks; nil for other items.
  private let readiness: RunLoopReadiness?
  /// How many elements are asked for, and not delivered yet.
  private let asked = Atomic<Int>(0)

  init(readiness: RunLoopReadiness? = nil) { self.readiness = readiness }

  var handle: OpaquePointer? { OpaquePointer(bitPattern: bits.load(ordering: .acquiring)) }

  var isValid: Bool { handle.map { treadle_is_valid(UnsafeMutableRawPointer($0)) } ?? false }

  var description: String {
    let object = handle.map { UnsafeMutableRawPointer($0) }
    let lines = text { treadle_describe(object, $0, $1, $2) }?.split(separator: "\n")
    return lines?.first.map { String($0) } ?? "an item that is gone"
  }

  func end() {
    if let handle, isValid { _ = treadle_invalidate(UnsafeMutableRawPointer(handle)) }
  }

  /// Somebody wants an element.
  func ask() {
    guard let readiness else { return }
    asked.add(1, ordering: .sequentiallyConsistent)
    watch(for: readiness)
  }

  /// An element is about to be delivered: the descriptor is left alone until the next one is asked for. On the loop's
  /// thread.
  func pause() {
    guard let readiness else { return }
    asked.subtract(1, ordering: .sequentiallyConsistent)
    watch(for: [])
    // Whoever asked in between may have done so before the pause.
    if asked.load(ordering: .sequentiallyConsistent) > 0 { watch(for: readiness) }
  }

  /// If the descriptor cannot be watched any more, invalidates the item: the iteration would wait for ever.
  private func watch(for readiness: RunLoopReadiness) {
    guard let handle, isValid else { return }
    if treadle_descriptor_set_events(handle, readiness.rawValue) < 0 { end() }
  }

  /// Adds the item to a loop, and gives up the reference of who made it.
  func start(_ item: consuming RunLoopItem, on loop: RunLoop, in mode: RunLoopMode) throws(TreadleError) {
    bits.store(UInt(bitPattern: item.handle), ordering: .releasing)
    if readiness != nil { watch(for: []) }
    if try !loop.add(item, to: mode) { throw TreadleError(.closed, "the loop's thread, or the scope, has ended") }
  }
}

/// Held by the body of an item, and by nothing else: so its end is the item's, and ends the iteration.
final class StreamEnd<Element: Sendable>: Sendable {
  private let continuation: AsyncStream<Element>.Continuation

  /// A stream that has room for one element, or for all, with its end. Its own cancelling ends the item.
  static func makeStream(of item: StreamedItem, keepsAll: Bool = false) -> (AsyncStream<Element>, StreamEnd) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Element.self, bufferingPolicy: keepsAll ? .unbounded : .bufferingNewest(1))
    continuation.onTermination = { _ in item.end() }
    return (stream, StreamEnd(continuation))
  }

  private init(_ continuation: AsyncStream<Element>.Continuation) { self.continuation = continuation }

  func yield(_ element: Element) { continuation.yield(element) }

  deinit { continuation.finish() }
}
