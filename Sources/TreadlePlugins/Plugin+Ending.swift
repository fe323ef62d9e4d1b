// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadle
import CTreadlePlugins
import CTreadleSystem
package import TreadleBase
import TreadleScopes

/// The end of a plugin: when nobody uses it, stop; then its scope ends all that it has made; then deinit; then its code
/// may go.
extension Plugin {
  /// The scope's guardian.
  static func guardEnd(_ memory: UnsafeMutableRawPointer, _ until: Int64) -> Bool {
    switch until {
    case Scope.mayBegin: beginEnd(Scope(memory))
    case Scope.neededHere: isNeededHere(Scope(memory))
    case Scope.threadEnds: settle(Scope(memory))
    default: stop(Scope(memory), until: until)
    }
  }

  /// The calling thread ends inside of its functions: its start has failed, its stop is over, or it has ended without
  /// the rest of deinit.
  private static func settle(_ scope: Scope) -> Bool {
    if scope.isFinishingHere {
      let plugin = try? PluginRegistry.locked { () throws(Failure) in PluginRegistry.find(scope) }
      (plugin ?? nil)?.conclude(hasReturned: false)
      return true
    }
    let untouched = try? PluginRegistry.locked { () throws(Failure) -> Plugin? in
      guard let plugin = PluginRegistry.find(scope), plugin.state.pointee.worker == Runtime.threadID else { return nil }
      let phase = plugin.state.pointee.phase
      if phase != PluginState.Phase.starting && phase != PluginState.Phase.stopping { return nil }
      // Only what it requires had begun: it can be started again.
      if !plugin.state.pointee.isGiven {
        plugin.state.pointee.phase = PluginState.Phase.loaded
        return plugin
      }
      plugin.state.pointee.phase = PluginState.Phase.stopped
      plugin.state.pointee.isEnding = true
      return nil
    }
    (untouched ?? nil)?.giveUpUses()
    return true
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
    var isStarting: IsolatedPlugin?
    let found = try? PluginRegistry.locked { () throws(Failure) -> (Plugin, UInt32)? in
      guard let plugin = PluginRegistry.find(scope) else { return nil }
      let phase = plugin.state.pointee.phase
      plugin.state.pointee.isEnding = true
      if phase == PluginState.Phase.started {
        plugin.state.pointee.phase = PluginState.Phase.stopping
        plugin.state.pointee.worker = Runtime.threadID
      }
      if phase == PluginState.Phase.loaded { plugin.state.pointee.phase = PluginState.Phase.stopped }
      if phase == PluginState.Phase.starting {
        isStarting = plugin.state.pointee.isolated
        isStarting?.hold()
      }
      return (plugin, phase)
    }
    guard let (plugin, phase) = found ?? nil else { return true }
    switch phase {
    case PluginState.Phase.started: break
    case PluginState.Phase.starting, PluginState.Phase.stopping:
      // From here on the plugin may end on another thread.
      isStarting?.awaitStart(in: scope, until: until)
      isStarting?.letGo()
      return false
    default: return true
    }
    let isOver = plugin.callStop(until: until)
    let hasStopped = try? PluginRegistry.locked { () throws(Failure) in
      plugin.state.pointee.worker = 0
      if isOver || plugin.state.pointee.hasStopped { plugin.state.pointee.phase = PluginState.Phase.stopped }
      return plugin.state.pointee.phase == PluginState.Phase.stopped
    }
    Rest.announce()
    return hasStopped ?? true
  }

  /// A stop that is to be over later is.
  func endStop() throws(Failure) {
    try PluginRegistry.locked { () throws(Failure) in
      if state.pointee.phase != PluginState.Phase.stopping { return }
      state.pointee.hasStopped = true
      if state.pointee.worker == 0 { state.pointee.phase = PluginState.Phase.stopped }
    }
    Rest.announce()
  }

  /// False if it is over later.
  private func callStop(until: Int64) -> Bool {
    guard let stop = state.pointee.description.stop else { return true }
    let left = until == Clock.forever ? Clock.forever : max(until &- Clock.now(), 0)
    var status = Status.ok
    forgetReason()
    _ = try? scope.calling(isWatched: hasTable, evenClosing: true) { () throws(Failure) in
      status = ClientCall.status(stop, state.pointee.instance, UnsafeRawPointer(bitPattern: Int(left)))
    }
    if status < 0 { tellFailedStop() }
    return status != Status.deferred
  }

