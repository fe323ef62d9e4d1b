# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The C interface: generated from the headers by make generate. Do not edit."""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, Structure
from ctypes import c_bool, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, NamedTuple

VERSION_MAJOR = 1
VERSION_MINOR = 0
VERSION_PATCH = 0
OK = 0
RUN_FINISHED = 1
RUN_STOPPED = 2
RUN_TIMED_OUT = 3
RUN_HANDLED_SOURCE = 4
RUN_INTERRUPTED = 5
IGNORED = 16
DEFERRED = 17
E_ARG = -1
E_STALE = -2
E_KIND = -3
E_NOMEM = -4
E_STATE = -5
E_EXISTS = -6
E_NOT_FOUND = -7
E_WRONG_THREAD = -8
E_DEADLOCK = -9
E_TIMEOUT = -10
E_FORKED = -11
E_TOO_NEW = -12
E_SYSTEM = -13
E_CALLBACK = -14
E_CLOSED = -15
E_RANGE = -16
E_SIGNATURE = -17
E_NOT_SUPPORTED = -18
E_CANCELLED = -19
E_PLUGIN = -20
E_NO_REPLY = -21
FOREVER = 9223372036854775807
DEFAULT_MODE = "kCFRunLoopDefaultMode"
COMMON_MODES = "kCFRunLoopCommonModes"
KIND_LOOP = 1
KIND_SOURCE = 2
KIND_TIMER = 3
KIND_OBSERVER = 4
KIND_DESCRIPTOR = 5
KIND_SIGNATURE = 6
KIND_ROUTINE = 7
KIND_HOST = 8
KIND_THREAD = 9
KIND_LOCK = 10
KIND_CONDITION = 11
KIND_INVOCATION = 12
KIND_CLOSURE = 13
KIND_SCOPE = 15
KIND_PORT = 16
KIND_MESSAGE = 17
EVENT_PERFORM = 1
EVENT_SCHEDULE = 2
EVENT_CANCEL = 3
EVENT_TIMER = 4
EVENT_OBSERVER = 5
EVENT_DESCRIPTOR = 6
EVENT_POST = 7
EVENT_REQUEST = 8
EVENT_THREAD = 9
EVENT_NOTIFICATION = 10
EVENT_RELEASE = 11
EVENT_CALL = 12
EVENT_MESSAGE = 14
EVENT_INTERRUPT = 13
EVENT_MESSAGE_PORT = 15
RUN_RETURN_AFTER_SOURCE = 1
RUN_RETURN_ON_INTERRUPT = 2
RUN_WHEN_EMPTY = 4
STOP_ALL_LEVELS = 1
STOP_AT_ONCE = 2
FINISH_NONE = 0
FINISH_UNKNOWN_MODE = 1
FINISH_EMPTY_AT_ONCE = 2
FINISH_BECAME_EMPTY = 3
READABLE = 1
WRITABLE = 2
HANGUP = 4
FAILED = 8
DESCRIPTOR_ACKNOWLEDGED = 1
COMPONENT_BYTES = 1
COMPONENT_PORT = 2
COMPONENT_DESCRIPTOR = 3
MESSAGE_PORT_WANTS_REPLY = 1
MESSAGE_PORT_NAME = 255
REPLIES_MODE = "treadle.replies"
TIMER_ENDS_AFTER_FIRING = 1
TIMER_WALL_CLOCK = 2
ARM_AT_DATE = 1
ENTRY = 0x1
BEFORE_TIMERS = 0x2
BEFORE_SOURCES = 0x4
BEFORE_WAITING = 0x20
AFTER_WAITING = 0x40
EXIT = 0x80
ALL_ACTIVITIES = 0x0FFFFFFF
PREPARE = 0x10000000
POST_WITHOUT_WAKE = 1
ARGUMENT_BOUND = 0
ARGUMENT_LOOP = 1
ARGUMENT_MODE = 2
ARGUMENT_SUBJECT = 3
ARGUMENT_VALUE = 4
ARGUMENT_DESCRIPTOR = 5
ARGUMENT_LATE = 6
ARGUMENT_EVENT = 7
ARGUMENT_ARGUMENT = 8
THREAD_CREATED = 0
THREAD_STARTING = 1
THREAD_EXECUTING = 2
THREAD_FINISHED = 3
POLICY_DEFAULT = 0
POLICY_FIFO = 1
POLICY_ROUND_ROBIN = 2
THREAD_DETACHED = 1
PERFORM_WAIT = 1
PERFORM_AFTER = 2
PERFORM_IN_BACKGROUND = 4
PERFORM_UNTIL_WORD = 8
CALL_MODE = "TreadleCallMode"
WAIT_NONE = 0
WAIT_BLOCK = 1
WAIT_RUNNING = 2
INVOCATION_IDLE = 0
INVOCATION_QUEUED = 1
INVOCATION_RUNNING = 2
INVOCATION_DONE = 3
INVOCATION_CANCELLED = 4
INVOCATION_DROPPED = 5
DELIVERY_INLINE = 0
DELIVERY_ASYNC = 1
DELIVERY_SYNC = 2
DELIVERY_RUNNING = 3
FULL_BLOCK = 0
FULL_FAIL = 1
FULL_DROP_NEWEST = 2
FULL_DROP_OLDEST = 3
FULL_COALESCE = 4
CLOSURE_MAY_ALLOCATE = 1
CLOSURE_KEEP_CODE = 2
CLOSURE_ACTIVE = 0
CLOSURE_INVALIDATED = 1
CLOSURE_DRAINED = 2
LOCK_RECURSIVE = 1
NOTIFY_WILL_BECOME_MULTITHREADED = 1
NOTIFY_THREAD_WILL_EXIT = 2
NOTIFY_PORT_INVALID = 3
HOLDER_POST = 32
HOLDER_REQUEST = 33
HOLDER_NOTIFICATION = 34
HOLDER_POOLED = 35
HOLDER_CALL = 37
HOLDER_VALUE = 38
HOST_WANTS_SCHEDULE = 1
HOST_WANTS_CANCEL = 2
NEXT_IN_DISPATCH = 8
PLUGIN_ABI = 0x10000
PLUGIN_BEHAVIOUR = 1
SETTING_TEXT = 0
SETTING_BOOLEAN = 1
SETTING_INTEGER = 2
SETTING_REAL = 3
PLUGIN_MAY_UNMAP = 1
PASS_VALUE = 0
PASS_TEXT = 1
PASS_IN = 2
PASS_OUT = 3
PASS_IN_OUT = 4
PASS_CALLBACK = 5
PASS_KEPT_CALLBACK = 6
PASS_INFO = 7
PASS_TOKEN = 8
PASS_OUT_TOKEN = 9
PASS_STATUS = 10
PASS_INSTANCE = 11
EXTENSION_HAS_SIZE = 1
EXTENSION_HAS_INSTANCE = 2
EXTENSION_ONE_WAY = 1
PLUGIN_LOAD_WRITABLE = 1
PLUGIN_LOAD_ISOLATED = 2
RIGHTS_NO_NETWORK = 1
RIGHTS_NO_PROCESSES = 2
RIGHTS_NAMED_FILES = 4
RIGHTS_IF_POSSIBLE = 8
RIGHTS_USUAL_CALLS = 16
PLUGIN_LOADED = 0
PLUGIN_STARTING = 1
PLUGIN_STARTED = 2
HOLDER_PLUGIN = 36

