// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadle
import CTreadlePlugins
import CTreadleSystem
package import TreadleBase
import TreadleScopes

/// The end of a plugin: when nobody uses it, stop; then its scope ends all that it has made; then deinit; then its code may go.
extension Plugin {
  /// The scope's guardian.
  static func guardEnd(_ memory: UnsafeMutableRawPointer, _ until: Int64) -> Bool {
    switch until {
    case Scope.mayBegin: beginEnd(Scope(memory))
    case Scope.neededHere: isNeededHere(Scope(memory))
    default: stop(Scope(memory), until: until)
    }
  }

  /// Whether the calling thread is inside of a plugin that uses it.
  private static func isNeededHere(_ scope: Scope) -> Bool {
    var seen = 0
    while true {
      // Held, since no lock is held where it is looked at.
      let found = try? PluginRegistry.locked { () throws(Failure) -> Scope? in
        var index = 0
        let user = PluginRegistry.first { plugin in
          if !plugin.uses(scope) { return false }
          index &+= 1
          return index > seen
        }
        user?.scope.holdAgain()
        return user?.scope
      }
      guard let user = found ?? nil else { return false }
      defer { user.letGo() }
      if user.isHere { return true }
      seen &+= 1
    }
  }

  /// False while another plugin uses it. Else none begins to any more.
  private static func beginEnd(_ scope: Scope) -> Bool {
    let isUnused = try? PluginRegistry.locked { () throws(Failure) in
      guard let plugin = PluginRegistry.find(scope) else { return true }
      if PluginRegistry.first(where: { $0.state != plugin.state && $0.uses(scope) }) != nil { return false }
      plugin.state.pointee.isEnding = true
      return true
    }
    return isUnused ?? true
  }

  /// True when it has stopped. By whoever comes first; while it is stopping nobody goes on to its end.
  private static func stop(_ scope: Scope, until: Int64) -> Bool {
    let found = try? PluginRegistry.locked { () throws(Failure) -> (Plugin, UInt32)? in
      guard let plugin = PluginRegistry.find(scope) else { return nil }
      let phase = plugin.state.pointee.phase
      plugin.state.pointee.isEnding = true
      if phase == PluginState.Phase.started { plugin.state.pointee.phase = PluginState.Phase.stopping }
      if phase == PluginState.Phase.loaded { plugin.state.pointee.phase = PluginState.Phase.stopped }
      return (plugin, phase)
    }
    guard let (plugin, phase) = found ?? nil else { return true }
    switch phase {
    case PluginState.Phase.started: break
    case PluginState.Phase.starting, PluginState.Phase.stopping: return false
    default: return true
    }
    plugin.callStop(until: until)
    try? PluginRegistry.locked { () throws(Failure) in plugin.state.pointee.phase = PluginState.Phase.stopped }
    Rest.announce()
    return true
  }

  private func callStop(until: Int64) {
    guard let stop = state.pointee.description.stop else { return }
    let left = until == Clock.forever ? Clock.forever : max(until &- Clock.now(), 0)
    var status = Status.ok
    _ = try? scope.calling(isWatched: hasTable, evenClosing: true) { () throws(Failure) in
      status = ClientCall.status(stop, state.pointee.instance, UnsafeRawPointer(bitPattern: Int(left)))
    }
    if status < 0 { tell(1, "stop has failed: the plugin is ended all the same") }
  }

  /// The scope is closed: nothing of the plugin runs, or is called by Treadle any more.
  static func end(_ info: UnsafeMutableRawPointer?) {
    guard let info else { return }
    let plugin = Plugin(state: info.assumingMemoryBound(to: PluginState.self))
    let state = plugin.state
    plugin.save()
    if state.pointee.isInitialised, let end = state.pointee.description.deinit {
      _ = ClientCall.guarded(end, state.pointee.instance)
    }
    let isPinned = try? PluginRegistry.locked { () throws(Failure) in
      PluginRegistry.remove(plugin)
      return state.pointee.isPinned
    }
    plugin.giveUpUses()
    let isUntouched = !state.pointee.isGiven
    var isGone = false
    if let image = state.pointee.image {
      let stays = libtreadle_image_close(image, isUntouched ? nil : whyItStays(plugin, isPinned: isPinned != false))
      if let stays { plugin.tell(2, stays) }
      isGone = stays == nil
    }
    if isGone || isUntouched {
      GivenHost.free(state.pointee.given)
    } else {
      try? PluginRegistry.locked { () throws(Failure) in PluginRegistry.retire(state.pointee.given) }
    }
    PluginSettings.free(&state.pointee.values)
    treadle_system_free(state.pointee.path)
    let scope = state.pointee.scope
    treadle_system_free(state)
    scope.letGo()
  }

