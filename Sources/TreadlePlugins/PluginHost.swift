// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadlePlugins
import CTreadleSystem
import TreadleBase

/// What a plugin is given, and what of it is ours. As long as code of the plugin is mapped it lives, and its scope with
/// it: who calls after the plugin's end is refused by a closed scope.
package struct GivenHost {
  /// The plugin's view; first, so that its address is this one's.
  var host: treadle_plugin_host
  /// Held.
  var scope: Scope?
  /// Registry's lock.
  var next: UnsafeMutablePointer<GivenHost>?
  /// The program's texts; its own copies.
  var name: UnsafeMutablePointer<CChar>?
  var version: UnsafeMutablePointer<CChar>?
  /// Its own copy; nil for one that is part of the program.
  var path: UnsafeMutablePointer<CChar>?

  static func of(_ host: UnsafePointer<treadle_plugin_host>) -> UnsafeMutablePointer<GivenHost> {
    UnsafeMutableRawPointer(mutating: host).assumingMemoryBound(to: GivenHost.self)
  }

  /// A new one, which has no scope yet.
  static func make(
    name: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, path: UnsafePointer<CChar>?
  ) throws(Failure) -> UnsafeMutablePointer<GivenHost> {
    let empty = ("" as StaticString).cText
    guard let memory = treadle_system_allocate(MemoryLayout<GivenHost>.size) else { throw Failure.noMemory("plugin") }
    let given = memory.bindMemory(to: GivenHost.self, capacity: 1)
    given.initialize(
      to: GivenHost(host: treadle_plugin_host(), scope: nil, next: nil, name: nil, version: nil, path: nil))
    do throws(Failure) {
      given.pointee.name = try Plugin.copy(name ?? empty)
      given.pointee.version = try Plugin.copy(version ?? empty)
      given.pointee.path = try Plugin.copy(path)
      return given
    } catch {
      free(given)
      throw error
    }
  }

  /// From here on it is what a plugin of this scope is given.
  static func begin(
    _ given: UnsafeMutablePointer<GivenHost>, _ scope: Scope, abi: UInt32, behaviour: UInt32
  ) {
    let path = UnsafePointer(given.pointee.path)
    scope.holdAgain()
    given.pointee.scope = scope
    given.pointee.host = treadle_plugin_host(
      struct_size: MemoryLayout<treadle_plugin_host>.size, abi: abi, behaviour: behaviour, name: given.pointee.name,
      version: given.pointee.version, plugin: OpaquePointer(bitPattern: scope.handle.bits),
      table: libtreadle_plugin_table().map { OpaquePointer($0) }, get_extension: getExtension,
      copy_setting: copySetting, log: log,
      path: path, fail: fail, stopped: stopped, checkpoint: checkpoint)
  }

  /// Nothing of the plugin can call any more.
  static func free(_ given: UnsafeMutablePointer<GivenHost>) {
    given.pointee.scope?.letGo()
    treadle_system_free(given.pointee.name)
    treadle_system_free(given.pointee.version)
    treadle_system_free(given.pointee.path)
    treadle_system_free(given)
  }

  // MARK: Its functions

  /// Runs `body` with the plugin that calls, which does not end meanwhile.
  @inline(never)
  private static func during(_ host: UnsafePointer<treadle_plugin_host>?, _ body: (Plugin) throws(Failure) -> Void)
    throws(Failure)
  {
    guard let host, let scope = of(host).pointee.scope else { throw Failure(Status.argument, "host", "is NULL") }
    func call() throws(Failure) {
      let plugin = try PluginRegistry.locked { () throws(Failure) in PluginRegistry.find(scope) }
      guard let plugin else { throw Failure(Status.closed, "plugin", "has ended") }
      try body(plugin)
    }
    // In its save or deinit it has ended but for this call.
    if scope.isFinishingHere { try call() } else { try scope.calling(isWatched: true, evenClosing: true, call) }
  }

  private static let getExtension:
    @convention(c) (UnsafePointer<treadle_plugin_host>?, UnsafePointer<CChar>?) -> UnsafeRawPointer? = {
      host, id in
      guard let id else { return nil }
      var found: UnsafeRawPointer?
      try? during(host) { plugin throws(Failure) in found = plugin.findListed(id) }
      return found
    }

  private static let copySetting:
    @convention(c) (
      UnsafePointer<treadle_plugin_host>?, UnsafePointer<CChar>?, UnsafeMutablePointer<CChar>?, Int,
      UnsafeMutablePointer<Int>?
    ) -> treadle_status = { host, key, buffer, capacity, length in
      do throws(Failure) {
        length?.pointee = 0
        let buffer = try ClientBuffer(buffer, capacity)
        guard let length else { throw Failure(Status.argument, "out_length", "is NULL") }
        try during(host) { plugin throws(Failure) in
          var text = buffer.text
          try plugin.copySetting(key, &text)
          length.pointee = text.length
        }
        return Status.ok
      } catch {
        LastError.record(error, in: "copy_setting")
        return error.status
      }
    }

  private static let log: @convention(c) (UnsafePointer<treadle_plugin_host>?, UInt32, UnsafePointer<CChar>?) -> Void =
    { host, level, text in
      guard let text else { return }
      try? during(host) { plugin throws(Failure) in plugin.tell(level, text) }
    }

  private static let fail: @convention(c) (UnsafePointer<treadle_plugin_host>?, UnsafePointer<CChar>?) -> Void = {
    host, text in
    guard let text else { return }
    try? during(host) { plugin throws(Failure) in plugin.giveReason(text) }
  }

  private static let stopped: @convention(c) (UnsafePointer<treadle_plugin_host>?) -> Void = { host in
    try? during(host) { plugin throws(Failure) in try plugin.endStop() }
  }

  private static let checkpoint: @convention(c) (UnsafePointer<treadle_plugin_host>?) -> treadle_status = { host in
    do throws(Failure) {
      var status = Status.ok
      try during(host) { plugin throws(Failure) in status = try plugin.checkpoint() }
      return status
    } catch {
      LastError.record(error, in: "checkpoint")
      return error.status
    }
  }
}

// MARK: Calls through the table

/// A function of the table is called that makes something: it is in the plugin's scope. What was entered, NULL for
/// nothing, is left by `pluginLeave`.
@_cdecl("libtreadle_plugin_enter")
public func pluginEnter(_ host: UnsafeRawPointer?, _ out: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int32 {
  out.pointee = nil
  guard let host else {
    LastError.record(Failure(Status.argument, "plugin", "is NULL"), in: "treadle_plugin_table")
    return Status.argument
  }
  do throws(Failure) {
    out.pointee = try GivenHost.of(host.assumingMemoryBound(to: treadle_plugin_host.self)).pointee.scope?.enterForCall()
    return Status.ok
  } catch {
    LastError.record(error, in: "treadle_plugin_table")
    return error.status
  }
}

@_cdecl("libtreadle_plugin_leave")
public func pluginLeave(_ entry: UnsafeMutableRawPointer?) {
  if let entry { Scope.endCalling(entry) }
}

/// Code of a plugin closes something: if that is a plugin, it stays mapped, since nobody knows whose code is on the
/// stack.
@_cdecl("libtreadle_plugin_asks_for_end")
public func pluginAsksForEnd(_ object: UnsafeMutableRawPointer?) {
  guard Handle(bits: UInt(bitPattern: object)).kind == .scope,
    let scope = try? Scope.hold(UInt(bitPattern: object), "plugin")
  else { return }
  defer { scope.letGo() }
  try? PluginRegistry.locked { () throws(Failure) in PluginRegistry.find(scope)?.state.pointee.isPinned = true }
}
