/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The interface as C, for abidiff. Written by scripts/check-abi --release. */
#ifndef TREADLE_H
#define TREADLE_H
#ifndef TREADLE_VERSION_H
#define TREADLE_VERSION_H
#ifndef TREADLE_TYPES_H
#define TREADLE_TYPES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#define TREADLE_BEGIN_DECLS extern "C" {
#define TREADLE_END_DECLS }
#else
#define TREADLE_BEGIN_DECLS
#define TREADLE_END_DECLS
#endif
#if defined(__GNUC__)
#define TREADLE_API __attribute__((visibility("default")))
#else
#define TREADLE_API
#endif
typedef struct treadle_loop_s *treadle_loop;
typedef struct treadle_source_s *treadle_source;
typedef struct treadle_descriptor_s *treadle_descriptor;
typedef struct treadle_timer_s *treadle_timer;
typedef struct treadle_observer_s *treadle_observer;
typedef struct treadle_signature_s *treadle_signature;
typedef struct treadle_routine_s *treadle_routine;
typedef struct treadle_host_s *treadle_host;
typedef int32_t treadle_status;
enum {
    TREADLE_OK = 0,

    TREADLE_RUN_FINISHED = 1,
    TREADLE_RUN_STOPPED = 2,
    TREADLE_RUN_TIMED_OUT = 3,
    TREADLE_RUN_HANDLED_SOURCE = 4,
    TREADLE_RUN_INTERRUPTED = 5,

