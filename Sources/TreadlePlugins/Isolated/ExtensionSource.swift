// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadlePlugins
import CTreadleSystem
import TreadleBase

/// Where the descriptor of an extension is.
enum ExtensionSource {
  case descriptor(UnsafePointer<treadle_extension_descriptor>)
  /// In bytes that another process has told.
  case bytes(UnsafeRawBufferPointer)

  func write(to frame: inout FrameWriter) throws(Failure) {
    switch self {
    case .descriptor(let descriptor): try ExtensionBytes.write(descriptor, to: &frame)
    case .bytes(let bytes):
      frame.room(bytes.count) { room in if let start = bytes.baseAddress { memcpy(room, start, bytes.count) } }
    }
  }

  /// The other side describes it in the same way.
  func demandSame(_ bytes: UnsafeRawBufferPointer, _ name: UnsafePointer<CChar>) throws(Failure) {
    var own = FrameWriter()
    defer { own.free() }
    try write(to: &own)
    try own.demandMemory()
    let known = UnsafeRawBufferPointer(own.bytes.elements)
    if known.count == bytes.count, let one = known.baseAddress, let other = bytes.baseAddress,
      memcmp(one, other, known.count) == 0
    {
      return
    }
    LastError.detail(name)
    throw Failure(Status.plugin, "extension", "is described otherwise than by the program")
  }

  typealias List = UnsafePointer<UnsafePointer<treadle_extension_descriptor>?>

  /// The descriptor of a name in a list that ends with NULL.
  static func find(_ name: UnsafePointer<CChar>, in list: List?) -> ExtensionSource? {
    guard var next = list else { return nil }
    while let descriptor = next.pointee {
      if let known = descriptor.pointee.name, strcmp(known, name) == 0 { return .descriptor(descriptor) }
      next += 1
    }
    return nil
  }
}

extension Plugin {
  /// The descriptor of an extension that this plugin gets: of the program, or of the plugin that provides it.
  func describe(_ name: UnsafePointer<CChar>) throws(Failure) -> ExtensionSource {
    if let found = ExtensionSource.find(name, in: state.pointee.extensions) { return found }
    var found: ExtensionSource?
    if let provider = provider(of: name) {
      try PluginRegistry.using(provider) { provider throws(Failure) in found = provider.describeProvided(name) }
    }
    guard let found else { throw Plugin.undescribed(name) }
    return found
  }

  /// The descriptor of one that this plugin provides.
  func describeProvided(_ name: UnsafePointer<CChar>) -> ExtensionSource? {
    if let link = state.pointee.isolated?.state.pointee.link { return link.describe(name) }
    if let image = state.pointee.image {
      let list = libtreadle_image_find(image, "treadle_plugin_extensions")
      return ExtensionSource.find(
        name, in: list.map { UnsafeRawPointer($0).assumingMemoryBound(to: ExtensionSource.List.Pointee.self) })
    }
    return ExtensionSource.find(name, in: state.pointee.extensions)
  }

  static func undescribed(_ name: UnsafePointer<CChar>) -> Failure {
    LastError.detail(name)
    return Failure(
      Status.notSupported, "extension", "has no descriptor, which calls of another process need")
  }
}

extension IsolatedLink {
  func describe(_ name: UnsafePointer<CChar>) -> ExtensionSource? {
    locking {
      for proxy in state.pointee.proxies.elements {
        if let known = proxy.pointee.type.pointee.name, strcmp(known, name) == 0 {
          return .bytes(proxy.pointee.type.pointee.given)
        }
      }
      return nil
    }
  }
}
