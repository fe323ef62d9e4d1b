// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle

/// A message that a port has received. It lives as long as this object, with the ports and descriptors in it. Since
/// 1.0.
public final class RunLoopMessage: Sendable {
  private let reference: Reference

  /// Adds a reference to the one that a callback has lent.
  init(retaining handle: OpaquePointer) throws(TreadleError) { reference = try Reference(retaining: handle) }

  private var info: treadle_message_info {
    var info = treadle_message_info()
    info.struct_size = MemoryLayout<treadle_message_info>.size
    _ = treadle_message_get_info(reference.handle, &info)
    return info
  }

  /// As it was sent. Any thread. Since 1.0.
  public var id: UInt32 { info.id }

  /// The port that it arrived on (MPORT-3); nil when that is gone. Any thread. Since 1.0.
  public var port: RunLoopPort? { RunLoopPort.keeping(info.port) }

  /// Where an answer goes (MPORT-3); nil: none is expected. Any thread. Since 1.0.
  public var replyPort: RunLoopPort? { RunLoopPort.keeping(info.reply_port) }

  /// A copy of the bytes of its first component; none if that is no bytes. Any thread. Since 1.0.
  public var bytes: [UInt8] {
    let info = info
    return withExtendedLifetime(self) {
      [UInt8](UnsafeRawBufferPointer(start: info.bytes, count: info.bytes == nil ? 0 : info.length))
    }
  }

  /// All that it carries; of a descriptor the message's own. Any thread. Since 1.0.
  public var components: [Component] {
    let count = Int(info.component_count)
    return (0..<count).map { index in
      var component = treadle_component()
      if treadle_message_get_component(reference.handle, index, &component) < 0 { return Component() }
      return withExtendedLifetime(self) { Component(component) }
    }
  }

  /// Takes a descriptor out of it, which is the caller's to close. A descriptor that is not taken is closed with the
  /// message. Any thread.
  /// - Parameter index: of the component.
  /// - Throws: `TreadleError` for a component that is not there, that is no descriptor, or whose descriptor was taken.
  ///   Since 1.0.
  public func takeDescriptor(at index: Int) throws(TreadleError) -> Int32 {
    if index < 0 { throw TreadleError(.range, "index is negative") }
    var descriptor: Int32 = -1
    try check(treadle_message_take_descriptor(reference.handle, index, &descriptor))
    return descriptor
  }
}

extension RunLoopMessage: CustomStringConvertible {
  /// The id and what it carries, for debugging. Any thread. Since 1.0.
  public var description: String {
    let parts = components.map(\.description)
    return "RunLoopMessage(\(([String(id)] + parts).joined(separator: ", ")))"
  }
}

extension RunLoopMessage {
  /// A part of a message: bytes, a port or a descriptor, of which the other two are nil. Later versions may have more
  /// kinds, of which all three are nil. Since 1.0.
  public struct Component: Sendable {
    /// Its bytes. Since 1.0.
    public private(set) var bytes: [UInt8]?
    /// Its port. Since 1.0.
    public private(set) var port: RunLoopPort?
    /// Its descriptor: sent, any open one, which stays the sender's; received, the message's, and nil once it was
    /// taken. Since 1.0.
    public private(set) var descriptor: Int32?

    fileprivate init() {}

    fileprivate init(_ component: treadle_component) {
      switch Int(component.kind) {
      case TREADLE_COMPONENT_BYTES:
        bytes = [UInt8](
          UnsafeRawBufferPointer(start: component.bytes, count: component.bytes == nil ? 0 : component.length))
      case TREADLE_COMPONENT_PORT: port = RunLoopPort.keeping(component.port)
      case TREADLE_COMPONENT_DESCRIPTOR: descriptor = component.descriptor < 0 ? nil : component.descriptor
      default: break
      }
    }

    /// Bytes. Since 1.0.
    public static func bytes(_ bytes: [UInt8]) -> Component {
      var component = Component()
      component.bytes = bytes
      return component
    }

    /// A text, as the bytes of UTF-8. Since 1.0.
    public static func text(_ text: String) -> Component { bytes([UInt8](text.utf8)) }

    /// A port, which the message keeps. Since 1.0.
    public static func port(_ port: RunLoopPort) -> Component {
      var component = Component()
      component.port = port
      return component
    }

    /// An open descriptor, of which the message gets a copy. Since 1.0.
    public static func descriptor(_ descriptor: Int32) -> Component {
      var component = Component()
      component.descriptor = descriptor
      return component
    }

    /// Calls `body` with the components for C, which are valid meanwhile.
    static func withArray(
      _ components: [Component], _ body: (UnsafePointer<treadle_component>?, Int) -> treadle_status
    ) -> treadle_status {
      // All bytes lie one behind the other, so that one pointer is valid for all.
      var all: [UInt8] = []
      all.reserveCapacity(components.reduce(0) { $0 + ($1.bytes?.count ?? 0) })
      for component in components { all += component.bytes ?? [] }
      return withExtendedLifetime(components) {
        all.withUnsafeBytes { room in
          var start = 0
          let array = components.map { component in
            var result = treadle_component(kind: 0, descriptor: -1, bytes: nil, length: 0, port: nil)
            if let bytes = component.bytes {
              result.kind = UInt32(TREADLE_COMPONENT_BYTES)
              result.bytes = bytes.isEmpty ? nil : room.baseAddress.map { $0 + start }
              result.length = bytes.count
              start += bytes.count
            } else if let port = component.port {
              result.kind = UInt32(TREADLE_COMPONENT_PORT)
              result.port = port.handle
            } else {
              result.kind = UInt32(TREADLE_COMPONENT_DESCRIPTOR)
              result.descriptor = component.descriptor ?? -1
            }
            return result
          }
          return array.withUnsafeBufferPointer { body($0.baseAddress, $0.count) }
        }
      }
    }
  }
}

extension RunLoopMessage.Component: CustomStringConvertible {
  /// A description, for debugging. Since 1.0.
  public var description: String {
    if let bytes { return "\(bytes.count) bytes" }
    if port != nil { return "a port" }
    return descriptor.map { "descriptor \($0)" } ?? "nothing"
  }
}