  /// Why, if that was said, and what comes of it.
  func tellFailedStop() {
    withReason { text in if let text { tell(1, text) } }
    tell(1, "stop has failed: the plugin is ended all the same")
  }

  /// The scope is closed: nothing of the plugin runs, or is called by Treadle any more.
  static func end(_ info: UnsafeMutableRawPointer?) {
    guard let info else { return }
    let plugin = Plugin(state: info.assumingMemoryBound(to: PluginState.self))
    plugin.save()
    if plugin.state.pointee.isInitialised, let end = plugin.state.pointee.description.deinit {
      _ = ClientCall.guarded(end, plugin.state.pointee.instance)
    }
    plugin.conclude(hasReturned: true)
  }

  /// None of its functions is called any more. False for `hasReturned`: the last one has ended its thread.
  private func conclude(hasReturned: Bool) {
    let isPinned = try? PluginRegistry.locked { () throws(Failure) in
      PluginRegistry.remove(self)
      return state.pointee.isPinned
    }
    giveUpUses()
    if let heir = state.pointee.heir { SavedState.letGo(heir) }
    let isUntouched = !state.pointee.isGiven
    var stays: UnsafePointer<CChar>?
    if let image = state.pointee.image {
      stays = libtreadle_image_close(
        image, isUntouched ? nil : whyItStays(isPinned: isPinned != false, hasReturned: hasReturned))
    }
    if let isolated = state.pointee.isolated {
      isolated.close()
      isolated.letGo()
    }
    if state.pointee.image != nil && stays == nil || isUntouched || state.pointee.isolated != nil {
      GivenHost.free(state.pointee.given)
    } else {
      try? PluginRegistry.locked { () throws(Failure) in PluginRegistry.retire(state.pointee.given) }
    }
    PluginSettings.free(&state.pointee.values)
    treadle_system_free(state.pointee.path)
    // A process of its own ends behind it: nothing stays.
    if state.pointee.server != nil { stays = nil }
    let (scope, teller) = (state.pointee.scope, teller)
    treadle_system_free(state)
    // Last, since it may end the thread.
    if let stays { teller.tell(2, stays) }
    scope.letGo()
  }

  private func whyItStays(isPinned: Bool, hasReturned: Bool) -> UnsafePointer<CChar>? {
    let text: StaticString
    if state.pointee.description.flags & UInt32(TREADLE_PLUGIN_MAY_UNMAP) == 0 {
      text = "stays mapped: it has not said that it may be unmapped"
    } else if !hasReturned {
      text = "stays mapped: its last function has ended its thread"
    } else if isPinned {
      text = "stays mapped: the code of a plugin has asked for its end"
    } else {
      return nil
    }
    return text.cText
  }

  // MARK: Handing over

  private func save() {
    let heir = try? PluginRegistry.locked { () throws(Failure) in state.pointee.heir }
    guard let heir = heir ?? nil else { return }
    guard state.pointee.isInitialised, let save = state.pointee.description.save else { return }
    let status = ClientCall.status(
      save, state.pointee.instance, unsafeBitCast(Plugin.write, to: UnsafeRawPointer.self), heir)
    heir.pointee.isSaved = status >= 0 && heir.pointee.isWhole
    if !heir.pointee.isSaved { tell(1, "the plugin has not saved its state") }
  }

  private static let write: @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Void = {
    sink, bytes, size in
    guard let saved = sink?.assumingMemoryBound(to: SavedState.self), let bytes, size > 0 else { return }
    for index in 0..<size where saved.pointee.isWhole {
      if !saved.pointee.bytes.append(bytes.load(fromByteOffset: index, as: UInt8.self)) {
        saved.pointee.isWhole = false
      }
    }
  }