    TREADLE_IGNORED = 16,
    TREADLE_E_ARG = -1,
    TREADLE_E_STALE = -2,
    TREADLE_E_KIND = -3,
    TREADLE_E_NOMEM = -4,
    TREADLE_E_STATE = -5,
    TREADLE_E_EXISTS = -6,
    TREADLE_E_NOT_FOUND = -7,
    TREADLE_E_WRONG_THREAD = -8,
    TREADLE_E_DEADLOCK = -9,
    TREADLE_E_TIMEOUT = -10,
    TREADLE_E_FORKED = -11,
    TREADLE_E_TOO_NEW = -12,
    TREADLE_E_SYSTEM = -13,
    TREADLE_E_CALLBACK = -14,
    TREADLE_E_CLOSED = -15,
    TREADLE_E_RANGE = -16,
    TREADLE_E_SIGNATURE = -17,
    TREADLE_E_NOT_SUPPORTED = -18
};
#define TREADLE_FOREVER INT64_MAX
#define TREADLE_DEFAULT_MODE "kCFRunLoopDefaultMode"
#define TREADLE_COMMON_MODES "kCFRunLoopCommonModes"
#ifdef __cplusplus
#define TREADLE_INIT(type) (treadle_init_<type>())
template <class T> inline T treadle_init_() {
    T value = T();
    value.struct_size = sizeof(T);
    return value;
}
#else
#define TREADLE_INIT(type) ((type){.struct_size = sizeof(type)})
#endif
typedef void *(*treadle_retain_fn)(void *info);
typedef void (*treadle_release_fn)(void *info);
typedef void (*treadle_describe_fn)(void *info, char *buffer, size_t capacity);
typedef int32_t (*treadle_equal_fn)(void *info1, void *info2);
typedef uint64_t (*treadle_hash_fn)(void *info);
#endif
#define TREADLE_VERSION_MAJOR 1
#define TREADLE_VERSION_MINOR 0
#define TREADLE_VERSION_PATCH 0
#define TREADLE_VERSION ((TREADLE_VERSION_MAJOR << 16) | (TREADLE_VERSION_MINOR << 8) | TREADLE_VERSION_PATCH)
TREADLE_BEGIN_DECLS
TREADLE_API uint32_t treadle_version(void);
TREADLE_API const char *treadle_version_string(void);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_ERROR_H
#define TREADLE_ERROR_H
TREADLE_BEGIN_DECLS
typedef struct treadle_error_info {
    size_t struct_size;
    treadle_status code;
    int32_t os_errno;
    uint64_t sequence;
    char function[64];
    char message[184];
} treadle_error_info;
TREADLE_API treadle_status treadle_last_error(treadle_error_info *info);
TREADLE_API const char *treadle_status_name(treadle_status status);
TREADLE_API const char *treadle_status_message(treadle_status status);
TREADLE_API treadle_status treadle_after_fork_child(void);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_TIME_H
#define TREADLE_TIME_H
TREADLE_BEGIN_DECLS
TREADLE_API int64_t treadle_time_now(void);
TREADLE_API treadle_status treadle_time_from_seconds(double seconds, int64_t *out_ns);
TREADLE_API treadle_status treadle_time_from_absolute(double date, int64_t *out_time);
TREADLE_API double treadle_time_to_absolute(int64_t time);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_EVENT_H
#define TREADLE_EVENT_H
enum {
    TREADLE_EVENT_PERFORM = 1,
    TREADLE_EVENT_SCHEDULE = 2,
    TREADLE_EVENT_CANCEL = 3,
    TREADLE_EVENT_TIMER = 4,
    TREADLE_EVENT_OBSERVER = 5,
    TREADLE_EVENT_DESCRIPTOR = 6,
    TREADLE_EVENT_BLOCK = 7
};
typedef struct treadle_event {
    size_t struct_size;
    uint32_t kind;
    uint32_t value;
    uint64_t token;
    treadle_loop loop;
    void *subject;
    const char *mode;
    int64_t late_ns;
    int32_t descriptor;
    uint32_t reserved;
} treadle_event;
#endif
#ifndef TREADLE_LOOP_H
#define TREADLE_LOOP_H
TREADLE_BEGIN_DECLS
enum {
    TREADLE_RUN_RETURN_AFTER_SOURCE = 1,
    TREADLE_RUN_RETURN_ON_INTERRUPT = 2
};
enum {
    TREADLE_STOP_ALL_LEVELS = 1
};
TREADLE_API treadle_loop treadle_loop_current(void);
TREADLE_API treadle_loop treadle_loop_main(void);
TREADLE_API treadle_status treadle_loop_copy_of_thread(int32_t thread_id, treadle_loop *out_loop);
TREADLE_API treadle_status treadle_loop_retain(treadle_loop loop);
TREADLE_API treadle_status treadle_loop_release(treadle_loop loop);
TREADLE_API treadle_status treadle_loop_run(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags);
TREADLE_API treadle_status treadle_loop_run_default(treadle_loop loop);
TREADLE_API treadle_status treadle_loop_set_interrupt_descriptor(treadle_loop loop, int32_t fd);
TREADLE_API treadle_status treadle_loop_stop(treadle_loop loop);
TREADLE_API treadle_status treadle_loop_request_stop(treadle_loop loop, uint32_t flags);
TREADLE_API treadle_status treadle_loop_wake(treadle_loop loop);
TREADLE_API bool treadle_loop_is_waiting(treadle_loop loop);
TREADLE_API bool treadle_loop_is_current(treadle_loop loop);
TREADLE_API treadle_status treadle_loop_get_thread_id(treadle_loop loop, int32_t *out_thread_id);
TREADLE_API treadle_status treadle_loop_copy_current_mode(treadle_loop loop, char *buffer, size_t capacity,
                                                          size_t *out_length);
