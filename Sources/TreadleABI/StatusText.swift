// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleBase

/// A status in words.
struct StatusText {
  let name: StaticString
  let message: StaticString

  init(_ status: Int32) {
    (name, message) = StatusText.words(status)
  }

  private static func words(_ status: Int32) -> (StaticString, StaticString) {
    switch status {
    case Status.ok: ("TREADLE_OK", "success")
    case Status.finished: ("TREADLE_RUN_FINISHED", "the mode has nothing to wait for")
    case Status.stopped: ("TREADLE_RUN_STOPPED", "the run was stopped")
    case Status.timedOut: ("TREADLE_RUN_TIMED_OUT", "the timeout passed")
    case Status.handledSource: ("TREADLE_RUN_HANDLED_SOURCE", "a source was handled")
    case Status.interrupted: ("TREADLE_RUN_INTERRUPTED", "a signal interrupted the sleep")
    case Status.ignored: ("TREADLE_IGNORED", "the call has no effect")
    case Status.deferred: ("TREADLE_DEFERRED", "the scope is closed when its callbacks return")
    case Status.argument: ("TREADLE_E_ARG", "invalid argument")
    case Status.stale: ("TREADLE_E_STALE", "stale handle: its object no longer exists")
    case Status.kind: ("TREADLE_E_KIND", "wrong kind of handle")
    case Status.noMemory: ("TREADLE_E_NOMEM", "out of memory")
    case Status.state: ("TREADLE_E_STATE", "the object's state does not allow it")
    case Status.exists: ("TREADLE_E_EXISTS", "already exists")
    case Status.notFound: ("TREADLE_E_NOT_FOUND", "not found")
    case Status.wrongThread: ("TREADLE_E_WRONG_THREAD", "only the loop's own thread may do this")
    case Status.deadlock: ("TREADLE_E_DEADLOCK", "the call would wait for its own caller")
    case Status.timeout: ("TREADLE_E_TIMEOUT", "the wait took longer than allowed")
    case Status.forked: ("TREADLE_E_FORKED", "this process is the child of a fork")
    case Status.tooNew: ("TREADLE_E_TOO_NEW", "a struct is newer than this library")
    case Status.system: ("TREADLE_E_SYSTEM", "a system call failed")
    case Status.callback: ("TREADLE_E_CALLBACK", "a host's callback did not complete")
    case Status.closed: ("TREADLE_E_CLOSED", "closed: no more work is accepted")
    case Status.range: ("TREADLE_E_RANGE", "a number is out of range")
    case Status.signature: ("TREADLE_E_SIGNATURE", "the type encoding cannot be used")
    case Status.notSupported: ("TREADLE_E_NOT_SUPPORTED", "not supported here")
    case Status.cancelled: ("TREADLE_E_CANCELLED", "cancelled")
    case Status.plugin: ("TREADLE_E_PLUGIN", "a plugin is refused, or breaks its contract")
    case Status.noReply: ("TREADLE_E_NO_REPLY", "no reply in time")
    default: ("unknown", "not a status of this version")
    }
  }
}
