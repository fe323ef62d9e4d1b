// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Glibc

/// The system's descriptor of signals, which Glibc's module does not have.
@_silgen_name("signalfd")
private func makeSignalDescriptor(_ descriptor: Int32, _ signals: UnsafePointer<sigset_t>, _ flags: Int32) -> Int32

/// A signal of the operating system that a process or thread was sent. Since 1.0.
public struct RunLoopPOSIXSignal: Hashable, Sendable {
  /// Its number, such as SIGTERM. Since 1.0.
  public let number: Int32
  /// Why it was sent, such as SI_USER. Since 1.0.
  public let code: Int32
  /// The process that sent it; 0 for none. Since 1.0.
  public let processID: Int32
  /// The user who sent it. Since 1.0.
  public let userID: UInt32
  /// The value that sigqueue sent with it. Since 1.0.
  public let value: Int32
}

extension RunLoopPOSIXSignal: CustomStringConvertible {
  /// Its name and who sent it. Since 1.0.
  public var description: String {
    let name = strsignal(number).map { String(cString: $0) } ?? "signal"
    return "\(name) (\(number))\(processID == 0 ? "" : ", from process \(processID)")"
  }
}

extension RunLoop {
  /// The signals of the operating system that come, such as SIGTERM, one after the other. All that the loop has read
  /// wait for the consumer. Until then the kernel keeps one of each number, and of the real-time ones all.
  ///
  /// The signals are blocked in the calling thread, for good, and so in the threads that it makes from then on, and in
  /// programs that it starts: call this on the main thread before there are others, as with sd-event. A thread that
  /// does not block them is where they do what they did before: end the process, or call its handler. A signal that is
  /// sent to one thread comes only if that is the loop's. Several sequences of one signal share it. Any thread.
  /// - Parameters:
  ///   - numbers: such as SIGINT, SIGTERM; neither SIGKILL nor SIGSTOP.
  ///   - mode: where they are watched.
  ///   - label: its name in reports, at most 255 bytes of UTF-8.
  ///   - scope: what it belongs to; nil: the scope that the thread has entered.
  /// - Throws: `TreadleError` for what is no signal, or none at all; as `readiness`. Since 1.0.
  public func posixSignals(
    _ numbers: Int32..., in mode: RunLoopMode = .common, label: String? = nil, scope: RunLoopScope? = nil
  ) throws(TreadleError) -> RunLoopSequence<RunLoopPOSIXSignal> {
    let signals = try SignalDescriptor(numbers)
    // Watched all the time: which signals of its own a thread has is seen by itself alone, so nobody else could resume
    // that.
    let streamed = StreamedItem()
    let (stream, end) = StreamEnd<RunLoopPOSIXSignal>.makeStream(of: streamed, keepsAll: true)
    let ready: @Sendable (RunLoopDescriptor, RunLoopReadiness) -> Void = { _, _ in
      while let signal = signals.next() { end.yield(signal) }
    }
    try streamed.start(
      RunLoopDescriptor(signals.descriptor, for: .readable, label: label, scope: scope, ready: ready), on: self,
      in: mode)
    return RunLoopSequence(stream, of: streamed)
  }
}

/// A descriptor of signals, which are blocked; closed with this object.
private final class SignalDescriptor: Sendable {
  let descriptor: Int32

  init(_ numbers: [Int32]) throws(TreadleError) {
    if numbers.isEmpty { throw TreadleError(.argument, "no signal is named") }
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in numbers where number == SIGKILL || number == SIGSTOP || sigaddset(&signals, number) != 0 {
      throw TreadleError(.argument, "\(number) is no signal that can be received")
    }
    var before = sigset_t()
    let blocked = pthread_sigmask(SIG_BLOCK, &signals, &before)
    if blocked != 0 { throw TreadleError(.system, "the signals cannot be blocked", errno: blocked) }
    descriptor = makeSignalDescriptor(-1, &signals, O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0 {
      let reason = errno
      pthread_sigmask(SIG_SETMASK, &before, nil)
      throw TreadleError(.system, "there is no descriptor for signals", errno: reason)
    }
  }

  deinit { close(descriptor) }

  /// The next signal, of the process or of the calling thread; nil for none. The record is the kernel's
  /// `signalfd_siginfo`.
  func next() -> RunLoopPOSIXSignal? {
    withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { record in
      guard read(descriptor, record.baseAddress, record.count) == record.count else { return nil }
      return RunLoopPOSIXSignal(
        number: record.load(fromByteOffset: 0, as: Int32.self), code: record.load(fromByteOffset: 8, as: Int32.self),
        processID: record.load(fromByteOffset: 12, as: Int32.self),
        userID: record.load(fromByteOffset: 16, as: UInt32.self),
        value: record.load(fromByteOffset: 44, as: Int32.self))
    }
  }
}