treadle_retain_fn = CFUNCTYPE(c_void_p, c_void_p)
treadle_release_fn = CFUNCTYPE(None, c_void_p)
treadle_describe_fn = CFUNCTYPE(None, c_void_p, c_char_p, c_size_t)
treadle_equal_fn = CFUNCTYPE(c_int32, c_void_p, c_void_p)
treadle_hash_fn = CFUNCTYPE(c_uint64, c_void_p)


class treadle_error_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("code", c_int32),
        ("os_errno", c_int32),
        ("sequence", c_uint64),
        ("function", c_char * 64),
        ("message", c_char * 184),
    ]


class treadle_event(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_uint32),
        ("value", c_uint32),
        ("token", c_uint64),
        ("loop", c_void_p),
        ("subject", c_void_p),
        ("mode", c_char_p),
        ("late_ns", c_int64),
        ("descriptor", c_int32),
        ("reserved", c_uint32),
        ("argument", c_void_p),
    ]


class treadle_loop_counters(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("passes", c_uint64),
        ("sleeps", c_uint64),
        ("wakes", c_uint64),
        ("posts", c_uint64),
        ("signals", c_uint64),
        ("timers", c_uint64),
        ("descriptors", c_uint64),
        ("requests", c_uint64),
        ("longest_ns", c_int64),
        ("longest_item", c_void_p),
        ("longest_kind", c_uint32),
        ("last_finish", c_uint32),
        ("messages", c_uint64),
        ("discarded", c_uint64),
    ]


treadle_perform_fn = CFUNCTYPE(None, c_void_p, c_void_p)
treadle_schedule_fn = CFUNCTYPE(None, c_void_p, c_void_p, c_char_p, c_void_p)


class treadle_source_context(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("info", c_void_p),
        ("retain", treadle_retain_fn),
        ("release", treadle_release_fn),
        ("describe", treadle_describe_fn),
        ("equal", treadle_equal_fn),
        ("hash", treadle_hash_fn),
        ("schedule", treadle_schedule_fn),
        ("cancel", treadle_schedule_fn),
        ("perform", treadle_perform_fn),
        ("schedule_routine", c_void_p),
        ("cancel_routine", c_void_p),
        ("perform_routine", c_void_p),
        ("order", c_int64),
        ("label", c_char_p),
        ("host", c_void_p),
        ("token", c_uint64),
        ("host_wants", c_uint32),
        ("reserved", c_uint32),
        ("scope", c_void_p),
    ]


treadle_ready_fn = CFUNCTYPE(None, c_void_p, c_uint32, c_void_p)
treadle_get_fd_fn = CFUNCTYPE(c_int32, c_void_p)


class treadle_descriptor_context(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("info", c_void_p),
        ("retain", treadle_retain_fn),
        ("release", treadle_release_fn),
        ("describe", treadle_describe_fn),
        ("equal", treadle_equal_fn),
        ("hash", treadle_hash_fn),
        ("get_fd", treadle_get_fd_fn),
        ("ready", treadle_ready_fn),
        ("ready_routine", c_void_p),
        ("fd", c_int32),
        ("events", c_uint32),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("label", c_char_p),
        ("host", c_void_p),
        ("token", c_uint64),
        ("scope", c_void_p),
    ]


class treadle_component(Structure):
    _fields_ = [
        ("kind", c_uint32),
        ("descriptor", c_int32),
        ("bytes", c_void_p),
        ("length", c_size_t),
        ("port", c_void_p),
    ]


class treadle_message_content(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("id", c_uint32),
        ("reserved", c_uint32),
        ("components", POINTER(treadle_component)),
        ("component_count", c_size_t),
        ("reply_port", c_void_p),
    ]


treadle_message_fn = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


class treadle_port_context(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("info", c_void_p),
        ("retain", treadle_retain_fn),
        ("release", treadle_release_fn),
        ("describe", treadle_describe_fn),
        ("receive", treadle_message_fn),
        ("receive_routine", c_void_p),
        ("capacity", c_uint32),
        ("reserved", c_uint32),
        ("label", c_char_p),
        ("host", c_void_p),
        ("token", c_uint64),
        ("scope", c_void_p),
    ]


class treadle_message_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("id", c_uint32),
        ("component_count", c_uint32),
        ("port", c_void_p),
        ("reply_port", c_void_p),
        ("bytes", c_void_p),
        ("length", c_size_t),
    ]


class treadle_message_port_message(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("data", c_void_p),
        ("size", c_size_t),
        ("call", c_uint64),
        ("id", c_int32),
        ("flags", c_uint32),
        ("sender_process", c_int32),
        ("sender_user", c_uint32),
    ]


treadle_message_port_receive_fn = CFUNCTYPE(None, c_void_p, POINTER(treadle_message_port_message), c_void_p)
treadle_message_port_invalidated_fn = CFUNCTYPE(None, c_void_p, c_void_p)
treadle_message_port_reply_fn = CFUNCTYPE(None, c_void_p, c_size_t, c_void_p)


class treadle_port_function(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("signature", c_char_p),
        ("code", CFUNCTYPE(None)),
    ]


class treadle_message_port_context(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("info", c_void_p),
        ("retain", treadle_retain_fn),
        ("release", treadle_release_fn),
        ("describe", treadle_describe_fn),
        ("receive", treadle_message_port_receive_fn),
        ("invalidated", treadle_message_port_invalidated_fn),
        ("users", POINTER(c_uint32)),
        ("user_count", c_size_t),
        ("owner", c_uint32),
        ("has_owner", c_uint32),
        ("label", c_char_p),
        ("host", c_void_p),
        ("token", c_uint64),
        ("scope", c_void_p),
        ("functions", POINTER(treadle_port_function)),
        ("function_count", c_size_t),
    ]


class treadle_port_value(Structure):
    _fields_ = [
        ("bytes", c_void_p),
        ("size", c_size_t),
    ]


treadle_timer_fn = CFUNCTYPE(None, c_void_p, c_void_p)