TREADLE_API treadle_status treadle_loop_copy_modes(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);
TREADLE_API treadle_status treadle_loop_add_common_mode(treadle_loop loop, const char *mode);
TREADLE_API bool treadle_loop_is_common_mode(treadle_loop loop, const char *mode);
TREADLE_API treadle_status treadle_loop_get_next_fire(treadle_loop loop, const char *mode, int64_t *out_time);
TREADLE_API treadle_status treadle_loop_describe(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_SOURCE_H
#define TREADLE_SOURCE_H
TREADLE_BEGIN_DECLS
typedef void (*treadle_perform_fn)(treadle_source source, void *info);
typedef void (*treadle_schedule_fn)(treadle_source source, treadle_loop loop, const char *mode, void *info);
typedef struct treadle_source_context {
    size_t struct_size;
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_equal_fn equal;
    treadle_hash_fn hash;
    treadle_schedule_fn schedule;
    treadle_schedule_fn cancel;
    treadle_perform_fn perform;

    treadle_routine schedule_routine;
    treadle_routine cancel_routine;
    treadle_routine perform_routine;
    int64_t order;
} treadle_source_context;
TREADLE_API treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source);
TREADLE_API treadle_status treadle_source_signal(treadle_source source);
TREADLE_API treadle_status treadle_source_signal_and_wake(treadle_source source);
TREADLE_API bool treadle_source_is_signalled(treadle_source source);
TREADLE_API treadle_status treadle_source_get_order(treadle_source source, int64_t *out_order);
TREADLE_API treadle_status treadle_source_retain(treadle_source source);
TREADLE_API treadle_status treadle_source_release(treadle_source source);
TREADLE_API treadle_status treadle_source_invalidate(treadle_source source);
TREADLE_API treadle_status treadle_source_close(treadle_source source, int64_t timeout_ns);
TREADLE_API bool treadle_source_is_valid(treadle_source source);
TREADLE_API treadle_status treadle_source_get_info(treadle_source source, void **out_info);
TREADLE_API treadle_status treadle_source_describe(treadle_source source, char *buffer, size_t capacity, size_t *out_length);
TREADLE_API treadle_status treadle_loop_add_source(treadle_loop loop, treadle_source source, const char *mode);
TREADLE_API treadle_status treadle_loop_remove_source(treadle_loop loop, treadle_source source, const char *mode);
TREADLE_API bool treadle_loop_contains_source(treadle_loop loop, treadle_source source, const char *mode);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_DESCRIPTOR_H
#define TREADLE_DESCRIPTOR_H
TREADLE_BEGIN_DECLS
enum {
    TREADLE_READABLE = 1,
    TREADLE_WRITABLE = 2,
    TREADLE_HANGUP = 4,
    TREADLE_FAILED = 8
};
enum {

    TREADLE_DESCRIPTOR_ACKNOWLEDGED = 1
};
typedef void (*treadle_ready_fn)(treadle_descriptor descriptor, uint32_t events, void *info);
typedef int32_t (*treadle_get_fd_fn)(void *info);
typedef struct treadle_descriptor_context {
    size_t struct_size;
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_equal_fn equal;
    treadle_hash_fn hash;
    treadle_get_fd_fn get_fd;
    treadle_ready_fn ready;
    treadle_routine ready_routine;
    int32_t fd;
    uint32_t events;
    uint32_t flags;
    uint32_t reserved;
} treadle_descriptor_context;
TREADLE_API treadle_status treadle_descriptor_create(const treadle_descriptor_context *context,
                                                     treadle_descriptor *out_descriptor);
TREADLE_API treadle_status treadle_descriptor_set_events(treadle_descriptor descriptor, uint32_t events);
TREADLE_API treadle_status treadle_descriptor_get_events(treadle_descriptor descriptor, uint32_t *out_events);
TREADLE_API treadle_status treadle_descriptor_get_fd(treadle_descriptor descriptor, int32_t *out_fd);
TREADLE_API treadle_status treadle_descriptor_retain(treadle_descriptor descriptor);
TREADLE_API treadle_status treadle_descriptor_release(treadle_descriptor descriptor);
TREADLE_API treadle_status treadle_descriptor_invalidate(treadle_descriptor descriptor);
TREADLE_API treadle_status treadle_descriptor_close(treadle_descriptor descriptor, int64_t timeout_ns);
TREADLE_API bool treadle_descriptor_is_valid(treadle_descriptor descriptor);
TREADLE_API treadle_status treadle_descriptor_get_info(treadle_descriptor descriptor, void **out_info);
TREADLE_API treadle_status treadle_descriptor_describe(treadle_descriptor descriptor, char *buffer, size_t capacity, size_t *out_length);
TREADLE_API treadle_status treadle_loop_add_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode);
TREADLE_API treadle_status treadle_loop_remove_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode);
TREADLE_API bool treadle_loop_contains_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_TIMER_H
#define TREADLE_TIMER_H
TREADLE_BEGIN_DECLS
typedef void (*treadle_timer_fn)(treadle_timer timer, void *info);
typedef struct treadle_timer_context {
    size_t struct_size;
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_timer_fn fire;
    treadle_routine fire_routine;
    int64_t fire_at;
    int64_t interval_ns;
    int64_t tolerance_ns;
    int64_t order;
} treadle_timer_context;
TREADLE_API treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer);
TREADLE_API treadle_status treadle_timer_create_absolute(const treadle_timer_context *context, double date,
                                                         double interval, treadle_timer *out_timer);
