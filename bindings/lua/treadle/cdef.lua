-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- The C interface: generated from the headers by make generate. Do not edit.
local ffi = require("ffi")
local constants = {
  VERSION_MAJOR = 1,
  VERSION_MINOR = 0,
  VERSION_PATCH = 0,
  OK = 0,
  RUN_FINISHED = 1,
  RUN_STOPPED = 2,
  RUN_TIMED_OUT = 3,
  RUN_HANDLED_SOURCE = 4,
  RUN_INTERRUPTED = 5,
  IGNORED = 16,
  DEFERRED = 17,
  E_ARG = -1,
  E_STALE = -2,
  E_KIND = -3,
  E_NOMEM = -4,
  E_STATE = -5,
  E_EXISTS = -6,
  E_NOT_FOUND = -7,
  E_WRONG_THREAD = -8,
  E_DEADLOCK = -9,
  E_TIMEOUT = -10,
  E_FORKED = -11,
  E_TOO_NEW = -12,
  E_SYSTEM = -13,
  E_CALLBACK = -14,
  E_CLOSED = -15,
  E_RANGE = -16,
  E_SIGNATURE = -17,
  E_NOT_SUPPORTED = -18,
  E_CANCELLED = -19,
  E_PLUGIN = -20,
  E_NO_REPLY = -21,
  FOREVER = 0x7fffffffffffffffLL,
  DEFAULT_MODE = "kCFRunLoopDefaultMode",
  COMMON_MODES = "kCFRunLoopCommonModes",
  KIND_LOOP = 1,
  KIND_SOURCE = 2,
  KIND_TIMER = 3,
  KIND_OBSERVER = 4,
  KIND_DESCRIPTOR = 5,
  KIND_SIGNATURE = 6,
  KIND_ROUTINE = 7,
  KIND_HOST = 8,
  KIND_THREAD = 9,
  KIND_LOCK = 10,
  KIND_CONDITION = 11,
  KIND_INVOCATION = 12,
  KIND_CLOSURE = 13,
  KIND_SCOPE = 15,
  KIND_PORT = 16,
  KIND_MESSAGE = 17,
  EVENT_PERFORM = 1,
  EVENT_SCHEDULE = 2,
  EVENT_CANCEL = 3,
  EVENT_TIMER = 4,
  EVENT_OBSERVER = 5,
  EVENT_DESCRIPTOR = 6,
  EVENT_POST = 7,
  EVENT_REQUEST = 8,
  EVENT_THREAD = 9,
  EVENT_NOTIFICATION = 10,
  EVENT_RELEASE = 11,
  EVENT_CALL = 12,
  EVENT_MESSAGE = 14,
  EVENT_INTERRUPT = 13,
  EVENT_MESSAGE_PORT = 15,
  RUN_RETURN_AFTER_SOURCE = 1,
  RUN_RETURN_ON_INTERRUPT = 2,
  RUN_WHEN_EMPTY = 4,
  STOP_ALL_LEVELS = 1,
  STOP_AT_ONCE = 2,
  FINISH_NONE = 0,
  FINISH_UNKNOWN_MODE = 1,
  FINISH_EMPTY_AT_ONCE = 2,
  FINISH_BECAME_EMPTY = 3,
  READABLE = 1,
  WRITABLE = 2,
  HANGUP = 4,
  FAILED = 8,
  DESCRIPTOR_ACKNOWLEDGED = 1,
  COMPONENT_BYTES = 1,
  COMPONENT_PORT = 2,
  COMPONENT_DESCRIPTOR = 3,
  MESSAGE_PORT_WANTS_REPLY = 1,
  MESSAGE_PORT_NAME = 255,
  REPLIES_MODE = "treadle.replies",
  TIMER_ENDS_AFTER_FIRING = 1,
  TIMER_WALL_CLOCK = 2,
  ARM_AT_DATE = 1,
  ENTRY = 0x1,
  BEFORE_TIMERS = 0x2,
  BEFORE_SOURCES = 0x4,
  BEFORE_WAITING = 0x20,
  AFTER_WAITING = 0x40,
  EXIT = 0x80,
  ALL_ACTIVITIES = 0x0FFFFFFF,
  PREPARE = 0x10000000,
  POST_WITHOUT_WAKE = 1,
  ARGUMENT_BOUND = 0,
  ARGUMENT_LOOP = 1,
  ARGUMENT_MODE = 2,
  ARGUMENT_SUBJECT = 3,
  ARGUMENT_VALUE = 4,
  ARGUMENT_DESCRIPTOR = 5,
  ARGUMENT_LATE = 6,
  ARGUMENT_EVENT = 7,
  ARGUMENT_ARGUMENT = 8,
  THREAD_CREATED = 0,
  THREAD_STARTING = 1,
  THREAD_EXECUTING = 2,
  THREAD_FINISHED = 3,
  POLICY_DEFAULT = 0,
  POLICY_FIFO = 1,
  POLICY_ROUND_ROBIN = 2,
  THREAD_DETACHED = 1,
  PERFORM_WAIT = 1,
  PERFORM_AFTER = 2,
  PERFORM_IN_BACKGROUND = 4,
  PERFORM_UNTIL_WORD = 8,
  CALL_MODE = "TreadleCallMode",
  WAIT_NONE = 0,
  WAIT_BLOCK = 1,
  WAIT_RUNNING = 2,
  INVOCATION_IDLE = 0,
  INVOCATION_QUEUED = 1,
  INVOCATION_RUNNING = 2,
  INVOCATION_DONE = 3,
  INVOCATION_CANCELLED = 4,
  INVOCATION_DROPPED = 5,
  DELIVERY_INLINE = 0,
  DELIVERY_ASYNC = 1,
  DELIVERY_SYNC = 2,
  DELIVERY_RUNNING = 3,
  FULL_BLOCK = 0,
  FULL_FAIL = 1,
  FULL_DROP_NEWEST = 2,
  FULL_DROP_OLDEST = 3,
  FULL_COALESCE = 4,
  CLOSURE_MAY_ALLOCATE = 1,
  CLOSURE_KEEP_CODE = 2,
  CLOSURE_ACTIVE = 0,
  CLOSURE_INVALIDATED = 1,
  CLOSURE_DRAINED = 2,
  LOCK_RECURSIVE = 1,
  NOTIFY_WILL_BECOME_MULTITHREADED = 1,
  NOTIFY_THREAD_WILL_EXIT = 2,
  NOTIFY_PORT_INVALID = 3,
  HOLDER_POST = 32,
  HOLDER_REQUEST = 33,
  HOLDER_NOTIFICATION = 34,
  HOLDER_POOLED = 35,
  HOLDER_CALL = 37,
  HOLDER_VALUE = 38,
  HOST_WANTS_SCHEDULE = 1,
  HOST_WANTS_CANCEL = 2,
  NEXT_IN_DISPATCH = 8,
  PLUGIN_ABI = 0x10000,
  PLUGIN_BEHAVIOUR = 1,
  SETTING_TEXT = 0,
  SETTING_BOOLEAN = 1,
  SETTING_INTEGER = 2,
  SETTING_REAL = 3,
  PLUGIN_MAY_UNMAP = 1,
  PASS_VALUE = 0,
  PASS_TEXT = 1,
  PASS_IN = 2,
  PASS_OUT = 3,
  PASS_IN_OUT = 4,
  PASS_CALLBACK = 5,
  PASS_KEPT_CALLBACK = 6,
  PASS_INFO = 7,
  PASS_TOKEN = 8,
  PASS_OUT_TOKEN = 9,
  PASS_STATUS = 10,
  PASS_INSTANCE = 11,
  EXTENSION_HAS_SIZE = 1,
  EXTENSION_HAS_INSTANCE = 2,
  EXTENSION_ONE_WAY = 1,
  PLUGIN_LOAD_WRITABLE = 1,
  PLUGIN_LOAD_ISOLATED = 2,
  RIGHTS_NO_NETWORK = 1,
  RIGHTS_NO_PROCESSES = 2,
  RIGHTS_NAMED_FILES = 4,
  RIGHTS_IF_POSSIBLE = 8,
  RIGHTS_USUAL_CALLS = 16,
  PLUGIN_LOADED = 0,
  PLUGIN_STARTING = 1,
  PLUGIN_STARTED = 2,
  HOLDER_PLUGIN = 36,
}
ffi.cdef[[
uint32_t treadle_version(void);
const char *treadle_version_string(void);
typedef struct treadle_loop_s *treadle_loop;
typedef struct treadle_source_s *treadle_source;
typedef struct treadle_descriptor_s *treadle_descriptor;
typedef struct treadle_timer_s *treadle_timer;
typedef struct treadle_observer_s *treadle_observer;
typedef struct treadle_signature_s *treadle_signature;
typedef struct treadle_routine_s *treadle_routine;
typedef struct treadle_invocation_s *treadle_invocation;
typedef struct treadle_closure_s *treadle_closure;
typedef struct treadle_host_s *treadle_host;
typedef struct treadle_thread_s *treadle_thread;
typedef struct treadle_lock_s *treadle_lock;
typedef struct treadle_condition_s *treadle_condition;
typedef struct treadle_port_s *treadle_port;
typedef struct treadle_message_s *treadle_message;
typedef struct treadle_scope_s *treadle_scope;
typedef int32_t treadle_status;
typedef void *(*treadle_retain_fn)(void *info);
typedef void (*treadle_release_fn)(void *info);
typedef void (*treadle_describe_fn)(void *info, char *buffer, size_t capacity);
typedef int32_t (*treadle_equal_fn)(void *info1, void *info2);
typedef uint64_t (*treadle_hash_fn)(void *info);
typedef void *treadle_object;
treadle_status treadle_retain(treadle_object object);
treadle_status treadle_release(treadle_object object);
treadle_status treadle_invalidate(treadle_object item);
treadle_status treadle_close(treadle_object object, int64_t timeout_ns);
bool treadle_is_valid(treadle_object item);
treadle_status treadle_get_context_info(treadle_object item, void **out_info);
treadle_status treadle_get_order(treadle_object item, int64_t *out_order);
treadle_status treadle_get_kind(treadle_object object, uint32_t *out_kind);
treadle_status treadle_get_pthread(treadle_object object, uintptr_t *out_pthread);
treadle_status treadle_describe(treadle_object object, char *buffer, size_t capacity, size_t *out_length);
treadle_status treadle_loop_add(treadle_loop loop, treadle_object item, const char *mode);
treadle_status treadle_loop_remove(treadle_loop loop, treadle_object item, const char *mode);
bool treadle_loop_contains(treadle_loop loop, treadle_object item, const char *mode);
typedef struct treadle_error_info { size_t struct_size; treadle_status code; int32_t os_errno; uint64_t sequence; char function[64]; char message[184]; } treadle_error_info;
treadle_status treadle_last_error(treadle_error_info *info);
const char *treadle_status_name(treadle_status status);
const char *treadle_status_message(treadle_status status);
treadle_status treadle_after_fork_child(void);
int64_t treadle_time_now(void);
int64_t treadle_time_recent(void);
treadle_status treadle_time_from_seconds(double seconds, int64_t *out_ns);
treadle_status treadle_time_from_absolute(double date, int64_t *out_time);
double treadle_time_to_absolute(int64_t time);
typedef struct treadle_event { size_t struct_size; uint32_t kind; uint32_t value; uint64_t token; treadle_loop loop; void *subject; const char *mode; int64_t late_ns; int32_t descriptor; uint32_t reserved; void *argument; } treadle_event;
treadle_loop treadle_loop_current(void);
treadle_loop treadle_loop_main(void);
treadle_status treadle_loop_copy_of_thread(int32_t thread_id, treadle_loop *out_loop);
treadle_status treadle_loop_run(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags);
treadle_status treadle_loop_set_interrupt_descriptor(treadle_loop loop, int32_t fd);
treadle_status treadle_loop_open_pollable(treadle_loop loop, const char *mode, int32_t *out_fd);
treadle_status treadle_loop_prepare(treadle_loop loop, const char *mode, int64_t *out_date);
treadle_status treadle_loop_dispatch(treadle_loop loop, const char *mode, int64_t budget_ns, size_t budget_items);
treadle_status treadle_loop_stop(treadle_loop loop);
treadle_status treadle_loop_request_stop(treadle_loop loop, uint32_t flags);
treadle_status treadle_loop_wake(treadle_loop loop);
bool treadle_loop_is_waiting(treadle_loop loop);
bool treadle_loop_is_current(treadle_loop loop);
treadle_status treadle_loop_get_thread_id(treadle_loop loop, int32_t *out_thread_id);
treadle_status treadle_loop_copy_thread(treadle_loop loop, treadle_thread *out_thread);
treadle_status treadle_loop_get_current_mode(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);
treadle_status treadle_loop_get_modes(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);
treadle_status treadle_loop_copy_items(treadle_loop loop, const char *mode, treadle_object *items, size_t capacity, size_t *out_count);
typedef struct treadle_loop_counters { size_t struct_size; uint64_t passes; uint64_t sleeps; uint64_t wakes; uint64_t posts; uint64_t signals; uint64_t timers; uint64_t descriptors; uint64_t requests; int64_t longest_ns; treadle_object longest_item; uint32_t longest_kind; uint32_t last_finish; uint64_t messages; uint64_t discarded; } treadle_loop_counters;
treadle_status treadle_loop_get_counters(treadle_loop loop, treadle_loop_counters *out_counters);
treadle_status treadle_loop_add_common_mode(treadle_loop loop, const char *mode);
bool treadle_loop_is_common_mode(treadle_loop loop, const char *mode);
treadle_status treadle_loop_get_next_fire(treadle_loop loop, const char *mode, int64_t *out_time);
typedef void (*treadle_perform_fn)(treadle_source source, void *info);
typedef void (*treadle_schedule_fn)(treadle_source source, treadle_loop loop, const char *mode, void *info);
typedef struct treadle_source_context { size_t struct_size; void *info; treadle_retain_fn retain; treadle_release_fn release; treadle_describe_fn describe; treadle_equal_fn equal; treadle_hash_fn hash; treadle_schedule_fn schedule; treadle_schedule_fn cancel; treadle_perform_fn perform; treadle_routine schedule_routine; treadle_routine cancel_routine; treadle_routine perform_routine; int64_t order; const char *label; treadle_host host; uint64_t token; uint32_t host_wants; uint32_t reserved; treadle_scope scope; } treadle_source_context;
treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source);
treadle_status treadle_source_start(treadle_perform_fn perform, void *info, treadle_source *out_source);
treadle_status treadle_source_signal(treadle_source source);
treadle_status treadle_source_signal_and_wake(treadle_source source);
bool treadle_source_is_signalled(treadle_source source);
typedef void (*treadle_ready_fn)(treadle_descriptor descriptor, uint32_t events, void *info);
typedef int32_t (*treadle_get_fd_fn)(void *info);
typedef struct treadle_descriptor_context { size_t struct_size; void *info; treadle_retain_fn retain; treadle_release_fn release; treadle_describe_fn describe; treadle_equal_fn equal; treadle_hash_fn hash; treadle_get_fd_fn get_fd; treadle_ready_fn ready; treadle_routine ready_routine; int32_t fd; uint32_t events; uint32_t flags; uint32_t reserved; const char *label; treadle_host host; uint64_t token; treadle_scope scope; } treadle_descriptor_context;
treadle_status treadle_descriptor_create(const treadle_descriptor_context *context, treadle_descriptor *out_descriptor);
treadle_status treadle_descriptor_start(int32_t fd, uint32_t events, treadle_ready_fn ready, void *info, treadle_descriptor *out_descriptor);
treadle_status treadle_descriptor_set_events(treadle_descriptor descriptor, uint32_t events);
treadle_status treadle_descriptor_get_events(treadle_descriptor descriptor, uint32_t *out_events);
treadle_status treadle_descriptor_get_fd(treadle_descriptor descriptor, int32_t *out_fd);
typedef struct treadle_component { uint32_t kind; int32_t descriptor; const void *bytes; size_t length; treadle_port port; } treadle_component;
typedef struct treadle_message_content { size_t struct_size; uint32_t id; uint32_t reserved; const treadle_component *components; size_t component_count; treadle_port reply_port; } treadle_message_content;
typedef void (*treadle_message_fn)(treadle_port port, treadle_message message, void *info);
typedef struct treadle_port_context { size_t struct_size; void *info; treadle_retain_fn retain; treadle_release_fn release; treadle_describe_fn describe; treadle_message_fn receive; treadle_routine receive_routine; uint32_t capacity; uint32_t reserved; const char *label; treadle_host host; uint64_t token; treadle_scope scope; } treadle_port_context;
treadle_status treadle_port_create(const treadle_port_context *context, treadle_port *out_port);
treadle_status treadle_port_send(treadle_port port, const treadle_message_content *content, int64_t timeout_ns);
treadle_status treadle_port_send_bytes(treadle_port port, uint32_t id, const void *bytes, size_t length, int64_t timeout_ns);
treadle_status treadle_port_get_count(treadle_port port, size_t *out_count, size_t *out_capacity);
typedef struct treadle_message_info { size_t struct_size; uint32_t id; uint32_t component_count; treadle_port port; treadle_port reply_port; const void *bytes; size_t length; } treadle_message_info;
treadle_status treadle_message_get_info(treadle_message message, treadle_message_info *out_info);
treadle_status treadle_message_get_component(treadle_message message, size_t index, treadle_component *out_component);
treadle_status treadle_message_take_descriptor(treadle_message message, size_t index, int32_t *out_descriptor);
typedef struct treadle_message_port_s *treadle_message_port;
typedef struct treadle_message_port_message { size_t struct_size; const void *data; size_t size; uint64_t call; int32_t id; uint32_t flags; int32_t sender_process; uint32_t sender_user; } treadle_message_port_message;
typedef void (*treadle_message_port_receive_fn)(treadle_message_port port, const treadle_message_port_message *message, void *info);
typedef void (*treadle_message_port_invalidated_fn)(treadle_message_port port, void *info);
typedef void (*treadle_message_port_reply_fn)(const void *data, size_t size, void *info);
typedef struct treadle_port_function { const char *name; const char *signature; void (*code)(void); } treadle_port_function;
typedef struct treadle_message_port_context { size_t struct_size; void *info; treadle_retain_fn retain; treadle_release_fn release; treadle_describe_fn describe; treadle_message_port_receive_fn receive; treadle_message_port_invalidated_fn invalidated; const uint32_t *users; size_t user_count; uint32_t owner; uint32_t has_owner; const char *label; treadle_host host; uint64_t token; treadle_scope scope; const treadle_port_function *functions; size_t function_count; } treadle_message_port_context;
treadle_status treadle_message_port_create_local(const char *name, const treadle_message_port_context *context, treadle_message_port *out_port);
treadle_status treadle_message_port_create_remote(const char *name, const treadle_message_port_context *context, treadle_message_port *out_port);
bool treadle_message_port_is_remote(treadle_message_port port);
treadle_status treadle_message_port_get_name(treadle_message_port port, char *buffer, size_t capacity, size_t *out_length);
treadle_status treadle_message_port_set_name(treadle_message_port port, const char *name);
treadle_status treadle_message_port_set_invalidated(treadle_message_port port, treadle_message_port_invalidated_fn invalidated);
treadle_status treadle_message_port_check(treadle_message_port port);
treadle_status treadle_message_port_send(treadle_message_port port, int32_t id, const void *data, size_t size, int64_t timeout_ns);
treadle_status treadle_message_port_request(treadle_message_port port, int32_t id, const void *data, size_t size, int64_t send_timeout_ns, int64_t reply_timeout_ns, const char *mode, treadle_message_port_reply_fn reply, void *info);
treadle_status treadle_message_port_reply(uint64_t call, const void *data, size_t size);
typedef struct treadle_port_value { void *bytes; size_t size; } treadle_port_value;
treadle_status treadle_port_call(treadle_message_port port, const char *name, const char *signature, const treadle_port_value *arguments, size_t argument_count, void *result, size_t result_size, int64_t timeout_ns, const char *mode);
typedef void (*treadle_timer_fn)(treadle_timer timer, void *info);
typedef struct treadle_timer_context { size_t struct_size; void *info; treadle_retain_fn retain; treadle_release_fn release; treadle_describe_fn describe; treadle_timer_fn fire; treadle_routine fire_routine; int64_t fire_at; int64_t interval_ns; int64_t tolerance_ns; const char *label; treadle_host host; uint64_t token; uint32_t flags; uint32_t reserved; treadle_scope scope; } treadle_timer_context;
treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer);
treadle_status treadle_timer_start(int64_t delay_ns, int64_t interval_ns, treadle_timer_fn fire, void *info, treadle_timer *out_timer);
treadle_status treadle_timer_fire(treadle_timer timer);
treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time);
treadle_status treadle_timer_set_time(treadle_timer timer, int64_t time_ns, uint32_t flags);
treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns);
treadle_status treadle_timer_set_tolerance(treadle_timer timer, int64_t tolerance_ns);
treadle_status treadle_timer_get_tolerance(treadle_timer timer, int64_t *out_tolerance_ns);
typedef void (*treadle_observer_fn)(treadle_observer observer, uint32_t activity, void *info);
typedef struct treadle_observer_context { size_t struct_size; void *info; treadle_retain_fn retain; treadle_release_fn release; treadle_describe_fn describe; treadle_observer_fn notify; treadle_routine notify_routine; uint32_t activities; uint32_t once; int64_t order; const char *label; treadle_host host; uint64_t token; treadle_scope scope; } treadle_observer_context;
treadle_status treadle_observer_create(const treadle_observer_context *context, treadle_observer *out_observer);
treadle_status treadle_observer_start(uint32_t activities, treadle_observer_fn notify, void *info, treadle_observer *out_observer);
treadle_status treadle_observer_get_activities(treadle_observer observer, uint32_t *out_activities);
bool treadle_observer_repeats(treadle_observer observer);
typedef void (*treadle_post_fn)(void *info);
typedef struct treadle_post { size_t struct_size; const char *const *modes; size_t mode_count; treadle_post_fn fn; treadle_routine routine; void *info; treadle_post_fn destroy; treadle_host host; uint64_t token; uint32_t flags; uint32_t reserved; const char *label; } treadle_post;
treadle_status treadle_loop_post(treadle_loop loop, treadle_post_fn fn, void *info);
treadle_status treadle_loop_post_in(treadle_loop loop, const treadle_post *post);
treadle_status treadle_signature_parse(const char *encoding, treadle_signature *out_signature);
treadle_status treadle_signature_get_argument_count(treadle_signature signature, size_t *out_count);
treadle_status treadle_signature_get_layout(treadle_signature signature, int32_t index, size_t *out_size, size_t *out_alignment);
treadle_status treadle_signature_describe(treadle_signature signature, char *buffer, size_t capacity, size_t *out_length);
typedef struct treadle_argument { uint32_t kind; uint32_t reserved; const void *value; size_t size; } treadle_argument;
typedef struct treadle_routine_config { size_t struct_size; void (*code)(void); const char *signature; const treadle_argument *arguments; size_t argument_count; void *info; void (*destroy)(void *info); } treadle_routine_config;
treadle_status treadle_routine_create(const treadle_routine_config *config, treadle_routine *out_routine);
treadle_status treadle_routine_call(treadle_routine routine, const treadle_event *event, void *result, size_t result_size);
typedef void *(*treadle_thread_fn)(void *info);
typedef struct treadle_thread_config { size_t struct_size; treadle_thread_fn fn; void *info; treadle_release_fn destroy; treadle_host host; uint64_t token; uint32_t flags; uint32_t reserved; treadle_scope scope; } treadle_thread_config;
treadle_status treadle_thread_create(const treadle_thread_config *config, treadle_thread *out_thread);
treadle_status treadle_thread_start(treadle_thread thread);
treadle_status treadle_thread_start_and_wait(treadle_thread thread, int64_t timeout_ns);
treadle_status treadle_thread_declare_ready(void);
treadle_thread treadle_thread_current(void);
treadle_thread treadle_thread_main(void);
bool treadle_thread_is_main(treadle_thread thread);
bool treadle_is_multithreaded(void);
treadle_status treadle_thread_get_id(treadle_thread thread, int32_t *out_thread_id);
treadle_status treadle_thread_copy_loop(treadle_thread thread, treadle_loop *out_loop);
treadle_status treadle_thread_get_state(treadle_thread thread, uint32_t *out_state);
treadle_status treadle_thread_cancel(treadle_thread thread);
bool treadle_thread_is_cancelled(treadle_thread thread);
treadle_status treadle_thread_stop(treadle_thread thread);
treadle_status treadle_thread_request_stop(treadle_thread thread, uint32_t flags);
treadle_status treadle_thread_join(treadle_thread thread, int64_t timeout_ns, void **out_result);
treadle_status treadle_thread_detach(treadle_thread thread);
bool treadle_thread_is_detached(treadle_thread thread);
treadle_status treadle_thread_exit(void *result);
treadle_status treadle_thread_set_stack_size(treadle_thread thread, size_t size);
treadle_status treadle_thread_get_stack_size(treadle_thread thread, size_t *out_size);
treadle_status treadle_thread_set_name(treadle_thread thread, const char *name);
treadle_status treadle_thread_get_name(treadle_thread thread, char *buffer, size_t capacity, size_t *out_length);
treadle_status treadle_thread_set_priority(treadle_thread thread, double priority);
treadle_status treadle_thread_get_priority(treadle_thread thread, double *out_priority, int32_t *out_applied);
treadle_status treadle_thread_set_policy(treadle_thread thread, uint32_t policy);
treadle_status treadle_thread_get_policy(treadle_thread thread, uint32_t *out_policy);
treadle_status treadle_thread_set_value(treadle_thread thread, const char *key, void *value, treadle_release_fn release);
treadle_status treadle_thread_get_value(treadle_thread thread, const char *key, void **out_value);
treadle_status treadle_thread_use_value(treadle_thread thread, const char *key, void (*use)(void *value, void *info), void *info);
treadle_status treadle_thread_remove_value(treadle_thread thread, const char *key);
treadle_status treadle_thread_sleep_until(int64_t time);
typedef void (*treadle_request_fn)(void *target, void *argument);
typedef struct treadle_request { size_t struct_size; treadle_request_fn fn; treadle_routine routine; void *target; void *argument; treadle_release_fn release_target; treadle_release_fn release_argument; treadle_equal_fn equal; treadle_host host; uint64_t token; const char *const *modes; size_t mode_count; int64_t delay_ns; uint32_t flags; uint32_t reserved; const char *label; } treadle_request;
treadle_status treadle_perform(treadle_object on, const treadle_request *request);
treadle_status treadle_perform_cancel(const treadle_request *like);
typedef struct treadle_invocation_config { size_t struct_size; void (*code)(void); const char *signature; void *info; void (*destroy)(void *info); treadle_scope scope; } treadle_invocation_config;
treadle_status treadle_invocation_create(const treadle_invocation_config *config, treadle_invocation *out_invocation);
treadle_status treadle_invocation_set_argument(treadle_invocation invocation, size_t index, const void *value, size_t size);
treadle_status treadle_invocation_set_buffer(treadle_invocation invocation, size_t index, void *bytes, size_t size);
treadle_status treadle_invocation_get_argument(treadle_invocation invocation, size_t index, void *value, size_t size);
treadle_status treadle_invocation_get_buffer(treadle_invocation invocation, size_t index, void *bytes, size_t size);
typedef struct treadle_invocation_options { size_t struct_size; treadle_loop loop; treadle_thread thread; const char *const *modes; size_t mode_count; uint32_t wait; uint32_t reserved; int64_t timeout_ns; const treadle_request *completion; treadle_loop completion_loop; } treadle_invocation_options;
treadle_status treadle_invocation_perform(treadle_invocation invocation, const treadle_invocation_options *options);
treadle_status treadle_invocation_cancel(treadle_invocation invocation);
treadle_status treadle_invocation_get_state(treadle_invocation invocation, uint32_t *out_state);
treadle_status treadle_invocation_get_result(treadle_invocation invocation, void *result, size_t size);
treadle_status treadle_invocation_get_errno(treadle_invocation invocation, int32_t *out_errno);
typedef struct treadle_call { size_t struct_size; treadle_closure closure; treadle_signature signature; treadle_loop loop; uint32_t argument_count; uint32_t reserved; const void *const *arguments; void *result; } treadle_call;
typedef treadle_status (*treadle_closure_fn)(treadle_call *call, void *info);
typedef struct treadle_closure_config { size_t struct_size; const char *signature; treadle_closure_fn handler; void *info; void (*destroy)(void *info); uint32_t delivery; uint32_t flags; treadle_loop loop; treadle_thread thread; const char *const *modes; size_t mode_count; int64_t timeout_ns; uint32_t queue_limit; uint32_t on_full; const void *default_result; size_t default_result_size; treadle_host host; uint64_t token; treadle_scope scope; } treadle_closure_config;
treadle_status treadle_closure_create(const treadle_closure_config *config, treadle_closure *out_closure);
treadle_status treadle_closure_get_code(treadle_closure closure, void (**out_code)(void));
typedef struct treadle_closure_info { size_t struct_size; uint32_t state; uint32_t waiting; uint64_t handled; uint64_t failed; uint64_t dropped; uint64_t timed_out; uint64_t after_invalidated; } treadle_closure_info;
treadle_status treadle_closure_get_info(treadle_closure closure, treadle_closure_info *out_info);
treadle_status treadle_call_get_argument(const treadle_call *call, size_t index, void *value, size_t size);
treadle_status treadle_call_set_result(treadle_call *call, const void *value, size_t size);
typedef struct treadle_closure_pool_info { size_t struct_size; uint32_t capacity; uint32_t used; uint32_t drained; uint32_t allocated; uint64_t after_invalidated; char libffi[32]; } treadle_closure_pool_info;
treadle_status treadle_closure_pool_get_info(treadle_closure_pool_info *out_info);
treadle_status treadle_lock_create(uint32_t flags, treadle_lock *out_lock);
treadle_status treadle_lock_lock(treadle_lock lock, int64_t timeout_ns);
treadle_status treadle_lock_unlock(treadle_lock lock);
treadle_status treadle_condition_create(treadle_condition *out_condition);
treadle_status treadle_condition_wait(treadle_condition condition, treadle_lock lock, int64_t timeout_ns);
treadle_status treadle_condition_signal(treadle_condition condition);
treadle_status treadle_condition_broadcast(treadle_condition condition);
treadle_status treadle_pool_push(uint64_t *out_token);
treadle_status treadle_pool_pop(uint64_t token);
treadle_status treadle_pool_add(void *object, treadle_release_fn release);
typedef void (*treadle_notification_fn)(uint32_t name, void *object, void *info);
typedef struct treadle_notification_config { size_t struct_size; uint32_t name; uint32_t reserved; void *object; treadle_notification_fn fn; void *info; treadle_release_fn destroy; treadle_host host; uint64_t token; treadle_scope scope; } treadle_notification_config;
treadle_status treadle_notification_add(const treadle_notification_config *config, uint64_t *out_token);
treadle_status treadle_notification_remove(uint64_t token);
treadle_status treadle_shutdown(int64_t timeout_ns);
typedef bool (*treadle_last_resort_fn)(treadle_thread thread, const char *kind, const char *message, void *info);
treadle_status treadle_set_last_resort(treadle_last_resort_fn handler, void *info, treadle_release_fn destroy);
bool treadle_has_last_resort(void);
treadle_status treadle_report_error(const char *kind, const char *message);
typedef void (*treadle_log_fn)(const char *message, void *info);
treadle_status treadle_set_log(treadle_log_fn log, void *info, treadle_release_fn destroy);
treadle_status treadle_trace_start(const char *path);
treadle_status treadle_trace_stop(void);
treadle_status treadle_trace_mark(const char *label, int64_t value);
typedef struct treadle_scope_config { size_t struct_size; const char *label; void *info; treadle_release_fn destroy; } treadle_scope_config;
treadle_status treadle_scope_create(const treadle_scope_config *config, treadle_scope *out_scope);
treadle_status treadle_scope_enter(treadle_scope scope);
treadle_status treadle_scope_leave(treadle_scope scope);
typedef struct treadle_scope_holder { uint32_t kind; int32_t thread_id; treadle_object object; int64_t held_ns; char label[64]; char thread_name[32]; char callback[64]; } treadle_scope_holder;
treadle_status treadle_scope_copy_holders(treadle_scope scope, treadle_scope_holder *buffer, size_t holder_size, size_t capacity, size_t *out_count);
typedef uint64_t (*treadle_dispatch_fn)(uint64_t ticket, const treadle_event *event);
typedef struct treadle_host_config { size_t struct_size; treadle_dispatch_fn dispatch; void (*thread_enter)(void *user); void (*thread_exit)(void *user); void *user; } treadle_host_config;
treadle_status treadle_host_register(const treadle_host_config *config, treadle_host *out_host);
treadle_status treadle_host_quiesce(treadle_host host, int64_t timeout_ns);
treadle_status treadle_host_get_dropped(treadle_host host, uint64_t *out_count);
treadle_status treadle_host_take_retired(treadle_host host, uint64_t *tokens, size_t capacity, size_t *out_count);
const uint64_t *treadle_host_get_retired_count(treadle_host host);
treadle_status treadle_host_post(treadle_host host, uint64_t token, treadle_loop loop);
treadle_status treadle_host_run(treadle_host host, treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags);
typedef struct treadle_pull { size_t struct_size; treadle_host host; uint64_t run; const char *mode; int64_t timeout_ns; uint32_t flags; uint32_t failed; treadle_event *events; size_t event_size; size_t capacity; size_t count; } treadle_pull;
treadle_status treadle_loop_next(treadle_loop loop, treadle_pull *pull);
treadle_status treadle_host_wait(treadle_loop loop, uint32_t *word, int64_t timeout_ns);
treadle_status treadle_host_end_wait(uint32_t *word);
treadle_status treadle_host_pool_add(treadle_host host, uint64_t token);
typedef treadle_scope treadle_plugin;
typedef struct treadle_plugin_host treadle_plugin_host;
typedef struct treadle_plugin_setting { size_t struct_size; const char *key; const char *default_value; const char *description; uint32_t type; uint32_t reserved; int64_t minimum; int64_t maximum; } treadle_plugin_setting;
typedef void (*treadle_plugin_write_fn)(void *sink, const void *bytes, size_t size);
typedef struct treadle_plugin_description { size_t struct_size; uint32_t abi_min, abi_max; uint32_t behaviour; uint32_t reserved; const treadle_plugin_host **self; const char *id; const char *name; const char *version; uint32_t flags; uint32_t setting_count; const char *const *required; const char *const *optional; const char *const *provided; const treadle_plugin_setting *settings; treadle_status (*init)(const treadle_plugin_host *host, void **out_instance); treadle_status (*start)(void *instance); treadle_status (*stop)(void *instance, int64_t timeout_ns); void (*deinit)(void *instance); const void *(*get_extension)(void *instance, const char *id); treadle_status (*set)(void *instance, const char *key, const char *value); treadle_status (*save)(void *instance, treadle_plugin_write_fn write, void *sink); treadle_status (*restore)(void *instance, const void *bytes, size_t size); } treadle_plugin_description;
typedef struct treadle_extension_argument { uint32_t pass; uint32_t other; size_t size; const void *callback; } treadle_extension_argument;
typedef struct treadle_extension_function { const char *name; const char *signature; const treadle_extension_argument *arguments; uint32_t argument_count; uint32_t result; uint32_t flags; uint32_t reserved; } treadle_extension_function;
typedef struct treadle_extension_descriptor { size_t struct_size; const char *name; const treadle_extension_function *functions; uint32_t function_count; uint32_t flags; } treadle_extension_descriptor;
typedef const treadle_plugin_description *(*treadle_plugin_query_fn)(uint32_t host_abi);
typedef const void *(*treadle_plugin_extension_fn)(void *info, const char *id);
typedef void (*treadle_plugin_log_fn)(void *info, treadle_plugin plugin, uint32_t level, const char *text);
typedef struct treadle_plugin_limits { size_t struct_size; uint64_t address_space; uint64_t processor_seconds; uint64_t descriptors; const char *cgroup; } treadle_plugin_limits;
typedef struct treadle_plugin_rights { size_t struct_size; uint32_t flags; uint32_t reserved; const char *const *readable; const char *const *writable; const char *const *calls; } treadle_plugin_rights;
typedef treadle_status (*treadle_plugin_filter_fn)(const treadle_plugin_rights *rights, char *reason, size_t capacity);
typedef struct treadle_plugin_ending { size_t struct_size; uint32_t by_signal; int32_t number; const char *reason; } treadle_plugin_ending;
typedef void (*treadle_plugin_ended_fn)(void *info, treadle_plugin plugin, const treadle_plugin_ending *ending);
typedef struct treadle_plugin_restart { size_t struct_size; uint32_t most; uint32_t reserved; int64_t within_ns; int64_t first_pause_ns; int64_t longest_pause_ns; int64_t timeout_ns; } treadle_plugin_restart;
typedef struct treadle_plugin_config { size_t struct_size; const char *path; treadle_plugin_query_fn query; const char *host_name; const char *host_version; const char *const *settings; treadle_plugin_extension_fn get_extension; treadle_plugin_log_fn log; void *info; uint32_t flags; uint32_t reserved; const treadle_extension_descriptor *const *extensions; treadle_loop loop; const treadle_plugin_limits *limits; const treadle_plugin_rights *rights; treadle_plugin_ended_fn ended; const treadle_plugin_restart *restart; int64_t timeout_ns; const char *id; } treadle_plugin_config;
treadle_status treadle_plugin_load(const treadle_plugin_config *config, treadle_plugin *out_plugin);
treadle_status treadle_plugin_serve(int32_t serving_fd, int32_t asking_fd, treadle_plugin_filter_fn filter);
treadle_status treadle_plugin_start(treadle_plugin plugin);
treadle_status treadle_plugin_reload(treadle_plugin plugin, const treadle_plugin_config *config, int64_t timeout_ns, treadle_plugin *out_plugin);
typedef struct treadle_plugin_info { size_t struct_size; uint32_t state; uint32_t abi; const treadle_plugin_description *description; const char *path; } treadle_plugin_info;
treadle_status treadle_plugin_get_info(treadle_plugin plugin, treadle_plugin_info *info);
treadle_status treadle_plugin_get_extension(treadle_plugin plugin, const char *id, const void **out_extension);
treadle_status treadle_plugin_set(treadle_plugin plugin, const char *key, const char *value);
treadle_status treadle_plugin_copy_setting(treadle_plugin plugin, const char *key, char *buffer, size_t capacity, size_t *out_length);
treadle_status treadle_plugin_copy_all(treadle_plugin *buffer, size_t capacity, size_t *out_count);
typedef struct treadle_plugin_table treadle_plugin_table;
]]
return constants
