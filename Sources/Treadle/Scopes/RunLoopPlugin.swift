// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Synchronization

/// A plugin, for its host: a shared library that comes and goes without harm. All that it makes belongs to it, and ends
/// with it, as in a scope; the library is unmapped where that is certain to do no harm. It lives until it is closed,
/// with or without this object. Since 1.0.
public final class RunLoopPlugin: Sendable {
  /// How grave a message is. Since 1.0.
  public enum Level: UInt32, Sendable {
    /// It failed. Since 1.0.
    case error = 0
    /// Something is not as it should be. Since 1.0.
    case warning = 1
    /// For information. Since 1.0.
    case information = 2
  }

  /// How far a plugin has come. Since 1.0.
  public enum State: UInt32, Sendable {
    /// It has not started. Since 1.0.
    case loaded = 0
    /// Its start runs. Since 1.0.
    case starting = 1
    /// It is at work. Since 1.0.
    case started = 2
  }

  /// Receives a plugin's messages, and those about it. Since 1.0.
  public typealias Log = @Sendable (Level, String) throws -> Void

  /// What was loaded.
  /// What is said of a plugin in a process of its own alone, and holds for what a reload puts in its place, too.
  private struct Isolation {
    let id: String?
    let loadTimeout: Duration?
  }

  private final class Loaded: Sendable {
    let reference: Reference
    let isolation: Isolation?
    /// The body of the log, which the plugin has until it is over; 0 when it was given back.
    private let log: Atomic<UInt>

    init(owning handle: OpaquePointer, isolation: Isolation?, log: UInt) {
      reference = Reference(owning: handle)
      self.isolation = isolation
      self.log = Atomic(log)
    }

    /// It is over, and tells nothing more.
    func giveLogBack() {
      releaseBody(UnsafeMutableRawPointer(bitPattern: log.exchange(0, ordering: .acquiringAndReleasing)))
    }
  }

  /// The plugin, or the one that a reload has put in its place.
  private let current: Locked<Loaded>

  /// Stale at worst, if another thread reloads the plugin at the same moment.
  private var handle: OpaquePointer { current.withLock { $0.reference.handle } }

  /// Loads a plugin, which starts nothing. It belongs to the scope that the thread has entered. Any thread.
  /// - Parameters:
  ///   - path: of a library that only root and the process's user may write.
  ///   - settings: values by their keys; the others have their defaults.
  ///   - isolated: whether the plugin runs in a process of its own, whose end is an error of the calls that it
  ///     interrupts, and a message. The next two are for such a one.
  ///   - id: its id in this program, in the place of its own, so that a library can be loaded several times.
  ///   - loadTimeout: how long its load, and then its start, may take: then its process is killed. nil sets no limit.
  ///   - log: called on any thread with what the plugin tells. An error that it throws is passed to the last-resort
  ///     handler (THR-19). Kept until this object's `close` has ended the plugin, or for ever.
  /// - Throws: `TreadleError` with a message that names the symbol, the version or the key: for a file that is refused
  ///   or is no plugin, a setting that it does not have or allow, an id that is invalid or loaded already; `.timeout`
  ///   for a load that takes longer than `loadTimeout`. Since 1.0.
  public convenience init(
    path: String, settings: [String: String] = [:], isolated: Bool = false, id: String? = nil,
    loadTimeout: Duration? = nil, log: Log? = nil
  ) throws(TreadleError) {
    if !isolated && (id != nil || loadTimeout != nil) {
      throw TreadleError(.argument, "an id or a loadTimeout is for an isolated plugin")
    }
    let isolation = isolated ? Isolation(id: id, loadTimeout: loadTimeout) : nil
    let (handle, log) = try RunLoopPlugin.load(path, settings, isolation, log) { config, handle in
      treadle_plugin_load(config, handle)
    }
    self.init(Loaded(owning: handle, isolation: isolation, log: log))
  }

