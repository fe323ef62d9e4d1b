// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadle
import CTreadlePlugins
import CTreadleSystem
package import TreadleBase
import TreadleScopes

extension Plugin {
  /// What a plugin is made of, before it is one: `free` gives back what is there still.
  private struct Parts {
    var image: UnsafeMutablePointer<libtreadle_image>?
    var isolated: IsolatedPlugin?
    var memory: UnsafeMutableRawPointer?
    var path: UnsafeMutablePointer<CChar>?
    var given: UnsafeMutablePointer<GivenHost>?
    var values = Buffer<UnsafeMutablePointer<CChar>?>()

    mutating func free() {
      if let image { _ = libtreadle_image_close(image, nil) }
      if let isolated {
        isolated.close()
        isolated.letGo()
      }
      treadle_system_free(memory)
      treadle_system_free(path)
      if let given { GivenHost.free(given) }
      PluginSettings.free(&values)
    }
  }

  /// Loads a plugin, which others may end at once; `old` is to be replaced by it. Its scope lives on: that has one
  /// reference, the client's.
  package static func load(_ config: treadle_plugin_config, inPlaceOf old: Plugin? = nil) throws(Failure) -> Scope {
    try Runtime.start()
    if (config.path == nil) == (config.query == nil) {
      throw Failure(Status.argument, "path", "and query are both NULL, or both given")
    }
    if let name = config.host_name, !UTF8Text.isWellFormed(name) {
      throw Failure(Status.argument, "host_name", "is not UTF-8")
    }
    if let version = config.host_version, !UTF8Text.isWellFormed(version) {
      throw Failure(Status.argument, "host_version", "is not UTF-8")
    }
    if config.reserved != 0 { throw Failure(Status.argument, "reserved", "is not 0") }
    if config.flags & ~UInt32(TREADLE_PLUGIN_LOAD_WRITABLE | TREADLE_PLUGIN_LOAD_ISOLATED) != 0 {
      throw Failure(Status.argument, "flags", "has unknown flags")
    }
    if config.flags & UInt32(TREADLE_PLUGIN_LOAD_ISOLATED) != 0 && config.query != nil {
      throw Failure(Status.argument, "query", "is a function of the program, which cannot be isolated")
    }
    if config.flags & UInt32(TREADLE_PLUGIN_LOAD_ISOLATED) == 0 { try demandPlain(config) }
    var parts = Parts()
    do throws(Failure) {
      return try make(config, &parts, inPlaceOf: old)
    } catch {
      parts.free()
      throw error
    }
  }

  /// What only an isolated plugin has.
  private static func demandPlain(_ config: treadle_plugin_config) throws(Failure) {
    let text: StaticString = "is given for a plugin that is not isolated"
    if config.loop != nil { throw Failure(Status.argument, "loop", text) }
    if config.limits != nil { throw Failure(Status.argument, "limits", text) }
    if config.rights != nil { throw Failure(Status.argument, "rights", text) }
    if config.ended != nil { throw Failure(Status.argument, "ended", text) }
    if config.restart != nil { throw Failure(Status.argument, "restart", text) }
    if config.timeout_ns != 0 { throw Failure(Status.argument, "timeout_ns", text) }
    if config.id != nil { throw Failure(Status.argument, "id", text) }
  }