  private static func whyItStays(_ plugin: Plugin, isPinned: Bool) -> UnsafePointer<CChar>? {
    let text: StaticString
    if plugin.state.pointee.description.flags & UInt32(TREADLE_PLUGIN_MAY_UNMAP) == 0 {
      text = "stays mapped: it has not said that it may be unmapped"
    } else if isPinned {
      text = "stays mapped: the code of a plugin has asked for its end"
    } else {
      return nil
    }
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }

  // MARK: Handing over

  private func save() {
    let heir = try? PluginRegistry.locked { () throws(Failure) in
      let heir = state.pointee.heir
      state.pointee.heir = nil
      return heir
    }
    guard let heir = heir ?? nil else { return }
    defer { SavedState.letGo(heir) }
    guard state.pointee.isInitialised, let save = state.pointee.description.save else { return }
    let status = ClientCall.status(save, state.pointee.instance, unsafeBitCast(Plugin.write, to: UnsafeRawPointer.self), heir)
    heir.pointee.isSaved = status >= 0 && heir.pointee.isWhole
    if !heir.pointee.isSaved { tell(1, "the plugin has not saved its state") }
  }

  private static let write: @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Void = { sink, bytes, size in
    guard let saved = sink?.assumingMemoryBound(to: SavedState.self), let bytes, size > 0 else { return }
    for index in 0..<size where saved.pointee.isWhole {
      if !saved.pointee.bytes.append(bytes.load(fromByteOffset: index, as: UInt8.self)) { saved.pointee.isWhole = false }
    }
  }

  /// Puts a plugin of the same id in the place of the one that a scope is of, which the caller holds. Its scope, as `load`.
  package static func reload(_ scope: Scope, _ config: treadle_plugin_config, timeout: Int64) throws(Failure) -> Scope {
    if scope.isHere { throw Failure(Status.deadlock, "plugin", "is to be replaced from inside of itself") }
    var loaded: Scope?
    try PluginRegistry.using(scope.handle.bits) { old throws(Failure) in loaded = try load(config, inPlaceOf: old) }
    guard let newScope = loaded else { throw Failure.noMemory("plugin") }
    let newHandle = newScope.handle
    newScope.holdAgain()
    defer { newScope.letGo() }
    do throws(Failure) {
      let saved = try SavedState.make()
      defer { SavedState.letGo(saved) }
      try hand(saved, from: scope)
      if !(try scope.close(timeout: timeout)) { throw Failure(Status.deadlock, "plugin", "is to be replaced from inside of itself") }
      try PluginRegistry.using(newHandle.bits) { new throws(Failure) in
        try PluginRegistry.locked { () throws(Failure) in new.state.pointee.isHeir = false }
        let bytes = saved.pointee.isSaved ? saved.pointee.bytes.elements : nil
        _ = try new.start(restoring: bytes.map { UnsafeRawBufferPointer($0) })
      }
      return newScope
    } catch {
      discard(newScope)
      throw error
    }
  }

  /// It gets the state of the plugin that a scope is of; nothing if that has ended.
  private static func hand(_ saved: SavedState.Pointer, from scope: Scope) throws(Failure) {
    let isTaken = try PluginRegistry.locked { () throws(Failure) in
      guard let old = PluginRegistry.find(scope), old.state.pointee.heir == nil else { return false }
      old.state.pointee.heir = saved
      return true
    }
    if !isTaken { SavedState.letGo(saved) }
  }
}