  private init(_ loaded: Loaded) { current = Locked(loaded) }

  private static func load(
    _ path: String, _ settings: [String: String], _ isolation: Isolation?, _ log: Log?,
    _ load: (UnsafePointer<treadle_plugin_config>, UnsafeMutablePointer<OpaquePointer?>) -> treadle_status
  ) throws(TreadleError) -> (OpaquePointer, UInt) {
    let texts = settings.flatMap { [$0.key, $0.value] }
    if ([path, isolation?.id ?? ""] + texts).contains(where: { $0.utf8.contains(0) }) {
      throw TreadleError(.argument, "the path, the id, or a setting, contains a NUL")
    }
    if let timeout = isolation?.loadTimeout, timeout <= .zero {
      throw TreadleError(.argument, "loadTimeout is not above zero")
    }
    let info = log.map { Body<Log>.pass($0) }
    var handle: OpaquePointer?
    let status = RunLoopPlugin.withTexts(texts) { settings in
      RunLoopPlugin.withTexts([path] + (isolation?.id.map { [$0] } ?? [])) { names in
        var config = treadle_plugin_config()
        config.struct_size = MemoryLayout<treadle_plugin_config>.size
        config.path = names?[0]
        config.id = names?[1]
        config.timeout_ns = isolation?.loadTimeout.map(\.nanoseconds) ?? 0
        config.settings = settings
        config.flags = isolation != nil ? UInt32(TREADLE_PLUGIN_LOAD_ISOLATED) : 0
        config.info = info
        if info != nil {
          config.log = { info, _, level, text in
            Body<Log>.use(info) { log in
              contain { try log(Level(rawValue: level) ?? .information, text.map { String(cString: $0) } ?? "") }
            }
          }
        }
        return load(&config, &handle)
      }
    }
    if status < 0 {
      defer { releaseBody(info) }
      throw TreadleError(status)
    }
    return (try checkHandle(handle), UInt(bitPattern: info))
  }

  /// Calls `body` with the texts for C, and NULL at their end.
  private static func withTexts<Result>(_ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result)
    -> Result
  {
    var offsets: [Int] = [], bytes: [CChar] = []
    for text in texts {
      offsets.append(bytes.count)
      bytes += text.utf8CString
    }
    return bytes.withUnsafeBufferPointer { bytes in
      var pointers: [UnsafePointer<CChar>?] = offsets.map { offset in bytes.baseAddress.map { $0 + offset } }
      pointers.append(nil)
      return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
    }
  }

  /// Starts it, and before it those that provide what it requires, on the calling thread. Any thread.
  /// - Returns: false if it has started already.
  /// - Throws: `TreadleError` when something that it requires is missing, when its start fails, after which it is
  ///   closed, or when it is closed. Since 1.0.
  @discardableResult
  public func start() throws(TreadleError) -> Bool { try check(treadle_plugin_start(handle)) != TREADLE_IGNORED }

  /// Ends it, with all that it has made, and waits until no code of it runs. Any thread.
  /// - Parameter timeout: nil waits for ever, zero or less only looks.
  /// - Returns: false from inside of one of its own functions: it ends when they have returned.
  /// - Throws: `TreadleError` when the timeout passes: `holders` tells who is inside, and it can be closed again. Since
  ///   1.0.
  @discardableResult
  public func close(timeout: Duration? = nil) throws(TreadleError) -> Bool {
    let loaded = current.withLock { $0 }
    if try check(treadle_close(loaded.reference.object, timeout.limit)) == TREADLE_DEFERRED { return false }
    loaded.giveLogBack()
    return true
  }