TREADLE_API treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time);
TREADLE_API treadle_status treadle_timer_set_next_fire(treadle_timer timer, int64_t time);
TREADLE_API treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns);
TREADLE_API bool treadle_timer_repeats(treadle_timer timer);
TREADLE_API treadle_status treadle_timer_set_tolerance(treadle_timer timer, int64_t tolerance_ns);
TREADLE_API treadle_status treadle_timer_get_tolerance(treadle_timer timer, int64_t *out_tolerance_ns);
TREADLE_API treadle_status treadle_timer_get_order(treadle_timer timer, int64_t *out_order);
TREADLE_API treadle_status treadle_timer_retain(treadle_timer timer);
TREADLE_API treadle_status treadle_timer_release(treadle_timer timer);
TREADLE_API treadle_status treadle_timer_invalidate(treadle_timer timer);
TREADLE_API treadle_status treadle_timer_close(treadle_timer timer, int64_t timeout_ns);
TREADLE_API bool treadle_timer_is_valid(treadle_timer timer);
TREADLE_API treadle_status treadle_timer_get_info(treadle_timer timer, void **out_info);
TREADLE_API treadle_status treadle_timer_describe(treadle_timer timer, char *buffer, size_t capacity, size_t *out_length);
TREADLE_API treadle_status treadle_loop_add_timer(treadle_loop loop, treadle_timer timer, const char *mode);
TREADLE_API treadle_status treadle_loop_remove_timer(treadle_loop loop, treadle_timer timer, const char *mode);
TREADLE_API bool treadle_loop_contains_timer(treadle_loop loop, treadle_timer timer, const char *mode);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_OBSERVER_H
#define TREADLE_OBSERVER_H
TREADLE_BEGIN_DECLS
enum {
    TREADLE_ENTRY = 0x1,
    TREADLE_BEFORE_TIMERS = 0x2,
    TREADLE_BEFORE_SOURCES = 0x4,
    TREADLE_BEFORE_WAITING = 0x20,
    TREADLE_AFTER_WAITING = 0x40,
    TREADLE_EXIT = 0x80,
    TREADLE_ALL_ACTIVITIES = 0x0FFFFFFF
};
typedef void (*treadle_observer_fn)(treadle_observer observer, uint32_t activity, void *info);
typedef struct treadle_observer_context {
    size_t struct_size;
    void *info;
    treadle_retain_fn retain;
    treadle_release_fn release;
    treadle_describe_fn describe;
    treadle_observer_fn notify;
    treadle_routine notify_routine;
    uint32_t activities;
    uint32_t once;
    int64_t order;
} treadle_observer_context;
TREADLE_API treadle_status treadle_observer_create(const treadle_observer_context *context, treadle_observer *out_observer);
TREADLE_API treadle_status treadle_observer_get_activities(treadle_observer observer, uint32_t *out_activities);
TREADLE_API bool treadle_observer_repeats(treadle_observer observer);
TREADLE_API treadle_status treadle_observer_get_order(treadle_observer observer, int64_t *out_order);
TREADLE_API treadle_status treadle_observer_retain(treadle_observer observer);
TREADLE_API treadle_status treadle_observer_release(treadle_observer observer);
TREADLE_API treadle_status treadle_observer_invalidate(treadle_observer observer);
TREADLE_API treadle_status treadle_observer_close(treadle_observer observer, int64_t timeout_ns);
TREADLE_API bool treadle_observer_is_valid(treadle_observer observer);
TREADLE_API treadle_status treadle_observer_get_info(treadle_observer observer, void **out_info);
TREADLE_API treadle_status treadle_observer_describe(treadle_observer observer, char *buffer, size_t capacity, size_t *out_length);
TREADLE_API treadle_status treadle_loop_add_observer(treadle_loop loop, treadle_observer observer, const char *mode);
TREADLE_API treadle_status treadle_loop_remove_observer(treadle_loop loop, treadle_observer observer, const char *mode);
TREADLE_API bool treadle_loop_contains_observer(treadle_loop loop, treadle_observer observer, const char *mode);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_BLOCK_H
#define TREADLE_BLOCK_H
TREADLE_BEGIN_DECLS
typedef void (*treadle_block_fn)(void *info);
typedef struct treadle_block {
    size_t struct_size;
    const char *const *modes;
    size_t mode_count;
    treadle_block_fn fn;
    treadle_routine routine;
    void *info;
    treadle_block_fn destroy;
} treadle_block;
TREADLE_API treadle_status treadle_loop_perform_block(treadle_loop loop, const treadle_block *block);
TREADLE_API treadle_status treadle_loop_post(treadle_loop loop, treadle_block_fn fn, void *info);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_ROUTINE_H
#define TREADLE_ROUTINE_H
TREADLE_BEGIN_DECLS
TREADLE_API treadle_status treadle_signature_parse(const char *encoding, treadle_signature *out_signature);
TREADLE_API treadle_status treadle_signature_get_argument_count(treadle_signature signature, size_t *out_count);
TREADLE_API treadle_status treadle_signature_get_layout(treadle_signature signature, int32_t index, size_t *out_size,
                                                        size_t *out_alignment);
