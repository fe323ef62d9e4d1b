// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import CTreadleSystem
package import TreadleBase
import TreadleScopes

extension Plugin {
  /// A plugin that is being started, and the one that requires it.
  private struct Walk {
    let plugin: Plugin
    let outer: UnsafePointer<Walk>?
  }

  /// Starts a plugin, and before it those that it requires. The caller is inside of the plugin
  /// (`PluginRegistry.using`). False if it has started before. `saved`: the state of the one whose place it takes.
  package func start(restoring saved: UnsafeRawBufferPointer? = nil) throws(Failure) -> Bool {
    try start(nil, saved)
  }

  private func start(_ outer: UnsafePointer<Walk>?, _ saved: UnsafeRawBufferPointer?) throws(Failure) -> Bool {
    if !(try beginStart(outer)) { return false }
    var walk = Walk(plugin: self, outer: outer)
    do throws(Failure) {
      try withUnsafePointer(to: &walk) { walk throws(Failure) in try startRequired(walk) }
    } catch {
      setPhase(PluginState.Phase.loaded)
      giveUpUses()
      throw error
    }
    do throws(Failure) {
      try callInit()
      if let saved { try callRestore(saved) }
      if let start = state.pointee.description.start { try call("has failed to start", start, state.pointee.instance) }
    } catch {
      setPhase(PluginState.Phase.stopped)
      // It ends when this call has returned.
      _ = try? scope.close(timeout: 0)
      throw error
    }
    setPhase(PluginState.Phase.started)
    state.pointee.isolated?.restartIfEnded()
    return true
  }

  /// False if there is nothing to be done.
  private func beginStart(_ outer: UnsafePointer<Walk>?) throws(Failure) -> Bool {
    var next = outer
    while let walk = next {
      if walk.pointee.plugin.state == state {
        throw failure(Status.deadlock, "requires a plugin that requires it", outer?.pointee.plugin.id)
      }
      next = walk.pointee.outer
    }
    return try PluginRegistry.locked { () throws(Failure) in
      switch state.pointee.phase {
      case PluginState.Phase.started: return false
      case PluginState.Phase.starting: throw failure(Status.state, "is being started by another thread")
      case PluginState.Phase.loaded where state.pointee.isHeir && !state.pointee.isEnding:
        throw failure(Status.state, "waits for the end of its predecessor")
      case PluginState.Phase.loaded where !state.pointee.isEnding:
        state.pointee.phase = PluginState.Phase.starting
        state.pointee.worker = Runtime.threadID
        return true
      default: throw failure(Status.closed, "has ended or is ending")
      }
    }
  }

  private func setPhase(_ phase: UInt32) {
    try? PluginRegistry.locked { () throws(Failure) in state.pointee.phase = phase }
    // A close may wait for the end of its start (`IsolatedPlugin.awaitStart`).
    if state.pointee.isolated != nil { Rest.announce() }
  }

  /// A function of the plugin that may fail.
  private func call<Function>(
    _ text: StaticString, _ code: Function, _ a: UnsafeRawPointer?, _ b: UnsafeRawPointer? = nil,
    _ c: UnsafeRawPointer? = nil
  ) throws(Failure) {
    forgetReason()
    let status = ClientCall.status(code, a, b, c)
    if status < 0 { throw withReason { reason in failure(Status.plugin, text, reason ?? treadle_status_name(status)) } }
  }

  private func callInit() throws(Failure) {
    guard let begin = state.pointee.description.`init` else { return }
    state.pointee.description.`self`?.pointee = UnsafePointer(
      UnsafeMutableRawPointer(state.pointee.given).assumingMemoryBound(to: treadle_plugin_host.self))
    var instance: UnsafeMutableRawPointer?
    let host = UnsafePointer(
      UnsafeMutableRawPointer(state.pointee.given).assumingMemoryBound(to: treadle_plugin_host.self))
    state.pointee.isGiven = true
    try withUnsafeMutablePointer(to: &instance) { out throws(Failure) in
      try call("has failed in its init", begin, host, out)
    }
    state.pointee.instance = instance
    state.pointee.isInitialised = true
  }

  private func callRestore(_ saved: UnsafeRawBufferPointer) throws(Failure) {
    guard let restore = state.pointee.description.restore else { return }
    try call(
      "has refused the state of its predecessor", restore, state.pointee.instance, saved.baseAddress,
      UnsafeRawPointer(bitPattern: saved.count))
  }

  // MARK: Extensions

  private func startRequired(_ walk: UnsafePointer<Walk>) throws(Failure) {
    if var next = state.pointee.description.required {
      while let name = next.pointee {
        if !(try startProvider(of: name, walk)) {
          throw failure(Status.notFound, "requires an extension that is not provided", name)
        }
        if state.pointee.isolated != nil { try demandDescriptor(of: name) }
        next += 1
      }
    }
    guard var next = state.pointee.description.optional else { return }
    while let name = next.pointee {
      // Without it the plugin goes on.
      do throws(Failure) {
        _ = try startProvider(of: name, walk)
      } catch {
        LastError.forgetDetail()
      }
      next += 1
    }
  }

  /// A process of its own cannot reach one without a descriptor. One that is not there after all is the plugin's
  /// matter.
  private func demandDescriptor(of name: UnsafePointer<CChar>) throws(Failure) {
    if try lookUpListed(name) != nil { _ = try describe(name) }
  }