  /// Puts a plugin of the same id in its place, which gets the state that the old one hands over, and starts it. Any
  /// thread.
  /// - Parameters:
  ///   - path: as of `init`, and so are the settings and the log.
  ///   - settings: as above.
  ///   - log: as above.
  ///   - timeout: for the old one's end; nil waits for ever.
  /// - Returns: this object, which is for the new one from now on; that runs in a process of its own if the old one
  ///   did, under the same id and within the same time.
  /// - Throws: `TreadleError` as `init` and `start`, and when the old one does not end in time. Since 1.0.
  @discardableResult
  public func reload(
    path: String, settings: [String: String] = [:], timeout: Duration? = nil, log: Log? = nil
  ) throws(TreadleError) -> RunLoopPlugin {
    let old = current.withLock { $0 }
    let (handle, log) = try RunLoopPlugin.load(path, settings, old.isolation, log) { config, handle in
      treadle_plugin_reload(old.reference.handle, config, timeout.limit, handle)
    }
    let new = Loaded(owning: handle, isolation: old.isolation, log: log)
    current.withLock { $0 = new }
    old.giveLogBack()
    return self
  }

  // MARK: What it is

  private func info<Value>(_ read: (treadle_plugin_info) -> Value?) -> Value? {
    var info = treadle_plugin_info()
    info.struct_size = MemoryLayout<treadle_plugin_info>.size
    return treadle_plugin_get_info(handle, &info) == TREADLE_OK ? read(info) : nil
  }

  /// How far it has come; nil when it has ended. Any thread. Since 1.0.
  public var state: State? { info { State(rawValue: $0.state) } }

  /// A domain name from its end, such as org.example.watcher; nil when it has ended. Any thread. Since 1.0.
  public var id: String? { info { $0.description.pointee.id.map { String(cString: $0) } } }

  /// Its own version; nil when it has ended. Any thread. Since 1.0.
  public var version: String? { info { $0.description.pointee.version.map { String(cString: $0) } } }

  /// True until its end begins. Any thread. Since 1.0.
  public var isValid: Bool { treadle_is_valid(UnsafeMutableRawPointer(handle)) }

  /// The objects that it has created, and the threads inside of it. Any thread. Since 1.0.
  public var holders: [RunLoopScope.Holder] { RunLoopScope.holders(of: handle) }

  /// The value of a setting. Any thread.
  /// - Throws: `TreadleError` for a key that it does not have, and when it has ended. Since 1.0.
  public func setting(_ key: String) throws(TreadleError) -> String {
    var status: treadle_status = 0
    let value = text { buffer, room, length in
      status = withText(key) { treadle_plugin_copy_setting(handle, $0, buffer, room, length) }
      return status
    }
    try check(status)
    return value ?? ""
  }

  /// Changes a setting. A plugin that has started is asked, and may refuse. Any thread.
  /// - Throws: `TreadleError` for a key that it does not have, a value that its type does not allow, or that it
  ///   refuses. Since 1.0.
  public func set(_ key: String, to value: String) throws(TreadleError) {
    try check(withText(key) { key in withText(value) { treadle_plugin_set(handle, key, $0) } })
  }

  /// An extension of a plugin that has started: a pointer to C's struct of that name, which the compiler cannot check.
  /// Valid until the plugin is closed. Any thread.
  /// - Throws: `TreadleError` if it has none of that name, has not started, or has ended. Since 1.0.
  @unsafe public func pointer<Pointer>(toExtension name: String, as type: Pointer.Type) throws(TreadleError) -> Pointer
  {
    guard MemoryLayout<Pointer>.size == MemoryLayout<UnsafeRawPointer>.size else {
      throw TreadleError(.argument, "\(type) is no type of pointers")
    }
    var found: UnsafeRawPointer?
    try check(withText(name) { treadle_plugin_get_extension(handle, $0, &found) })
    return unsafeBitCast(found, to: type)
  }
}

extension RunLoopPlugin: CustomStringConvertible {
  /// The id and the state, for debugging. Any thread. Since 1.0.
  public var description: String { "RunLoopPlugin(\(id ?? "ended")\(state.map { ", \($0)" } ?? ""))" }
}