TREADLE_API treadle_status treadle_signature_describe(treadle_signature signature, char *buffer, size_t capacity,
                                                      size_t *out_length);
enum {
    TREADLE_ARGUMENT_BOUND = 0,
    TREADLE_ARGUMENT_LOOP = 1,
    TREADLE_ARGUMENT_MODE = 2,
    TREADLE_ARGUMENT_SUBJECT = 3,
    TREADLE_ARGUMENT_VALUE = 4,
    TREADLE_ARGUMENT_DESCRIPTOR = 5,
    TREADLE_ARGUMENT_LATE = 6,
    TREADLE_ARGUMENT_EVENT = 7
};
typedef struct treadle_argument {
    uint32_t kind;
    uint32_t reserved;
    const void *value;
    size_t size;
} treadle_argument;
typedef struct treadle_routine_config {
    size_t struct_size;
    void (*code)(void);
    const char *signature;
    const treadle_argument *arguments;
    size_t argument_count;
    void *info;
    void (*destroy)(void *info);
} treadle_routine_config;
TREADLE_API treadle_status treadle_routine_create(const treadle_routine_config *config, treadle_routine *out_routine);
TREADLE_API treadle_status treadle_routine_retain(treadle_routine routine);
TREADLE_API treadle_status treadle_routine_release(treadle_routine routine);
TREADLE_API treadle_status treadle_routine_call(treadle_routine routine, const treadle_event *event, void *result,
                                                size_t result_size);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_HOST_H
#define TREADLE_HOST_H
TREADLE_BEGIN_DECLS
typedef uint64_t (*treadle_dispatch_fn)(uint64_t ticket, const treadle_event *event);
typedef struct treadle_host_config {
    size_t struct_size;
    treadle_dispatch_fn dispatch;

    void (*thread_enter)(void *user);
    void (*thread_exit)(void *user);
    void *user;
} treadle_host_config;
TREADLE_API treadle_status treadle_host_register(const treadle_host_config *config, treadle_host *out_host);
TREADLE_API treadle_status treadle_host_quiesce(treadle_host host, int64_t timeout_ns);
TREADLE_API treadle_status treadle_host_get_dropped(treadle_host host, uint64_t *out_count);
TREADLE_API treadle_status treadle_host_take_retired(treadle_host host, uint64_t *tokens, size_t capacity,
                                                     size_t *out_count);
TREADLE_API const uint64_t *treadle_host_get_retired_count(treadle_host host);
enum {
    TREADLE_HOST_WANTS_SCHEDULE = 1,
    TREADLE_HOST_WANTS_CANCEL = 2
};
TREADLE_API treadle_status treadle_host_create_source(treadle_host host, uint64_t token, uint32_t wants, int64_t order,
                                                      treadle_source *out_source);