  /// The plugin's code asks for a save while it runs. In its host's own process nobody needs that.
  func checkpoint() throws(Failure) -> Int32 {
    guard let server = state.pointee.server else { return Status.ignored }
    guard let save = state.pointee.description.save else { throw failure(Status.notSupported, "has no save") }
    let mayCall = try PluginRegistry.locked { () throws(Failure) in
      let phase = state.pointee.phase
      let isStartingHere = phase == PluginState.Phase.starting && state.pointee.worker == Runtime.threadID
      return phase == PluginState.Phase.started || isStartingHere && state.pointee.isInitialised
    }
    if !mayCall { throw failure(Status.state, "has not started, or has stopped") }
    let saved = try SavedState.make()
    defer { SavedState.discard(saved) }
    try ObjectCall.recorded(0, saved, SavedState.discard) { () throws(Failure) in
      let status = ClientCall.status(
        save, state.pointee.instance, unsafeBitCast(Plugin.write, to: UnsafeRawPointer.self), saved)
      if status < 0 { throw failure(Status.plugin, "has not saved its state", treadle_status_name(status)) }
      if !saved.pointee.isWhole { throw Failure.noMemory("state") }
      try server.pointee.keep(saved.pointee.bytes)
    }
    return Status.ok
  }

  /// Puts a plugin of the same id in the place of the one that a scope is of, which the caller holds. Its scope, as
  /// `load`.
  package static func reload(_ scope: Scope, _ config: treadle_plugin_config, timeout: Int64) throws(Failure) -> Scope {
    if scope.isHere { throw Failure(Status.deadlock, "plugin", "is to be replaced from inside of itself") }
    var loaded: Scope?
    try PluginRegistry.using(scope.handle.bits) { old throws(Failure) in loaded = try load(config, inPlaceOf: old) }
    guard let newScope = loaded else { throw Failure.noMemory("plugin") }
    newScope.holdAgain()
    defer { newScope.letGo() }
    do throws(Failure) {
      let saved = try SavedState.make()
      defer { SavedState.letGo(saved) }
      var handing = Handing(new: newScope, saved: saved)
      var failure: Failure?
      withUnsafeMutablePointer(to: &handing) { handing in
        ObjectCall.recorded(0, UnsafeMutableRawPointer(handing), Handing.abandon) {
          do throws(Failure) { try handOver(handing.pointee, from: scope, timeout: timeout) } catch { failure = error }
        }
      }
      if let failure { throw failure }
      return newScope
    } catch {
      discard(newScope)
      throw error
    }
  }

  private struct Handing {
    let new: Scope
    let saved: SavedState.Pointer

    /// The thread has ended in a function of either plugin.
    static let abandon: ObjectCall.Abandon = { memory in
      let handing = memory.assumingMemoryBound(to: Handing.self).pointee
      SavedState.letGo(handing.saved)
      discard(handing.new)
      handing.new.letGo()
    }
  }

  private static func handOver(_ handing: Handing, from scope: Scope, timeout: Int64) throws(Failure) {
    try hand(handing.saved, from: scope)
    if !(try scope.close(timeout: timeout)) {
      throw Failure(Status.deadlock, "plugin", "is to be replaced from inside of itself")
    }
    try PluginRegistry.using(handing.new.handle.bits) { new throws(Failure) in
      try PluginRegistry.locked { () throws(Failure) in new.state.pointee.isHeir = false }
      let saved = handing.saved
      let bytes = saved.pointee.isSaved ? saved.pointee.bytes.elements : nil
      _ = try new.start(restoring: bytes.map { UnsafeRawBufferPointer($0) })
    }
  }

  /// Where a plugin saves its state at its end, for the caller, who drops it (`SavedState.letGo`).
  static func handOver(from scope: Scope) throws(Failure) -> SavedState.Pointer {
    let saved = try SavedState.make()
    do throws(Failure) {
      try hand(saved, from: scope)
      return saved
    } catch {
      SavedState.letGo(saved)
      SavedState.letGo(saved)
      throw error
    }
  }

  /// It gets the state of the plugin that a scope is of; nothing if that has ended. What a reload has left that came to
  /// nothing, since the plugin was in use, gets nothing any more.
  private static func hand(_ saved: SavedState.Pointer, from scope: Scope) throws(Failure) {
    var last: SavedState.Pointer? = saved
    try PluginRegistry.locked { () throws(Failure) in
      guard let old = PluginRegistry.find(scope) else { return }
      // Its end may be writing there.
      if old.state.pointee.heir != nil && old.state.pointee.isEnding { return }
      (old.state.pointee.heir, last) = (saved, old.state.pointee.heir)
    }
    if let last { SavedState.letGo(last) }
  }
}