class treadle_timer_context(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("info", c_void_p),
        ("retain", treadle_retain_fn),
        ("release", treadle_release_fn),
        ("describe", treadle_describe_fn),
        ("fire", treadle_timer_fn),
        ("fire_routine", c_void_p),
        ("fire_at", c_int64),
        ("interval_ns", c_int64),
        ("tolerance_ns", c_int64),
        ("label", c_char_p),
        ("host", c_void_p),
        ("token", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("scope", c_void_p),
    ]


treadle_observer_fn = CFUNCTYPE(None, c_void_p, c_uint32, c_void_p)


class treadle_observer_context(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("info", c_void_p),
        ("retain", treadle_retain_fn),
        ("release", treadle_release_fn),
        ("describe", treadle_describe_fn),
        ("notify", treadle_observer_fn),
        ("notify_routine", c_void_p),
        ("activities", c_uint32),
        ("once", c_uint32),
        ("order", c_int64),
        ("label", c_char_p),
        ("host", c_void_p),
        ("token", c_uint64),
        ("scope", c_void_p),
    ]


treadle_post_fn = CFUNCTYPE(None, c_void_p)


class treadle_post(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("modes", POINTER(c_char_p)),
        ("mode_count", c_size_t),
        ("fn", treadle_post_fn),
        ("routine", c_void_p),
        ("info", c_void_p),
        ("destroy", treadle_post_fn),
        ("host", c_void_p),
        ("token", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("label", c_char_p),
    ]


class treadle_argument(Structure):
    _fields_ = [
        ("kind", c_uint32),
        ("reserved", c_uint32),
        ("value", c_void_p),
        ("size", c_size_t),
    ]


class treadle_routine_config(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("code", CFUNCTYPE(None)),
        ("signature", c_char_p),
        ("arguments", POINTER(treadle_argument)),
        ("argument_count", c_size_t),
        ("info", c_void_p),
        ("destroy", CFUNCTYPE(None, c_void_p)),
    ]


treadle_thread_fn = CFUNCTYPE(c_void_p, c_void_p)


class treadle_thread_config(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("fn", treadle_thread_fn),
        ("info", c_void_p),
        ("destroy", treadle_release_fn),
        ("host", c_void_p),
        ("token", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("scope", c_void_p),
    ]


treadle_request_fn = CFUNCTYPE(None, c_void_p, c_void_p)


class treadle_request(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("fn", treadle_request_fn),
        ("routine", c_void_p),
        ("target", c_void_p),
        ("argument", c_void_p),
        ("release_target", treadle_release_fn),
        ("release_argument", treadle_release_fn),
        ("equal", treadle_equal_fn),
        ("host", c_void_p),
        ("token", c_uint64),
        ("modes", POINTER(c_char_p)),
        ("mode_count", c_size_t),
        ("delay_ns", c_int64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("label", c_char_p),
    ]


class treadle_invocation_config(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("code", CFUNCTYPE(None)),
        ("signature", c_char_p),
        ("info", c_void_p),
        ("destroy", CFUNCTYPE(None, c_void_p)),
        ("scope", c_void_p),
    ]


class treadle_invocation_options(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("loop", c_void_p),
        ("thread", c_void_p),
        ("modes", POINTER(c_char_p)),
        ("mode_count", c_size_t),
        ("wait", c_uint32),
        ("reserved", c_uint32),
        ("timeout_ns", c_int64),
        ("completion", POINTER(treadle_request)),
        ("completion_loop", c_void_p),
    ]


class treadle_call(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("closure", c_void_p),
        ("signature", c_void_p),
        ("loop", c_void_p),
        ("argument_count", c_uint32),
        ("reserved", c_uint32),
        ("arguments", POINTER(c_void_p)),
        ("result", c_void_p),
    ]


treadle_closure_fn = CFUNCTYPE(c_int32, POINTER(treadle_call), c_void_p)


class treadle_closure_config(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("signature", c_char_p),
        ("handler", treadle_closure_fn),
        ("info", c_void_p),
        ("destroy", CFUNCTYPE(None, c_void_p)),
        ("delivery", c_uint32),
        ("flags", c_uint32),
        ("loop", c_void_p),
        ("thread", c_void_p),
        ("modes", POINTER(c_char_p)),
        ("mode_count", c_size_t),
        ("timeout_ns", c_int64),
        ("queue_limit", c_uint32),
        ("on_full", c_uint32),
        ("default_result", c_void_p),
        ("default_result_size", c_size_t),
        ("host", c_void_p),
        ("token", c_uint64),
        ("scope", c_void_p),
    ]


class treadle_closure_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("state", c_uint32),
        ("waiting", c_uint32),
        ("handled", c_uint64),
        ("failed", c_uint64),
        ("dropped", c_uint64),
        ("timed_out", c_uint64),
        ("after_invalidated", c_uint64),
    ]


class treadle_closure_pool_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("capacity", c_uint32),
        ("used", c_uint32),
        ("drained", c_uint32),
        ("allocated", c_uint32),
        ("after_invalidated", c_uint64),
        ("libffi", c_char * 32),
    ]


treadle_notification_fn = CFUNCTYPE(None, c_uint32, c_void_p, c_void_p)


class treadle_notification_config(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_uint32),
        ("reserved", c_uint32),
        ("object", c_void_p),
        ("fn", treadle_notification_fn),
        ("info", c_void_p),
        ("destroy", treadle_release_fn),
        ("host", c_void_p),
        ("token", c_uint64),
        ("scope", c_void_p),
    ]


treadle_last_resort_fn = CFUNCTYPE(c_bool, c_void_p, c_char_p, c_char_p, c_void_p)
treadle_log_fn = CFUNCTYPE(None, c_char_p, c_void_p)


class treadle_scope_config(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("label", c_char_p),
        ("info", c_void_p),
        ("destroy", treadle_release_fn),
    ]


class treadle_scope_holder(Structure):
    _fields_ = [
        ("kind", c_uint32),
        ("thread_id", c_int32),
        ("object", c_void_p),
        ("held_ns", c_int64),
        ("label", c_char * 64),
        ("thread_name", c_char * 32),
        ("callback", c_char * 64),
    ]


treadle_dispatch_fn = CFUNCTYPE(c_uint64, c_uint64, POINTER(treadle_event))


class treadle_host_config(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("dispatch", treadle_dispatch_fn),
        ("thread_enter", CFUNCTYPE(None, c_void_p)),
        ("thread_exit", CFUNCTYPE(None, c_void_p)),
        ("user", c_void_p),
    ]


class treadle_pull(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("host", c_void_p),
        ("run", c_uint64),
        ("mode", c_char_p),
        ("timeout_ns", c_int64),
        ("flags", c_uint32),
        ("failed", c_uint32),
        ("events", POINTER(treadle_event)),
        ("event_size", c_size_t),
        ("capacity", c_size_t),
        ("count", c_size_t),
    ]


class treadle_plugin_setting(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("key", c_char_p),
        ("default_value", c_char_p),
        ("description", c_char_p),
        ("type", c_uint32),
        ("reserved", c_uint32),
        ("minimum", c_int64),
        ("maximum", c_int64),
    ]


treadle_plugin_write_fn = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class treadle_plugin_description(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("abi_min", c_uint32),
        ("abi_max", c_uint32),
        ("behaviour", c_uint32),
        ("reserved", c_uint32),
        ("self", POINTER(POINTER(c_void_p))),
        ("id", c_char_p),
        ("name", c_char_p),
        ("version", c_char_p),
        ("flags", c_uint32),
        ("setting_count", c_uint32),
        ("required", POINTER(c_char_p)),
        ("optional", POINTER(c_char_p)),
        ("provided", POINTER(c_char_p)),
        ("settings", POINTER(treadle_plugin_setting)),
        ("init", CFUNCTYPE(c_int32, POINTER(c_void_p), POINTER(c_void_p))),
        ("start", CFUNCTYPE(c_int32, c_void_p)),
        ("stop", CFUNCTYPE(c_int32, c_void_p, c_int64)),
        ("deinit", CFUNCTYPE(None, c_void_p)),
        ("get_extension", CFUNCTYPE(c_void_p, c_void_p, c_char_p)),
        ("set", CFUNCTYPE(c_int32, c_void_p, c_char_p, c_char_p)),
        ("save", CFUNCTYPE(c_int32, c_void_p, treadle_plugin_write_fn, c_void_p)),
        ("restore", CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t)),
    ]