TREADLE_API treadle_status treadle_host_create_descriptor(treadle_host host, uint64_t token, int32_t fd, uint32_t events,
                                                          uint32_t flags, treadle_descriptor *out_descriptor);
TREADLE_API treadle_status treadle_host_create_timer(treadle_host host, uint64_t token, int64_t fire_at,
                                                     int64_t interval_ns, int64_t order, treadle_timer *out_timer);
TREADLE_API treadle_status treadle_host_create_observer(treadle_host host, uint64_t token, uint32_t activities,
                                                        uint32_t once, int64_t order, treadle_observer *out_observer);
TREADLE_API treadle_status treadle_host_perform_block(treadle_host host, uint64_t token, treadle_loop loop,
                                                      const char *const *modes, size_t mode_count);
TREADLE_END_DECLS
#endif
#endif
treadle_status treadle_loop_perform_block(treadle_loop loop, const treadle_block *block) { __builtin_trap(); }
treadle_status treadle_loop_post(treadle_loop loop, treadle_block_fn fn, void *info) { __builtin_trap(); }
treadle_status treadle_descriptor_create(const treadle_descriptor_context *context, treadle_descriptor *out_descriptor) { __builtin_trap(); }
treadle_status treadle_descriptor_set_events(treadle_descriptor descriptor, uint32_t events) { __builtin_trap(); }
treadle_status treadle_descriptor_get_events(treadle_descriptor descriptor, uint32_t *out_events) { __builtin_trap(); }
treadle_status treadle_descriptor_get_fd(treadle_descriptor descriptor, int32_t *out_fd) { __builtin_trap(); }
treadle_status treadle_descriptor_retain(treadle_descriptor descriptor) { __builtin_trap(); }
treadle_status treadle_descriptor_release(treadle_descriptor descriptor) { __builtin_trap(); }
treadle_status treadle_descriptor_invalidate(treadle_descriptor descriptor) { __builtin_trap(); }
treadle_status treadle_descriptor_close(treadle_descriptor descriptor, int64_t timeout_ns) { __builtin_trap(); }
bool treadle_descriptor_is_valid(treadle_descriptor descriptor) { __builtin_trap(); }
treadle_status treadle_descriptor_get_info(treadle_descriptor descriptor, void **out_info) { __builtin_trap(); }
treadle_status treadle_descriptor_describe(treadle_descriptor descriptor, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_add_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode) { __builtin_trap(); }
treadle_status treadle_loop_remove_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode) { __builtin_trap(); }
bool treadle_loop_contains_descriptor(treadle_loop loop, treadle_descriptor descriptor, const char *mode) { __builtin_trap(); }
treadle_status treadle_last_error(treadle_error_info *info) { __builtin_trap(); }
const char *treadle_status_name(treadle_status status) { __builtin_trap(); }
const char *treadle_status_message(treadle_status status) { __builtin_trap(); }
treadle_status treadle_after_fork_child(void) { __builtin_trap(); }
treadle_status treadle_host_register(const treadle_host_config *config, treadle_host *out_host) { __builtin_trap(); }
treadle_status treadle_host_quiesce(treadle_host host, int64_t timeout_ns) { __builtin_trap(); }
treadle_status treadle_host_get_dropped(treadle_host host, uint64_t *out_count) { __builtin_trap(); }
treadle_status treadle_host_take_retired(treadle_host host, uint64_t *tokens, size_t capacity, size_t *out_count) { __builtin_trap(); }
const uint64_t *treadle_host_get_retired_count(treadle_host host) { __builtin_trap(); }
treadle_status treadle_host_create_source(treadle_host host, uint64_t token, uint32_t wants, int64_t order, treadle_source *out_source) { __builtin_trap(); }
treadle_status treadle_host_create_descriptor(treadle_host host, uint64_t token, int32_t fd, uint32_t events, uint32_t flags, treadle_descriptor *out_descriptor) { __builtin_trap(); }
treadle_status treadle_host_create_timer(treadle_host host, uint64_t token, int64_t fire_at, int64_t interval_ns, int64_t order, treadle_timer *out_timer) { __builtin_trap(); }
treadle_status treadle_host_create_observer(treadle_host host, uint64_t token, uint32_t activities, uint32_t once, int64_t order, treadle_observer *out_observer) { __builtin_trap(); }
treadle_status treadle_host_perform_block(treadle_host host, uint64_t token, treadle_loop loop, const char *const *modes, size_t mode_count) { __builtin_trap(); }
treadle_loop treadle_loop_current(void) { __builtin_trap(); }
treadle_loop treadle_loop_main(void) { __builtin_trap(); }
treadle_status treadle_loop_copy_of_thread(int32_t thread_id, treadle_loop *out_loop) { __builtin_trap(); }
treadle_status treadle_loop_retain(treadle_loop loop) { __builtin_trap(); }
treadle_status treadle_loop_release(treadle_loop loop) { __builtin_trap(); }
treadle_status treadle_loop_run(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags) { __builtin_trap(); }
treadle_status treadle_loop_run_default(treadle_loop loop) { __builtin_trap(); }
treadle_status treadle_loop_set_interrupt_descriptor(treadle_loop loop, int32_t fd) { __builtin_trap(); }
treadle_status treadle_loop_stop(treadle_loop loop) { __builtin_trap(); }
treadle_status treadle_loop_request_stop(treadle_loop loop, uint32_t flags) { __builtin_trap(); }
treadle_status treadle_loop_wake(treadle_loop loop) { __builtin_trap(); }
bool treadle_loop_is_waiting(treadle_loop loop) { __builtin_trap(); }
bool treadle_loop_is_current(treadle_loop loop) { __builtin_trap(); }
treadle_status treadle_loop_get_thread_id(treadle_loop loop, int32_t *out_thread_id) { __builtin_trap(); }
treadle_status treadle_loop_copy_current_mode(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_copy_modes(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_add_common_mode(treadle_loop loop, const char *mode) { __builtin_trap(); }
bool treadle_loop_is_common_mode(treadle_loop loop, const char *mode) { __builtin_trap(); }
treadle_status treadle_loop_get_next_fire(treadle_loop loop, const char *mode, int64_t *out_time) { __builtin_trap(); }
treadle_status treadle_loop_describe(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_observer_create(const treadle_observer_context *context, treadle_observer *out_observer) { __builtin_trap(); }
treadle_status treadle_observer_get_activities(treadle_observer observer, uint32_t *out_activities) { __builtin_trap(); }
bool treadle_observer_repeats(treadle_observer observer) { __builtin_trap(); }
treadle_status treadle_observer_get_order(treadle_observer observer, int64_t *out_order) { __builtin_trap(); }
treadle_status treadle_observer_retain(treadle_observer observer) { __builtin_trap(); }
treadle_status treadle_observer_release(treadle_observer observer) { __builtin_trap(); }
treadle_status treadle_observer_invalidate(treadle_observer observer) { __builtin_trap(); }
treadle_status treadle_observer_close(treadle_observer observer, int64_t timeout_ns) { __builtin_trap(); }
bool treadle_observer_is_valid(treadle_observer observer) { __builtin_trap(); }
treadle_status treadle_observer_get_info(treadle_observer observer, void **out_info) { __builtin_trap(); }
treadle_status treadle_observer_describe(treadle_observer observer, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_add_observer(treadle_loop loop, treadle_observer observer, const char *mode) { __builtin_trap(); }
treadle_status treadle_loop_remove_observer(treadle_loop loop, treadle_observer observer, const char *mode) { __builtin_trap(); }
bool treadle_loop_contains_observer(treadle_loop loop, treadle_observer observer, const char *mode) { __builtin_trap(); }
treadle_status treadle_signature_parse(const char *encoding, treadle_signature *out_signature) { __builtin_trap(); }
treadle_status treadle_signature_get_argument_count(treadle_signature signature, size_t *out_count) { __builtin_trap(); }
treadle_status treadle_signature_get_layout(treadle_signature signature, int32_t index, size_t *out_size, size_t *out_alignment) { __builtin_trap(); }
treadle_status treadle_signature_describe(treadle_signature signature, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_routine_create(const treadle_routine_config *config, treadle_routine *out_routine) { __builtin_trap(); }
treadle_status treadle_routine_retain(treadle_routine routine) { __builtin_trap(); }
treadle_status treadle_routine_release(treadle_routine routine) { __builtin_trap(); }
treadle_status treadle_routine_call(treadle_routine routine, const treadle_event *event, void *result, size_t result_size) { __builtin_trap(); }
treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source) { __builtin_trap(); }
treadle_status treadle_source_signal(treadle_source source) { __builtin_trap(); }
treadle_status treadle_source_signal_and_wake(treadle_source source) { __builtin_trap(); }
bool treadle_source_is_signalled(treadle_source source) { __builtin_trap(); }
treadle_status treadle_source_get_order(treadle_source source, int64_t *out_order) { __builtin_trap(); }
treadle_status treadle_source_retain(treadle_source source) { __builtin_trap(); }
treadle_status treadle_source_release(treadle_source source) { __builtin_trap(); }
treadle_status treadle_source_invalidate(treadle_source source) { __builtin_trap(); }
treadle_status treadle_source_close(treadle_source source, int64_t timeout_ns) { __builtin_trap(); }
bool treadle_source_is_valid(treadle_source source) { __builtin_trap(); }
treadle_status treadle_source_get_info(treadle_source source, void **out_info) { __builtin_trap(); }
treadle_status treadle_source_describe(treadle_source source, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_add_source(treadle_loop loop, treadle_source source, const char *mode) { __builtin_trap(); }
treadle_status treadle_loop_remove_source(treadle_loop loop, treadle_source source, const char *mode) { __builtin_trap(); }
bool treadle_loop_contains_source(treadle_loop loop, treadle_source source, const char *mode) { __builtin_trap(); }
int64_t treadle_time_now(void) { __builtin_trap(); }
treadle_status treadle_time_from_seconds(double seconds, int64_t *out_ns) { __builtin_trap(); }
treadle_status treadle_time_from_absolute(double date, int64_t *out_time) { __builtin_trap(); }
double treadle_time_to_absolute(int64_t time) { __builtin_trap(); }
treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer) { __builtin_trap(); }
treadle_status treadle_timer_create_absolute(const treadle_timer_context *context, double date, double interval, treadle_timer *out_timer) { __builtin_trap(); }
treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time) { __builtin_trap(); }
treadle_status treadle_timer_set_next_fire(treadle_timer timer, int64_t time) { __builtin_trap(); }
treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns) { __builtin_trap(); }
bool treadle_timer_repeats(treadle_timer timer) { __builtin_trap(); }
treadle_status treadle_timer_set_tolerance(treadle_timer timer, int64_t tolerance_ns) { __builtin_trap(); }
treadle_status treadle_timer_get_tolerance(treadle_timer timer, int64_t *out_tolerance_ns) { __builtin_trap(); }
treadle_status treadle_timer_get_order(treadle_timer timer, int64_t *out_order) { __builtin_trap(); }
treadle_status treadle_timer_retain(treadle_timer timer) { __builtin_trap(); }
treadle_status treadle_timer_release(treadle_timer timer) { __builtin_trap(); }
treadle_status treadle_timer_invalidate(treadle_timer timer) { __builtin_trap(); }
treadle_status treadle_timer_close(treadle_timer timer, int64_t timeout_ns) { __builtin_trap(); }
bool treadle_timer_is_valid(treadle_timer timer) { __builtin_trap(); }
treadle_status treadle_timer_get_info(treadle_timer timer, void **out_info) { __builtin_trap(); }
treadle_status treadle_timer_describe(treadle_timer timer, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_add_timer(treadle_loop loop, treadle_timer timer, const char *mode) { __builtin_trap(); }
treadle_status treadle_loop_remove_timer(treadle_loop loop, treadle_timer timer, const char *mode) { __builtin_trap(); }
bool treadle_loop_contains_timer(treadle_loop loop, treadle_timer timer, const char *mode) { __builtin_trap(); }
uint32_t treadle_version(void) { __builtin_trap(); }
const char *treadle_version_string(void) { __builtin_trap(); }
