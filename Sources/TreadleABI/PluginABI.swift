// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import CTreadleSystem
import TreadleBase
import TreadleCore
import TreadlePlugins
import TreadleScopes

@implementation @_cdecl("treadle_plugin_load")
public func treadle_plugin_load(
  _ config: UnsafePointer<treadle_plugin_config>?, _ out_plugin: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_plugin_load") { () throws(Failure) in
    let out = try need(out_plugin, nil, "out_plugin")
    let config = try ClientStruct.copy(config, "config")
    out.pointee = pointer(try Scope.making { () throws(Failure) in try Plugin.load(config).handle })
    return Status.ok
  }
}

@implementation @_cdecl("treadle_plugin_serve")
public func treadle_plugin_serve(
  _ serving_fd: Int32, _ asking_fd: Int32, _ filter: treadle_plugin_filter_fn?
) -> treadle_status {
  status("treadle_plugin_serve") { () throws(Failure) in
    try Runtime.start()
    try Item.demandOpen(serving_fd, "serving_fd")
    try Item.demandOpen(asking_fd, "asking_fd")
    try IsolatedServer.serve(serving_fd, asking_fd, filter)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_plugin_start")
public func treadle_plugin_start(_ plugin: OpaquePointer?) -> treadle_status {
  status("treadle_plugin_start") { () throws(Failure) in
    var isStarted = false
    try PluginRegistry.using(bits(plugin)) { plugin throws(Failure) in isStarted = try plugin.start() }
    return isStarted ? Status.ok : Status.ignored
  }
}

@implementation @_cdecl("treadle_plugin_reload")
public func treadle_plugin_reload(
  _ plugin: OpaquePointer?, _ config: UnsafePointer<treadle_plugin_config>?, _ timeout_ns: Int64,
  _ out_plugin: UnsafeMutablePointer<OpaquePointer?>?
) -> treadle_status {
  status("treadle_plugin_reload") { () throws(Failure) in
    let out = try need(out_plugin, nil, "out_plugin")
    let config = try ClientStruct.copy(config, "config")
    let made = try Scope.holding(bits(plugin), "plugin") { scope throws(Failure) in
      try Scope.making { () throws(Failure) in try Plugin.reload(scope, config, timeout: timeout_ns).handle }
    }
    out.pointee = pointer(made)
    return Status.ok
  }
}

@implementation @_cdecl("treadle_plugin_get_info")
public func treadle_plugin_get_info(
  _ plugin: OpaquePointer?, _ info: UnsafeMutablePointer<treadle_plugin_info>?
) -> treadle_status {
  status("treadle_plugin_get_info") { () throws(Failure) in
    try ClientStruct.fill(info, "info") { info throws(Failure) in
      var told = info
      try PluginRegistry.using(bits(plugin)) { plugin throws(Failure) in plugin.tell(&told) }
      info = told
    }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_plugin_get_extension")
public func treadle_plugin_get_extension(
  _ plugin: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ out_extension: UnsafeMutablePointer<UnsafeRawPointer?>?
) -> treadle_status {
  status("treadle_plugin_get_extension") { () throws(Failure) in
    let out = try need(out_extension, nil, "out_extension")
    guard let id else { throw Failure(Status.argument, "id", "is NULL") }
    try PluginRegistry.using(bits(plugin)) { plugin throws(Failure) in out.pointee = try plugin.findProvided(id) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_plugin_set")
public func treadle_plugin_set(
  _ plugin: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> treadle_status {
  status("treadle_plugin_set") { () throws(Failure) in
    if value == nil { throw Failure(Status.argument, "value", "is NULL") }
    try PluginRegistry.using(bits(plugin)) { plugin throws(Failure) in try plugin.set(key, value) }
    return Status.ok
  }
}

@implementation @_cdecl("treadle_plugin_copy_setting")
public func treadle_plugin_copy_setting(
  _ plugin: OpaquePointer?, _ key: UnsafePointer<CChar>?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ out_length: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_plugin_copy_setting") { () throws(Failure) in
    try writeText(buffer, capacity, out_length) { text throws(Failure) in
      var written = text
      try PluginRegistry.using(bits(plugin)) { plugin throws(Failure) in try plugin.copySetting(key, &written) }
      text = written
    }
  }
}

@implementation @_cdecl("treadle_plugin_copy_all")
public func treadle_plugin_copy_all(
  _ buffer: UnsafeMutablePointer<OpaquePointer?>?, _ capacity: Int, _ out_count: UnsafeMutablePointer<Int>?
) -> treadle_status {
  status("treadle_plugin_copy_all") { () throws(Failure) in
    let out = try need(out_count, 0, "out_count")
    var copied = try CopiedReferences(buffer, capacity, "buffer")
    do throws(Failure) {
      try PluginRegistry.forEach { handle throws(Failure) in try copied.add(.scope, handle) }
    } catch {
      copied.giveBack()
      throw error
    }
    out.pointee = copied.count
    return Status.ok
  }
}