class treadle_extension_argument(Structure):
    _fields_ = [
        ("pass", c_uint32),
        ("other", c_uint32),
        ("size", c_size_t),
        ("callback", c_void_p),
    ]


class treadle_extension_function(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("signature", c_char_p),
        ("arguments", POINTER(treadle_extension_argument)),
        ("argument_count", c_uint32),
        ("result", c_uint32),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class treadle_extension_descriptor(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("functions", POINTER(treadle_extension_function)),
        ("function_count", c_uint32),
        ("flags", c_uint32),
    ]


treadle_plugin_query_fn = CFUNCTYPE(POINTER(treadle_plugin_description), c_uint32)
treadle_plugin_extension_fn = CFUNCTYPE(c_void_p, c_void_p, c_char_p)
treadle_plugin_log_fn = CFUNCTYPE(None, c_void_p, c_void_p, c_uint32, c_char_p)


class treadle_plugin_limits(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("address_space", c_uint64),
        ("processor_seconds", c_uint64),
        ("descriptors", c_uint64),
        ("cgroup", c_char_p),
    ]


class treadle_plugin_rights(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("readable", POINTER(c_char_p)),
        ("writable", POINTER(c_char_p)),
        ("calls", POINTER(c_char_p)),
    ]


treadle_plugin_filter_fn = CFUNCTYPE(c_int32, POINTER(treadle_plugin_rights), c_char_p, c_size_t)


class treadle_plugin_ending(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("by_signal", c_uint32),
        ("number", c_int32),
        ("reason", c_char_p),
    ]


treadle_plugin_ended_fn = CFUNCTYPE(None, c_void_p, c_void_p, POINTER(treadle_plugin_ending))


class treadle_plugin_restart(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("most", c_uint32),
        ("reserved", c_uint32),
        ("within_ns", c_int64),
        ("first_pause_ns", c_int64),
        ("longest_pause_ns", c_int64),
        ("timeout_ns", c_int64),
    ]


class treadle_plugin_config(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("path", c_char_p),
        ("query", treadle_plugin_query_fn),
        ("host_name", c_char_p),
        ("host_version", c_char_p),
        ("settings", POINTER(c_char_p)),
        ("get_extension", treadle_plugin_extension_fn),
        ("log", treadle_plugin_log_fn),
        ("info", c_void_p),
        ("flags", c_uint32),
        ("reserved", c_uint32),
        ("extensions", POINTER(POINTER(treadle_extension_descriptor))),
        ("loop", c_void_p),
        ("limits", POINTER(treadle_plugin_limits)),
        ("rights", POINTER(treadle_plugin_rights)),
        ("ended", treadle_plugin_ended_fn),
        ("restart", POINTER(treadle_plugin_restart)),
        ("timeout_ns", c_int64),
        ("id", c_char_p),
    ]


class treadle_plugin_info(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("state", c_uint32),
        ("abi", c_uint32),
        ("description", POINTER(treadle_plugin_description)),
        ("path", c_char_p),
    ]


class Prototype(NamedTuple):
    """How a function is called."""

    #: The result's ctypes type; None for void.
    result: Any
    #: The arguments' ctypes types.
    arguments: list[Any]
    #: It neither blocks nor calls back, so that it may be called with the interpreter's lock held.
    quick: bool


PROTOTYPES = {
    "treadle_version": Prototype(c_uint32, [], True),
    "treadle_version_string": Prototype(c_char_p, [], True),
    "treadle_retain": Prototype(c_int32, [c_void_p], True),
    "treadle_release": Prototype(c_int32, [c_void_p], False),
    "treadle_invalidate": Prototype(c_int32, [c_void_p], False),
    "treadle_close": Prototype(c_int32, [c_void_p, c_int64], False),
    "treadle_is_valid": Prototype(c_bool, [c_void_p], True),
    "treadle_get_context_info": Prototype(c_int32, [c_void_p, POINTER(c_void_p)], False),
    "treadle_get_order": Prototype(c_int32, [c_void_p, POINTER(c_int64)], True),
    "treadle_get_kind": Prototype(c_int32, [c_void_p, POINTER(c_uint32)], False),
    "treadle_get_pthread": Prototype(c_int32, [c_void_p, POINTER(c_size_t)], True),
    "treadle_describe": Prototype(c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)], False),
    "treadle_loop_add": Prototype(c_int32, [c_void_p, c_void_p, c_char_p], False),
    "treadle_loop_remove": Prototype(c_int32, [c_void_p, c_void_p, c_char_p], False),
    "treadle_loop_contains": Prototype(c_bool, [c_void_p, c_void_p, c_char_p], False),
    "treadle_last_error": Prototype(c_int32, [POINTER(treadle_error_info)], True),
    "treadle_status_name": Prototype(c_char_p, [c_int32], True),
    "treadle_status_message": Prototype(c_char_p, [c_int32], True),
    "treadle_after_fork_child": Prototype(c_int32, [], True),
    "treadle_time_now": Prototype(c_int64, [], True),
    "treadle_time_recent": Prototype(c_int64, [], True),
    "treadle_time_from_seconds": Prototype(c_int32, [c_double, POINTER(c_int64)], True),
    "treadle_time_from_absolute": Prototype(c_int32, [c_double, POINTER(c_int64)], True),
    "treadle_time_to_absolute": Prototype(c_double, [c_int64], True),
    "treadle_loop_current": Prototype(c_void_p, [], True),
    "treadle_loop_main": Prototype(c_void_p, [], True),
    "treadle_loop_copy_of_thread": Prototype(c_int32, [c_int32, POINTER(c_void_p)], True),
    "treadle_loop_run": Prototype(c_int32, [c_void_p, c_char_p, c_int64, c_uint32], False),
    "treadle_loop_set_interrupt_descriptor": Prototype(c_int32, [c_void_p, c_int32], False),
    "treadle_loop_open_pollable": Prototype(c_int32, [c_void_p, c_char_p, POINTER(c_int32)], False),
    "treadle_loop_prepare": Prototype(c_int32, [c_void_p, c_char_p, POINTER(c_int64)], False),
    "treadle_loop_dispatch": Prototype(c_int32, [c_void_p, c_char_p, c_int64, c_size_t], False),
    "treadle_loop_stop": Prototype(c_int32, [c_void_p], True),
    "treadle_loop_request_stop": Prototype(c_int32, [c_void_p, c_uint32], True),
    "treadle_loop_wake": Prototype(c_int32, [c_void_p], True),
    "treadle_loop_is_waiting": Prototype(c_bool, [c_void_p], True),
    "treadle_loop_is_current": Prototype(c_bool, [c_void_p], True),
    "treadle_loop_get_thread_id": Prototype(c_int32, [c_void_p, POINTER(c_int32)], True),
    "treadle_loop_copy_thread": Prototype(c_int32, [c_void_p, POINTER(c_void_p)], False),
    "treadle_loop_get_current_mode": Prototype(c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)], True),
    "treadle_loop_get_modes": Prototype(c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)], True),
    "treadle_loop_copy_items": Prototype(c_int32, [c_void_p, c_char_p, POINTER(c_void_p), c_size_t, POINTER(c_size_t)], False),
    "treadle_loop_get_counters": Prototype(c_int32, [c_void_p, POINTER(treadle_loop_counters)], False),
    "treadle_loop_add_common_mode": Prototype(c_int32, [c_void_p, c_char_p], False),
    "treadle_loop_is_common_mode": Prototype(c_bool, [c_void_p, c_char_p], True),
    "treadle_loop_get_next_fire": Prototype(c_int32, [c_void_p, c_char_p, POINTER(c_int64)], True),
    "treadle_source_create": Prototype(c_int32, [POINTER(treadle_source_context), POINTER(c_void_p)], True),
    "treadle_source_start": Prototype(c_int32, [treadle_perform_fn, c_void_p, POINTER(c_void_p)], False),
    "treadle_source_signal": Prototype(c_int32, [c_void_p], True),
    "treadle_source_signal_and_wake": Prototype(c_int32, [c_void_p], True),
    "treadle_source_is_signalled": Prototype(c_bool, [c_void_p], True),
    "treadle_descriptor_create": Prototype(c_int32, [POINTER(treadle_descriptor_context), POINTER(c_void_p)], True),
    "treadle_descriptor_start": Prototype(c_int32, [c_int32, c_uint32, treadle_ready_fn, c_void_p, POINTER(c_void_p)], False),
    "treadle_descriptor_set_events": Prototype(c_int32, [c_void_p, c_uint32], True),
    "treadle_descriptor_get_events": Prototype(c_int32, [c_void_p, POINTER(c_uint32)], True),
    "treadle_descriptor_get_fd": Prototype(c_int32, [c_void_p, POINTER(c_int32)], True),
    "treadle_port_create": Prototype(c_int32, [POINTER(treadle_port_context), POINTER(c_void_p)], False),
    "treadle_port_send": Prototype(c_int32, [c_void_p, POINTER(treadle_message_content), c_int64], False),
    "treadle_port_send_bytes": Prototype(c_int32, [c_void_p, c_uint32, c_void_p, c_size_t, c_int64], False),
    "treadle_port_get_count": Prototype(c_int32, [c_void_p, POINTER(c_size_t), POINTER(c_size_t)], False),
    "treadle_message_get_info": Prototype(c_int32, [c_void_p, POINTER(treadle_message_info)], False),
    "treadle_message_get_component": Prototype(c_int32, [c_void_p, c_size_t, POINTER(treadle_component)], False),
    "treadle_message_take_descriptor": Prototype(c_int32, [c_void_p, c_size_t, POINTER(c_int32)], False),
    "treadle_message_port_create_local": Prototype(c_int32, [c_char_p, POINTER(treadle_message_port_context), POINTER(c_void_p)], False),
    "treadle_message_port_create_remote": Prototype(c_int32, [c_char_p, POINTER(treadle_message_port_context), POINTER(c_void_p)], False),
    "treadle_message_port_is_remote": Prototype(c_bool, [c_void_p], False),
    "treadle_message_port_get_name": Prototype(c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)], False),
    "treadle_message_port_set_name": Prototype(c_int32, [c_void_p, c_char_p], False),
    "treadle_message_port_set_invalidated": Prototype(c_int32, [c_void_p, treadle_message_port_invalidated_fn], False),
    "treadle_message_port_check": Prototype(c_int32, [c_void_p], False),
    "treadle_message_port_send": Prototype(c_int32, [c_void_p, c_int32, c_void_p, c_size_t, c_int64], False),
    "treadle_message_port_request": Prototype(c_int32, [c_void_p, c_int32, c_void_p, c_size_t, c_int64, c_int64, c_char_p, treadle_message_port_reply_fn, c_void_p], False),
    "treadle_message_port_reply": Prototype(c_int32, [c_uint64, c_void_p, c_size_t], False),
    "treadle_port_call": Prototype(c_int32, [c_void_p, c_char_p, c_char_p, POINTER(treadle_port_value), c_size_t, c_void_p, c_size_t, c_int64, c_char_p], False),
    "treadle_timer_create": Prototype(c_int32, [POINTER(treadle_timer_context), POINTER(c_void_p)], True),
    "treadle_timer_start": Prototype(c_int32, [c_int64, c_int64, treadle_timer_fn, c_void_p, POINTER(c_void_p)], False),
    "treadle_timer_fire": Prototype(c_int32, [c_void_p], False),
    "treadle_timer_get_next_fire": Prototype(c_int32, [c_void_p, POINTER(c_int64)], True),
    "treadle_timer_set_time": Prototype(c_int32, [c_void_p, c_int64, c_uint32], True),
    "treadle_timer_get_interval": Prototype(c_int32, [c_void_p, POINTER(c_int64)], True),
    "treadle_timer_set_tolerance": Prototype(c_int32, [c_void_p, c_int64], True),
    "treadle_timer_get_tolerance": Prototype(c_int32, [c_void_p, POINTER(c_int64)], True),
    "treadle_observer_create": Prototype(c_int32, [POINTER(treadle_observer_context), POINTER(c_void_p)], True),
    "treadle_observer_start": Prototype(c_int32, [c_uint32, treadle_observer_fn, c_void_p, POINTER(c_void_p)], False),
    "treadle_observer_get_activities": Prototype(c_int32, [c_void_p, POINTER(c_uint32)], True),
    "treadle_observer_repeats": Prototype(c_bool, [c_void_p], True),
    "treadle_loop_post": Prototype(c_int32, [c_void_p, treadle_post_fn, c_void_p], False),
    "treadle_loop_post_in": Prototype(c_int32, [c_void_p, POINTER(treadle_post)], False),
    "treadle_signature_parse": Prototype(c_int32, [c_char_p, POINTER(c_void_p)], True),
    "treadle_signature_get_argument_count": Prototype(c_int32, [c_void_p, POINTER(c_size_t)], True),
    "treadle_signature_get_layout": Prototype(c_int32, [c_void_p, c_int32, POINTER(c_size_t), POINTER(c_size_t)], True),
    "treadle_signature_describe": Prototype(c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)], False),
    "treadle_routine_create": Prototype(c_int32, [POINTER(treadle_routine_config), POINTER(c_void_p)], False),
    "treadle_routine_call": Prototype(c_int32, [c_void_p, POINTER(treadle_event), c_void_p, c_size_t], False),
    "treadle_thread_create": Prototype(c_int32, [POINTER(treadle_thread_config), POINTER(c_void_p)], True),
    "treadle_thread_start": Prototype(c_int32, [c_void_p], False),
    "treadle_thread_start_and_wait": Prototype(c_int32, [c_void_p, c_int64], False),
    "treadle_thread_declare_ready": Prototype(c_int32, [], True),
    "treadle_thread_current": Prototype(c_void_p, [], True),
    "treadle_thread_main": Prototype(c_void_p, [], True),
    "treadle_thread_is_main": Prototype(c_bool, [c_void_p], True),
    "treadle_is_multithreaded": Prototype(c_bool, [], True),
    "treadle_thread_get_id": Prototype(c_int32, [c_void_p, POINTER(c_int32)], True),
    "treadle_thread_copy_loop": Prototype(c_int32, [c_void_p, POINTER(c_void_p)], True),
    "treadle_thread_get_state": Prototype(c_int32, [c_void_p, POINTER(c_uint32)], True),
    "treadle_thread_cancel": Prototype(c_int32, [c_void_p], True),
    "treadle_thread_is_cancelled": Prototype(c_bool, [c_void_p], True),
    "treadle_thread_stop": Prototype(c_int32, [c_void_p], False),
    "treadle_thread_request_stop": Prototype(c_int32, [c_void_p, c_uint32], True),
    "treadle_thread_join": Prototype(c_int32, [c_void_p, c_int64, POINTER(c_void_p)], False),
    "treadle_thread_detach": Prototype(c_int32, [c_void_p], True),
    "treadle_thread_is_detached": Prototype(c_bool, [c_void_p], True),
    "treadle_thread_exit": Prototype(c_int32, [c_void_p], False),
    "treadle_thread_set_stack_size": Prototype(c_int32, [c_void_p, c_size_t], True),
    "treadle_thread_get_stack_size": Prototype(c_int32, [c_void_p, POINTER(c_size_t)], True),
    "treadle_thread_set_name": Prototype(c_int32, [c_void_p, c_char_p], True),
    "treadle_thread_get_name": Prototype(c_int32, [c_void_p, c_char_p, c_size_t, POINTER(c_size_t)], True),
    "treadle_thread_set_priority": Prototype(c_int32, [c_void_p, c_double], True),
    "treadle_thread_get_priority": Prototype(c_int32, [c_void_p, POINTER(c_double), POINTER(c_int32)], True),
    "treadle_thread_set_policy": Prototype(c_int32, [c_void_p, c_uint32], True),
    "treadle_thread_get_policy": Prototype(c_int32, [c_void_p, POINTER(c_uint32)], True),
    "treadle_thread_set_value": Prototype(c_int32, [c_void_p, c_char_p, c_void_p, treadle_release_fn], False),
    "treadle_thread_get_value": Prototype(c_int32, [c_void_p, c_char_p, POINTER(c_void_p)], False),
    "treadle_thread_use_value": Prototype(c_int32, [c_void_p, c_char_p, CFUNCTYPE(None, c_void_p, c_void_p), c_void_p], False),
    "treadle_thread_remove_value": Prototype(c_int32, [c_void_p, c_char_p], False),
    "treadle_thread_sleep_until": Prototype(c_int32, [c_int64], False),
    "treadle_perform": Prototype(c_int32, [c_void_p, POINTER(treadle_request)], False),
    "treadle_perform_cancel": Prototype(c_int32, [POINTER(treadle_request)], False),
    "treadle_invocation_create": Prototype(c_int32, [POINTER(treadle_invocation_config), POINTER(c_void_p)], False),
    "treadle_invocation_set_argument": Prototype(c_int32, [c_void_p, c_size_t, c_void_p, c_size_t], True),
    "treadle_invocation_set_buffer": Prototype(c_int32, [c_void_p, c_size_t, c_void_p, c_size_t], False),
    "treadle_invocation_get_argument": Prototype(c_int32, [c_void_p, c_size_t, c_void_p, c_size_t], False),
    "treadle_invocation_get_buffer": Prototype(c_int32, [c_void_p, c_size_t, c_void_p, c_size_t], False),
    "treadle_invocation_perform": Prototype(c_int32, [c_void_p, POINTER(treadle_invocation_options)], False),
    "treadle_invocation_cancel": Prototype(c_int32, [c_void_p], False),
    "treadle_invocation_get_state": Prototype(c_int32, [c_void_p, POINTER(c_uint32)], True),
    "treadle_invocation_get_result": Prototype(c_int32, [c_void_p, c_void_p, c_size_t], True),
    "treadle_invocation_get_errno": Prototype(c_int32, [c_void_p, POINTER(c_int32)], False),
    "treadle_closure_create": Prototype(c_int32, [POINTER(treadle_closure_config), POINTER(c_void_p)], False),
    "treadle_closure_get_code": Prototype(c_int32, [c_void_p, POINTER(CFUNCTYPE(None))], True),
    "treadle_closure_get_info": Prototype(c_int32, [c_void_p, POINTER(treadle_closure_info)], True),
    "treadle_call_get_argument": Prototype(c_int32, [POINTER(treadle_call), c_size_t, c_void_p, c_size_t], False),
    "treadle_call_set_result": Prototype(c_int32, [POINTER(treadle_call), c_void_p, c_size_t], False),
    "treadle_closure_pool_get_info": Prototype(c_int32, [POINTER(treadle_closure_pool_info)], True),
    "treadle_lock_create": Prototype(c_int32, [c_uint32, POINTER(c_void_p)], False),
    "treadle_lock_lock": Prototype(c_int32, [c_void_p, c_int64], False),
    "treadle_lock_unlock": Prototype(c_int32, [c_void_p], True),
    "treadle_condition_create": Prototype(c_int32, [POINTER(c_void_p)], False),
    "treadle_condition_wait": Prototype(c_int32, [c_void_p, c_void_p, c_int64], False),
    "treadle_condition_signal": Prototype(c_int32, [c_void_p], True),
    "treadle_condition_broadcast": Prototype(c_int32, [c_void_p], True),
    "treadle_pool_push": Prototype(c_int32, [POINTER(c_uint64)], True),
    "treadle_pool_pop": Prototype(c_int32, [c_uint64], False),
    "treadle_pool_add": Prototype(c_int32, [c_void_p, treadle_release_fn], False),
    "treadle_notification_add": Prototype(c_int32, [POINTER(treadle_notification_config), POINTER(c_uint64)], True),
    "treadle_notification_remove": Prototype(c_int32, [c_uint64], False),
    "treadle_shutdown": Prototype(c_int32, [c_int64], False),
    "treadle_set_last_resort": Prototype(c_int32, [treadle_last_resort_fn, c_void_p, treadle_release_fn], False),
    "treadle_has_last_resort": Prototype(c_bool, [], False),
    "treadle_report_error": Prototype(c_int32, [c_char_p, c_char_p], False),
    "treadle_set_log": Prototype(c_int32, [treadle_log_fn, c_void_p, treadle_release_fn], False),
    "treadle_trace_start": Prototype(c_int32, [c_char_p], False),
    "treadle_trace_stop": Prototype(c_int32, [], False),
    "treadle_trace_mark": Prototype(c_int32, [c_char_p, c_int64], False),
    "treadle_scope_create": Prototype(c_int32, [POINTER(treadle_scope_config), POINTER(c_void_p)], False),
    "treadle_scope_enter": Prototype(c_int32, [c_void_p], False),
    "treadle_scope_leave": Prototype(c_int32, [c_void_p], False),
    "treadle_scope_copy_holders": Prototype(c_int32, [c_void_p, POINTER(treadle_scope_holder), c_size_t, c_size_t, POINTER(c_size_t)], False),
    "treadle_host_register": Prototype(c_int32, [POINTER(treadle_host_config), POINTER(c_void_p)], False),
    "treadle_host_quiesce": Prototype(c_int32, [c_void_p, c_int64], False),
    "treadle_host_get_dropped": Prototype(c_int32, [c_void_p, POINTER(c_uint64)], True),
    "treadle_host_take_retired": Prototype(c_int32, [c_void_p, POINTER(c_uint64), c_size_t, POINTER(c_size_t)], True),
    "treadle_host_get_retired_count": Prototype(POINTER(c_uint64), [c_void_p], True),
    "treadle_host_post": Prototype(c_int32, [c_void_p, c_uint64, c_void_p], True),
    "treadle_host_run": Prototype(c_int32, [c_void_p, c_void_p, c_char_p, c_int64, c_uint32], False),
    "treadle_loop_next": Prototype(c_int32, [c_void_p, POINTER(treadle_pull)], False),
    "treadle_host_wait": Prototype(c_int32, [c_void_p, POINTER(c_uint32), c_int64], False),
    "treadle_host_end_wait": Prototype(c_int32, [POINTER(c_uint32)], True),
    "treadle_host_pool_add": Prototype(c_int32, [c_void_p, c_uint64], True),
    "treadle_plugin_load": Prototype(c_int32, [POINTER(treadle_plugin_config), POINTER(c_void_p)], False),
    "treadle_plugin_serve": Prototype(c_int32, [c_int32, c_int32, treadle_plugin_filter_fn], False),
    "treadle_plugin_start": Prototype(c_int32, [c_void_p], False),
    "treadle_plugin_reload": Prototype(c_int32, [c_void_p, POINTER(treadle_plugin_config), c_int64, POINTER(c_void_p)], False),
    "treadle_plugin_get_info": Prototype(c_int32, [c_void_p, POINTER(treadle_plugin_info)], False),
    "treadle_plugin_get_extension": Prototype(c_int32, [c_void_p, c_char_p, POINTER(c_void_p)], False),
    "treadle_plugin_set": Prototype(c_int32, [c_void_p, c_char_p, c_char_p], False),
    "treadle_plugin_copy_setting": Prototype(c_int32, [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t)], False),
    "treadle_plugin_copy_all": Prototype(c_int32, [POINTER(c_void_p), c_size_t, POINTER(c_size_t)], False),
}


