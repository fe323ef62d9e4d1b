// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import Testing
import TreadleABI

@testable import TreadleCore
@testable import TreadleBase

/// Numbers that the core and the header both have.
@Suite("Numbers")
struct NumberTests {
  @Test("statuses, results, activities and flags are the header's")
  func numbers() {
    #expect(Status.ok == Int32(TREADLE_OK) && Status.ignored == Int32(TREADLE_IGNORED))
    #expect(Status.finished == Int32(TREADLE_RUN_FINISHED) && Status.stopped == Int32(TREADLE_RUN_STOPPED))
    #expect(Status.timedOut == Int32(TREADLE_RUN_TIMED_OUT))
    #expect(Status.handledSource == Int32(TREADLE_RUN_HANDLED_SOURCE))
    #expect(Status.interrupted == Int32(TREADLE_RUN_INTERRUPTED))
    #expect(Status.argument == Int32(TREADLE_E_ARG) && Status.stale == Int32(TREADLE_E_STALE))
    #expect(Status.kind == Int32(TREADLE_E_KIND) && Status.noMemory == Int32(TREADLE_E_NOMEM))
    #expect(Status.state == Int32(TREADLE_E_STATE) && Status.exists == Int32(TREADLE_E_EXISTS))
    #expect(Status.notFound == Int32(TREADLE_E_NOT_FOUND) && Status.wrongThread == Int32(TREADLE_E_WRONG_THREAD))
    #expect(Status.deadlock == Int32(TREADLE_E_DEADLOCK) && Status.timeout == Int32(TREADLE_E_TIMEOUT))
    #expect(Status.forked == Int32(TREADLE_E_FORKED) && Status.tooNew == Int32(TREADLE_E_TOO_NEW))
    #expect(Status.system == Int32(TREADLE_E_SYSTEM) && Status.callback == Int32(TREADLE_E_CALLBACK))
    #expect(Status.closed == Int32(TREADLE_E_CLOSED) && Status.range == Int32(TREADLE_E_RANGE))
    #expect(Status.signature == Int32(TREADLE_E_SIGNATURE))
    #expect(Status.notSupported == Int32(TREADLE_E_NOT_SUPPORTED))
    #expect(Status.cancelled == Int32(TREADLE_E_CANCELLED) && Status.noReply == Int32(TREADLE_E_NO_REPLY))
    #expect(CarriedCall.Phase.queued == UInt32(TREADLE_INVOCATION_QUEUED))
    #expect(CarriedCall.Phase.running == UInt32(TREADLE_INVOCATION_RUNNING))
    #expect(CarriedCall.Phase.done == UInt32(TREADLE_INVOCATION_DONE))
    #expect(CarriedCall.Phase.cancelled == UInt32(TREADLE_INVOCATION_CANCELLED))
    #expect(CarriedCall.Phase.dropped == UInt32(TREADLE_INVOCATION_DROPPED))
    #expect(Activity.entry == UInt32(TREADLE_ENTRY) && Activity.exit == UInt32(TREADLE_EXIT))
    #expect(Activity.beforeTimers == UInt32(TREADLE_BEFORE_TIMERS))
    #expect(Activity.beforeSources == UInt32(TREADLE_BEFORE_SOURCES))
    #expect(Activity.beforeWaiting == UInt32(TREADLE_BEFORE_WAITING))
    #expect(Activity.afterWaiting == UInt32(TREADLE_AFTER_WAITING))
    #expect(Activity.all == UInt32(TREADLE_ALL_ACTIVITIES))
    #expect(Readiness.readable == UInt32(TREADLE_READABLE) && Readiness.writable == UInt32(TREADLE_WRITABLE))
    #expect(Readiness.hangup == UInt32(TREADLE_HANGUP) && Readiness.failed == UInt32(TREADLE_FAILED))
    #expect(Frame.Flag.returnAfterSource == UInt32(TREADLE_RUN_RETURN_AFTER_SOURCE))
    #expect(Frame.Flag.returnOnInterrupt == UInt32(TREADLE_RUN_RETURN_ON_INTERRUPT))
    #expect(Event.Kind.perform == UInt32(TREADLE_EVENT_PERFORM) && Event.Kind.block == UInt32(TREADLE_EVENT_POST))
    #expect(Event.Kind.schedule == UInt32(TREADLE_EVENT_SCHEDULE) && Event.Kind.cancel == UInt32(TREADLE_EVENT_CANCEL))
    #expect(Event.Kind.timer == UInt32(TREADLE_EVENT_TIMER) && Event.Kind.observer == UInt32(TREADLE_EVENT_OBSERVER))
    #expect(Event.Kind.descriptor == UInt32(TREADLE_EVENT_DESCRIPTOR))
    #expect(Event.Kind.request == UInt32(TREADLE_EVENT_REQUEST) && Event.Kind.thread == UInt32(TREADLE_EVENT_THREAD))
    #expect(Event.Kind.notification == UInt32(TREADLE_EVENT_NOTIFICATION))
    #expect(Event.Kind.release == UInt32(TREADLE_EVENT_RELEASE) && Event.Kind.interrupt == UInt32(TREADLE_EVENT_INTERRUPT))
    #expect(Event.Kind.messagePort == UInt32(TREADLE_EVENT_MESSAGE_PORT))
    #expect(Notifications.willBecomeMultiThreaded == UInt32(TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED))
    #expect(Notifications.threadWillExit == UInt32(TREADLE_NOTIFY_THREAD_WILL_EXIT))
    #expect(Thread.Phase.created == UInt32(TREADLE_THREAD_CREATED))
    #expect(Thread.Phase.starting == UInt32(TREADLE_THREAD_STARTING))
    #expect(Thread.Phase.executing == UInt32(TREADLE_THREAD_EXECUTING))
    #expect(Thread.Phase.finished == UInt32(TREADLE_THREAD_FINISHED))
    #expect(
      String(cString: treadle_version_string()!)
        == "\(TREADLE_VERSION_MAJOR).\(TREADLE_VERSION_MINOR).\(TREADLE_VERSION_PATCH)")
  }
}