  private static func make(_ config: treadle_plugin_config, _ parts: inout Parts, inPlaceOf old: Plugin?)
    throws(Failure) -> Scope
  {
    if config.flags & UInt32(TREADLE_PLUGIN_LOAD_ISOLATED) != 0 {
      return try makeIsolated(config, &parts, inPlaceOf: old)
    }
    var query = config.query
    if let path = config.path {
      // Its constructors may find functions of the library by themselves: what they created would belong to nobody.
      let image = try Scope.creatingNothing { () throws(Failure) in
        try open(path, takesWritable: config.flags & UInt32(TREADLE_PLUGIN_LOAD_WRITABLE) != 0)
      }
      parts.image = image
      query = unsafeBitCast(libtreadle_image_find(image, "treadle_plugin_query"), to: treadle_plugin_query_fn?.self)
    }
    guard let query else {
      LastError.detail(config.path)
      throw Failure(Status.plugin, "path", "names a library that does not export treadle_plugin_query")
    }
    let answer = ClientCall.guarded(query, UnsafeRawPointer(bitPattern: UInt(TREADLE_PLUGIN_ABI)))
    guard let original = UnsafePointer<treadle_plugin_description>(bitPattern: answer) else {
      LastError.detail(config.path)
      throw Failure(Status.plugin, "plugin", "has no description")
    }
    let (description, abi) = try PluginCheck.read(original)
    if parts.image != nil && description.`self` == nil {
      LastError.detail(description.id)
      throw Failure(Status.plugin, "plugin", "was built without TREADLE_PLUGIN: its description has no self")
    }
    return try make(config, &parts, original, description, abi, inPlaceOf: old)
  }

  /// In the host there are its description and functions that ask its process.
  private static func makeIsolated(
    _ config: treadle_plugin_config, _ parts: inout Parts, inPlaceOf old: Plugin?
  ) throws(Failure) -> Scope {
    let isolated = try IsolatedPlugin.load(config)
    parts.isolated = isolated
    var whole = isolated.withFunctions
    let (description, abi) = try withUnsafePointer(to: &whole) { whole throws(Failure) in try PluginCheck.read(whole) }
    let known = withUnsafePointer(to: &isolated.state.pointee.description) {
      UnsafeRawPointer($0).assumingMemoryBound(to: treadle_plugin_description.self)
    }
    let scope = try make(config, &parts, known, description, abi, inPlaceOf: old)
    return scope
  }

  private static func make(
    _ config: treadle_plugin_config, _ parts: inout Parts, _ original: UnsafePointer<treadle_plugin_description>,
    _ description: treadle_plugin_description, _ abi: UInt32, inPlaceOf old: Plugin?
  ) throws(Failure) -> Scope {
    guard let id = description.id else { throw Failure.noMemory("plugin") }
    if let old, let known = old.id, strcmp(known, id) != 0 {
      throw old.failure(Status.plugin, "cannot be replaced by a plugin with another id", id)
    }
    parts.values = try PluginSettings.begin(description, config.settings)
    parts.path = try copy(config.path)
    parts.memory = treadle_system_allocate(MemoryLayout<PluginState>.size)
    guard let memory = parts.memory else { throw Failure.noMemory("plugin") }
    let given = try GivenHost.make(name: config.host_name, version: config.host_version, path: config.path)
    parts.given = given
    // The last that may fail.
    let scope = try Scope.create(
      label: id, destroy: { Plugin.end($0) }, info: memory, guardian: { Plugin.guardEnd($0, $1) })
    scope.holdAgain()
    GivenHost.begin(given, scope, abi: abi, behaviour: description.behaviour)
    let state = memory.bindMemory(to: PluginState.self, capacity: 1)
    state.initialize(
      to: PluginState(
        next: nil, scope: scope, image: parts.image, isolated: parts.isolated, original: original,
        description: description,
        path: parts.path, given: given, getExtension: config.get_extension, extensions: config.extensions,
        log: config.log, info: config.info, values: parts.values, phase: PluginState.Phase.loaded,
        worker: 0, hasStopped: false, instance: nil, isGiven: false, isInitialised: false, isEnding: false,
        isHeir: old != nil, isPinned: false, uses: Buffer(),
        isReached: false, foundBefore: nil, heir: nil, reason: PluginReason()))
    parts.isolated?.begin(scope)
    parts = Parts()
    try enter(Plugin(state: state), inPlaceOf: old)
    return scope
  }