class Functions:
    """The functions of the library, once it is loaded."""

    treadle_version: Callable[..., Any]
    treadle_version_string: Callable[..., Any]
    treadle_retain: Callable[..., Any]
    treadle_release: Callable[..., Any]
    treadle_invalidate: Callable[..., Any]
    treadle_close: Callable[..., Any]
    treadle_is_valid: Callable[..., Any]
    treadle_get_context_info: Callable[..., Any]
    treadle_get_order: Callable[..., Any]
    treadle_get_kind: Callable[..., Any]
    treadle_get_pthread: Callable[..., Any]
    treadle_describe: Callable[..., Any]
    treadle_loop_add: Callable[..., Any]
    treadle_loop_remove: Callable[..., Any]
    treadle_loop_contains: Callable[..., Any]
    treadle_last_error: Callable[..., Any]
    treadle_status_name: Callable[..., Any]
    treadle_status_message: Callable[..., Any]
    treadle_after_fork_child: Callable[..., Any]
    treadle_time_now: Callable[..., Any]
    treadle_time_recent: Callable[..., Any]
    treadle_time_from_seconds: Callable[..., Any]
    treadle_time_from_absolute: Callable[..., Any]
    treadle_time_to_absolute: Callable[..., Any]
    treadle_loop_current: Callable[..., Any]
    treadle_loop_main: Callable[..., Any]
    treadle_loop_copy_of_thread: Callable[..., Any]
    treadle_loop_run: Callable[..., Any]
    treadle_loop_set_interrupt_descriptor: Callable[..., Any]
    treadle_loop_open_pollable: Callable[..., Any]
    treadle_loop_prepare: Callable[..., Any]
    treadle_loop_dispatch: Callable[..., Any]
    treadle_loop_stop: Callable[..., Any]
    treadle_loop_request_stop: Callable[..., Any]
    treadle_loop_wake: Callable[..., Any]
    treadle_loop_is_waiting: Callable[..., Any]
    treadle_loop_is_current: Callable[..., Any]
    treadle_loop_get_thread_id: Callable[..., Any]
    treadle_loop_copy_thread: Callable[..., Any]
    treadle_loop_get_current_mode: Callable[..., Any]
    treadle_loop_get_modes: Callable[..., Any]
    treadle_loop_copy_items: Callable[..., Any]
    treadle_loop_get_counters: Callable[..., Any]
    treadle_loop_add_common_mode: Callable[..., Any]
    treadle_loop_is_common_mode: Callable[..., Any]
    treadle_loop_get_next_fire: Callable[..., Any]
    treadle_source_create: Callable[..., Any]
    treadle_source_start: Callable[..., Any]
    treadle_source_signal: Callable[..., Any]
    treadle_source_signal_and_wake: Callable[..., Any]
    treadle_source_is_signalled: Callable[..., Any]
    treadle_descriptor_create: Callable[..., Any]
    treadle_descriptor_start: Callable[..., Any]
    treadle_descriptor_set_events: Callable[..., Any]
    treadle_descriptor_get_events: Callable[..., Any]
    treadle_descriptor_get_fd: Callable[..., Any]
    treadle_port_create: Callable[..., Any]
    treadle_port_send: Callable[..., Any]
    treadle_port_send_bytes: Callable[..., Any]
    treadle_port_get_count: Callable[..., Any]
    treadle_message_get_info: Callable[..., Any]
    treadle_message_get_component: Callable[..., Any]
    treadle_message_take_descriptor: Callable[..., Any]
    treadle_message_port_create_local: Callable[..., Any]
    treadle_message_port_create_remote: Callable[..., Any]
    treadle_message_port_is_remote: Callable[..., Any]
    treadle_message_port_get_name: Callable[..., Any]
    treadle_message_port_set_name: Callable[..., Any]
    treadle_message_port_set_invalidated: Callable[..., Any]
    treadle_message_port_check: Callable[..., Any]
    treadle_message_port_send: Callable[..., Any]
    treadle_message_port_request: Callable[..., Any]
    treadle_message_port_reply: Callable[..., Any]
    treadle_port_call: Callable[..., Any]
    treadle_timer_create: Callable[..., Any]
    treadle_timer_start: Callable[..., Any]
    treadle_timer_fire: Callable[..., Any]
    treadle_timer_get_next_fire: Callable[..., Any]
    treadle_timer_set_time: Callable[..., Any]
    treadle_timer_get_interval: Callable[..., Any]
    treadle_timer_set_tolerance: Callable[..., Any]
    treadle_timer_get_tolerance: Callable[..., Any]
    treadle_observer_create: Callable[..., Any]
    treadle_observer_start: Callable[..., Any]
    treadle_observer_get_activities: Callable[..., Any]
    treadle_observer_repeats: Callable[..., Any]
    treadle_loop_post: Callable[..., Any]
    treadle_loop_post_in: Callable[..., Any]
    treadle_signature_parse: Callable[..., Any]
    treadle_signature_get_argument_count: Callable[..., Any]
    treadle_signature_get_layout: Callable[..., Any]
    treadle_signature_describe: Callable[..., Any]
    treadle_routine_create: Callable[..., Any]
    treadle_routine_call: Callable[..., Any]
    treadle_thread_create: Callable[..., Any]
    treadle_thread_start: Callable[..., Any]
    treadle_thread_start_and_wait: Callable[..., Any]
    treadle_thread_declare_ready: Callable[..., Any]
    treadle_thread_current: Callable[..., Any]
    treadle_thread_main: Callable[..., Any]
    treadle_thread_is_main: Callable[..., Any]
    treadle_is_multithreaded: Callable[..., Any]
    treadle_thread_get_id: Callable[..., Any]
    treadle_thread_copy_loop: Callable[..., Any]
    treadle_thread_get_state: Callable[..., Any]
    treadle_thread_cancel: Callable[..., Any]
    treadle_thread_is_cancelled: Callable[..., Any]
    treadle_thread_stop: Callable[..., Any]
    treadle_thread_request_stop: Callable[..., Any]
    treadle_thread_join: Callable[..., Any]
    treadle_thread_detach: Callable[..., Any]
    treadle_thread_is_detached: Callable[..., Any]
    treadle_thread_exit: Callable[..., Any]
    treadle_thread_set_stack_size: Callable[..., Any]
    treadle_thread_get_stack_size: Callable[..., Any]
    treadle_thread_set_name: Callable[..., Any]
    treadle_thread_get_name: Callable[..., Any]
    treadle_thread_set_priority: Callable[..., Any]
    treadle_thread_get_priority: Callable[..., Any]
    treadle_thread_set_policy: Callable[..., Any]
    treadle_thread_get_policy: Callable[..., Any]
    treadle_thread_set_value: Callable[..., Any]
    treadle_thread_get_value: Callable[..., Any]
    treadle_thread_use_value: Callable[..., Any]
    treadle_thread_remove_value: Callable[..., Any]
    treadle_thread_sleep_until: Callable[..., Any]
    treadle_perform: Callable[..., Any]
    treadle_perform_cancel: Callable[..., Any]
    treadle_invocation_create: Callable[..., Any]
    treadle_invocation_set_argument: Callable[..., Any]
    treadle_invocation_set_buffer: Callable[..., Any]
    treadle_invocation_get_argument: Callable[..., Any]
    treadle_invocation_get_buffer: Callable[..., Any]
    treadle_invocation_perform: Callable[..., Any]
    treadle_invocation_cancel: Callable[..., Any]
    treadle_invocation_get_state: Callable[..., Any]
    treadle_invocation_get_result: Callable[..., Any]
    treadle_invocation_get_errno: Callable[..., Any]
    treadle_closure_create: Callable[..., Any]
    treadle_closure_get_code: Callable[..., Any]
    treadle_closure_get_info: Callable[..., Any]
    treadle_call_get_argument: Callable[..., Any]
    treadle_call_set_result: Callable[..., Any]
    treadle_closure_pool_get_info: Callable[..., Any]
    treadle_lock_create: Callable[..., Any]
    treadle_lock_lock: Callable[..., Any]
    treadle_lock_unlock: Callable[..., Any]
    treadle_condition_create: Callable[..., Any]
    treadle_condition_wait: Callable[..., Any]
    treadle_condition_signal: Callable[..., Any]
    treadle_condition_broadcast: Callable[..., Any]
    treadle_pool_push: Callable[..., Any]
    treadle_pool_pop: Callable[..., Any]
    treadle_pool_add: Callable[..., Any]
    treadle_notification_add: Callable[..., Any]
    treadle_notification_remove: Callable[..., Any]
    treadle_shutdown: Callable[..., Any]
    treadle_set_last_resort: Callable[..., Any]
    treadle_has_last_resort: Callable[..., Any]
    treadle_report_error: Callable[..., Any]
    treadle_set_log: Callable[..., Any]
    treadle_trace_start: Callable[..., Any]
    treadle_trace_stop: Callable[..., Any]
    treadle_trace_mark: Callable[..., Any]
    treadle_scope_create: Callable[..., Any]
    treadle_scope_enter: Callable[..., Any]
    treadle_scope_leave: Callable[..., Any]
    treadle_scope_copy_holders: Callable[..., Any]
    treadle_host_register: Callable[..., Any]
    treadle_host_quiesce: Callable[..., Any]
    treadle_host_get_dropped: Callable[..., Any]
    treadle_host_take_retired: Callable[..., Any]
    treadle_host_get_retired_count: Callable[..., Any]
    treadle_host_post: Callable[..., Any]
    treadle_host_run: Callable[..., Any]
    treadle_loop_next: Callable[..., Any]
    treadle_host_wait: Callable[..., Any]
    treadle_host_end_wait: Callable[..., Any]
    treadle_host_pool_add: Callable[..., Any]
    treadle_plugin_load: Callable[..., Any]
    treadle_plugin_serve: Callable[..., Any]
    treadle_plugin_start: Callable[..., Any]
    treadle_plugin_reload: Callable[..., Any]
    treadle_plugin_get_info: Callable[..., Any]
    treadle_plugin_get_extension: Callable[..., Any]
    treadle_plugin_set: Callable[..., Any]
    treadle_plugin_copy_setting: Callable[..., Any]
    treadle_plugin_copy_all: Callable[..., Any]