  /// False if nobody has it.
  private func startProvider(of name: UnsafePointer<CChar>, _ walk: UnsafePointer<Walk>) throws(Failure) -> Bool {
    if hostExtension(name) != nil { return true }
    guard let provider = provider(of: name) else { return false }
    try PluginRegistry.using(provider) { provider throws(Failure) in
      _ = try provider.start(walk, nil)
      try use(provider)
    }
    return true
  }

  private func hostExtension(_ name: UnsafePointer<CChar>) -> UnsafeRawPointer? {
    guard let getExtension = state.pointee.getExtension else { return nil }
    let info = state.pointee.info
    var found: UInt = 0
    Scope.aside { found = ClientCall.guarded(getExtension, info, name) }
    return UnsafeRawPointer(bitPattern: found)
  }

  /// The handle of a plugin that provides it, and is not this one.
  func provider(of name: UnsafePointer<CChar>) -> UInt? {
    let found = try? PluginRegistry.locked { () throws(Failure) in
      PluginRegistry.first { other in
        other.state != state && !other.state.pointee.isEnding
          && Plugin.lists(other.state.pointee.description.provided, name)
      }?.handle.bits
    }
    return found ?? nil
  }

  /// The provider does not end before this plugin.
  private func use(_ provider: Plugin) throws(Failure) {
    try PluginRegistry.locked { () throws(Failure) in
      let handle = UInt64(provider.handle.bits)
      if provider.state.pointee.isEnding { throw provider.failure(Status.closed, "ends") }
      if state.pointee.uses.elements.contains(handle) { return }
      if isUsed(by: provider) { throw failure(Status.deadlock, "is used by the plugin that it would use", provider.id) }
      if !state.pointee.uses.append(handle) { throw Failure.noMemory("plugin") }
    }
  }

  /// Under the lock: whether another plugin uses this one, or one of those that it uses does. If it was used in turn,
  /// neither could end before the other.
  private func isUsed(by other: Plugin) -> Bool {
    _ = PluginRegistry.first { plugin in
      plugin.state.pointee.isReached = false
      return false
    }
    // Those whose uses have not been followed yet, the last one found first: each is followed once.
    var last: UnsafeMutablePointer<PluginState>? = other.state
    other.state.pointee.isReached = true
    other.state.pointee.foundBefore = nil
    while let reached = last {
      last = reached.pointee.foundBefore
      for handle in reached.pointee.uses.elements {
        guard let used = Plugin.of(handle), !used.state.pointee.isReached else { continue }
        used.state.pointee.isReached = true
        used.state.pointee.foundBefore = last
        last = used.state
      }
    }
    return state.pointee.isReached
  }

  /// The plugin of a handle that another one uses, and which so has not ended.
  private static func of(_ handle: UInt64) -> Plugin? {
    guard let memory = Slab(.scope).find(Handle(bits: UInt(handle))), let info = Scope(memory).state.info else {
      return nil
    }
    return Plugin(state: info.assumingMemoryBound(to: PluginState.self))
  }

  /// Under the lock.
  func uses(_ scope: Scope) -> Bool { state.pointee.uses.elements.contains(UInt64(scope.handle.bits)) }

  func giveUpUses() {
    var uses = Buffer<UInt64>()
    try? PluginRegistry.locked { () throws(Failure) in
      uses = state.pointee.uses
      state.pointee.uses = Buffer()
    }
    let wereSome = !uses.isEmpty
    uses.free()
    if wereSome { Rest.announce() }
  }

  /// For the plugin's own code: an extension of the host's, or of a plugin that has started, among those that it lists.
  func findListed(_ name: UnsafePointer<CChar>) -> UnsafeRawPointer? {
    do throws(Failure) {
      return try lookUpListed(name)
    } catch {
      LastError.record(error, in: "get_extension")
      return nil
    }
  }

  /// The same, which says why its provider does not give it.
  func lookUpListed(_ name: UnsafePointer<CChar>) throws(Failure) -> UnsafeRawPointer? {
    let description = state.pointee.description
    guard Plugin.lists(description.required, name) || Plugin.lists(description.optional, name) else { return nil }
    if let found = hostExtension(name) { return found }
    guard let provider = provider(of: name) else { return nil }
    var found: UnsafeRawPointer?
    try PluginRegistry.using(provider) { provider throws(Failure) in
      if provider.phase != PluginState.Phase.started { return }
      try use(provider)
      found = try provider.findProvided(name)
    }
    return found
  }

  /// An extension of this plugin's. The caller is inside of it.
  package func findProvided(_ name: UnsafePointer<CChar>) throws(Failure) -> UnsafeRawPointer {
    if phase != PluginState.Phase.started { throw failure(Status.state, "has not started") }
    var found: UnsafeRawPointer?
    if let isolated = state.pointee.isolated {
      if Plugin.lists(state.pointee.description.provided, name) {
        let expected = ExtensionSource.find(name, in: state.pointee.extensions)
        found = try isolated.findProvided(name, as: expected)
      }
    } else if let getExtension = state.pointee.description.get_extension,
      Plugin.lists(state.pointee.description.provided, name)
    {
      found = UnsafeRawPointer(bitPattern: ClientCall.guarded(getExtension, state.pointee.instance, name))
    }
    guard let found else {
      LastError.detail(id, name)
      throw Failure(Status.notFound, "id", "is not that of an extension that the plugin has")
    }
    return found
  }
}