  /// One that is loaded already under the id is refused: then the new one ends, as any plugin.
  private static func enter(_ plugin: Plugin, inPlaceOf old: Plugin?) throws(Failure) {
    let hasTwin = try PluginRegistry.locked { () throws(Failure) in
      let twin = PluginRegistry.first { other in
        guard other.state != old?.state, let one = other.id, let two = plugin.id else { return false }
        return strcmp(one, two) == 0
      }
      if twin == nil { PluginRegistry.add(plugin) }
      return twin != nil
    }
    if !hasTwin { return }
    let failure = plugin.failure(Status.exists, "is loaded already")
    discard(plugin.scope)
    throw failure
  }

  /// Ends a plugin that nobody was given.
  static func discard(_ scope: Scope) {
    let handle = scope.handle
    scope.holdAgain()
    defer { scope.letGo() }
    _ = try? scope.close(timeout: 0)
    if let client = try? Slab(.scope).surrender(handle.bits, "plugin") { Scope(client).letGo() }
  }

  private static func open(_ path: UnsafePointer<CChar>, takesWritable: Bool) throws(Failure) -> UnsafeMutablePointer<
    libtreadle_image
  > {
    var image: UnsafeMutablePointer<libtreadle_image>?
    var why: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    )
    let result = withUnsafeMutableBytes(of: &why) { room in
      let text = room.baseAddress?.assumingMemoryBound(to: CChar.self)
      let result = libtreadle_image_open(path, takesWritable, &image, text, room.count)
      LastError.detail(text?.pointee == 0 ? path : UnsafePointer(text))
      return result
    }
    if result < 0 {
      let isMissing = result == 0 &- treadle_system_enoent()
      throw Failure(
        Status.system, "path", isMissing ? "names no file" : "names a file that cannot be opened", osError: 0 &- result)
    }
    switch result {
    case Int32(LIBTREADLE_IMAGE_OK): break
    case Int32(LIBTREADLE_IMAGE_NO_FILE): throw Failure(Status.plugin, "path", "names no regular file")
    case Int32(LIBTREADLE_IMAGE_WRITABLE):
      throw Failure(Status.plugin, "path", "names a file that another user may write")
    case Int32(LIBTREADLE_IMAGE_OPEN):
      throw Failure(Status.plugin, "path", "leads through a directory or link that another user may replace")
    case Int32(LIBTREADLE_IMAGE_SEARCH):
      throw Failure(Status.plugin, "path", "names a library that searches for others where another user may put them")
    case Int32(LIBTREADLE_IMAGE_CALLS):
      throw Failure(
        Status.plugin, "path",
        "names a library that calls Treadle itself, and not by its host's table: build it with TREADLE_PLUGIN")
    case Int32(LIBTREADLE_IMAGE_DAMAGED):
      throw Failure(Status.plugin, "path", "names a library that is truncated or damaged")
    case Int32(LIBTREADLE_IMAGE_FORMAT):
      throw Failure(Status.plugin, "path", "names no shared library of this machine's kind")
    case Int32(LIBTREADLE_IMAGE_CUT):
      throw Failure(Status.plugin, "path", "names a library that is shorter than it says")
    case Int32(LIBTREADLE_IMAGE_LOADER): throw Failure(Status.plugin, "path", "names a library that the loader refuses")
    case Int32(LIBTREADLE_IMAGE_CHANGED):
      throw Failure(Status.plugin, "path", "names a library that was written over while it is mapped")
    default: throw Failure.noMemory("plugin")
    }
    LastError.forgetDetail()
    guard let image else { throw Failure.noMemory("plugin") }
    return image
  }

  /// A copy of a text; nil for none.
  static func copy(_ text: UnsafePointer<CChar>?) throws(Failure) -> UnsafeMutablePointer<CChar>? {
    guard let text else { return nil }
    let size = strlen(text) &+ 1
    guard let memory = treadle_system_allocate(size) else { throw Failure.noMemory("plugin") }
    memcpy(memory, text, size)
    return memory.assumingMemoryBound(to: CChar.self)
  }
}
