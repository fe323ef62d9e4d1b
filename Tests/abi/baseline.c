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
typedef struct treadle_invocation_s *treadle_invocation;
typedef struct treadle_closure_s *treadle_closure;
typedef struct treadle_host_s *treadle_host;
typedef struct treadle_thread_s *treadle_thread;
typedef struct treadle_lock_s *treadle_lock;
typedef struct treadle_condition_s *treadle_condition;
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
    TREADLE_E_NOT_SUPPORTED = -18,
    TREADLE_E_CANCELLED = -19
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
#ifndef TREADLE_OBJECT_H
#define TREADLE_OBJECT_H
TREADLE_BEGIN_DECLS
typedef void *treadle_object;
TREADLE_API treadle_status treadle_retain(treadle_object object);
TREADLE_API treadle_status treadle_release(treadle_object object);
TREADLE_API treadle_status treadle_invalidate(treadle_object item);
TREADLE_API treadle_status treadle_close(treadle_object object, int64_t timeout_ns);
TREADLE_API bool treadle_is_valid(treadle_object item);
TREADLE_API treadle_status treadle_get_context_info(treadle_object item, void **out_info);
TREADLE_API treadle_status treadle_get_order(treadle_object item, int64_t *out_order);
enum {
    TREADLE_KIND_LOOP = 1,
    TREADLE_KIND_SOURCE = 2,
    TREADLE_KIND_TIMER = 3,
    TREADLE_KIND_OBSERVER = 4,
    TREADLE_KIND_DESCRIPTOR = 5,
    TREADLE_KIND_SIGNATURE = 6,
    TREADLE_KIND_ROUTINE = 7,
    TREADLE_KIND_HOST = 8,
    TREADLE_KIND_THREAD = 9,
    TREADLE_KIND_LOCK = 10,
    TREADLE_KIND_CONDITION = 11,
    TREADLE_KIND_INVOCATION = 12,
    TREADLE_KIND_CLOSURE = 13
};
TREADLE_API treadle_status treadle_get_kind(treadle_object object, uint32_t *out_kind);
TREADLE_API treadle_status treadle_describe(treadle_object object, char *buffer, size_t capacity, size_t *out_length);
TREADLE_API treadle_status treadle_loop_add(treadle_loop loop, treadle_object item, const char *mode);
TREADLE_API treadle_status treadle_loop_remove(treadle_loop loop, treadle_object item, const char *mode);
TREADLE_API bool treadle_loop_contains(treadle_loop loop, treadle_object item, const char *mode);
#define TREADLE_TYPED_REFERENCES(kind)                                                                                   \
    static inline treadle_status treadle_##kind##_retain(treadle_##kind object) { return treadle_retain(object); }      \
    static inline treadle_status treadle_##kind##_release(treadle_##kind object) { return treadle_release(object); }
#define TREADLE_TYPED_ITEM(kind)                                                                                         \
    TREADLE_TYPED_REFERENCES(kind)                                                                                       \
    static inline treadle_status treadle_##kind##_invalidate(treadle_##kind item) { return treadle_invalidate(item); }   \
    static inline treadle_status treadle_##kind##_close(treadle_##kind item, int64_t timeout_ns) {                       \
        return treadle_close(item, timeout_ns);                                                                          \
    }                                                                                                                    \
    static inline bool treadle_##kind##_is_valid(treadle_##kind item) { return treadle_is_valid(item); }                 \
    static inline treadle_status treadle_##kind##_get_context_info(treadle_##kind item, void **out_info) {                       \
        return treadle_get_context_info(item, out_info);                                                                         \
    }                                                                                                                    \
    static inline treadle_status treadle_##kind##_get_order(treadle_##kind item, int64_t *out_order) {                   \
        return treadle_get_order(item, out_order);                                                                       \
    }                                                                                                                    \
    static inline treadle_status treadle_##kind##_describe(treadle_##kind item, char *buffer, size_t capacity,           \
                                                           size_t *out_length) {                                         \
        return treadle_describe(item, buffer, capacity, out_length);                                                     \
    }                                                                                                                    \
    static inline treadle_status treadle_loop_add_##kind(treadle_loop loop, treadle_##kind item, const char *mode) {     \
        return treadle_loop_add(loop, item, mode);                                                                       \
    }                                                                                                                    \
    static inline treadle_status treadle_loop_remove_##kind(treadle_loop loop, treadle_##kind item, const char *mode) {  \
        return treadle_loop_remove(loop, item, mode);                                                                    \
    }                                                                                                                    \
    static inline bool treadle_loop_contains_##kind(treadle_loop loop, treadle_##kind item, const char *mode) {          \
        return treadle_loop_contains(loop, item, mode);                                                                  \
    }
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
TREADLE_API int64_t treadle_time_recent(void);
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
    TREADLE_EVENT_POST = 7,
    TREADLE_EVENT_REQUEST = 8,
    TREADLE_EVENT_THREAD = 9,
    TREADLE_EVENT_NOTIFICATION = 10,
    TREADLE_EVENT_RELEASE = 11,
    TREADLE_EVENT_CALL = 12,
    TREADLE_EVENT_INTERRUPT = 13
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
    void *argument;
} treadle_event;
#endif
#ifndef TREADLE_LOOP_H
#define TREADLE_LOOP_H
TREADLE_BEGIN_DECLS
enum {
    TREADLE_RUN_RETURN_AFTER_SOURCE = 1,
    TREADLE_RUN_RETURN_ON_INTERRUPT = 2,
    TREADLE_RUN_WHEN_EMPTY = 4
};
enum {
    TREADLE_STOP_ALL_LEVELS = 1
};
TREADLE_API treadle_loop treadle_loop_current(void);
TREADLE_API treadle_loop treadle_loop_main(void);
TREADLE_API treadle_status treadle_loop_copy_of_thread(int32_t thread_id, treadle_loop *out_loop);
TREADLE_API treadle_status treadle_loop_run(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags);
static inline treadle_status treadle_loop_run_default(treadle_loop loop) {
    return treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
}
TREADLE_API treadle_status treadle_loop_set_interrupt_descriptor(treadle_loop loop, int32_t fd);
TREADLE_API treadle_status treadle_loop_stop(treadle_loop loop);
TREADLE_API treadle_status treadle_loop_request_stop(treadle_loop loop, uint32_t flags);
TREADLE_API treadle_status treadle_loop_wake(treadle_loop loop);
TREADLE_API bool treadle_loop_is_waiting(treadle_loop loop);
TREADLE_API bool treadle_loop_is_current(treadle_loop loop);
TREADLE_API treadle_status treadle_loop_get_thread_id(treadle_loop loop, int32_t *out_thread_id);
TREADLE_API treadle_status treadle_loop_get_current_mode(treadle_loop loop, char *buffer, size_t capacity,
                                                          size_t *out_length);
TREADLE_API treadle_status treadle_loop_get_modes(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);
TREADLE_API treadle_status treadle_loop_copy_items(treadle_loop loop, const char *mode, treadle_object *items,
                                                   size_t capacity, size_t *out_count);
enum {
    TREADLE_FINISH_NONE = 0,
    TREADLE_FINISH_UNKNOWN_MODE = 1,
    TREADLE_FINISH_EMPTY_AT_ONCE = 2,
    TREADLE_FINISH_BECAME_EMPTY = 3
};
typedef struct treadle_loop_counters {
    size_t struct_size;
    uint64_t passes;
    uint64_t sleeps;
    uint64_t wakes;
    uint64_t posts;
    uint64_t signals;
    uint64_t timers;
    uint64_t descriptors;
    uint64_t requests;
    int64_t longest_ns;
    treadle_object longest_item;
    uint32_t longest_kind;
    uint32_t last_finish;
} treadle_loop_counters;
TREADLE_API treadle_status treadle_loop_get_counters(treadle_loop loop, treadle_loop_counters *out_counters);
TREADLE_API treadle_status treadle_loop_add_common_mode(treadle_loop loop, const char *mode);
TREADLE_API bool treadle_loop_is_common_mode(treadle_loop loop, const char *mode);
TREADLE_API treadle_status treadle_loop_get_next_fire(treadle_loop loop, const char *mode, int64_t *out_time);
TREADLE_TYPED_REFERENCES(loop)
static inline treadle_status treadle_loop_describe(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) {
    return treadle_describe(loop, buffer, capacity, out_length);
}
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
    const char *label;
    treadle_host host;
    uint64_t token;
    uint32_t host_wants;
    uint32_t reserved;
} treadle_source_context;
TREADLE_API treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source);
TREADLE_API treadle_status treadle_source_start(treadle_perform_fn perform, void *info, treadle_source *out_source);
TREADLE_API treadle_status treadle_source_signal(treadle_source source);
TREADLE_API treadle_status treadle_source_signal_and_wake(treadle_source source);
TREADLE_API bool treadle_source_is_signalled(treadle_source source);
TREADLE_TYPED_ITEM(source)
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
    const char *label;
    treadle_host host;
    uint64_t token;
} treadle_descriptor_context;
TREADLE_API treadle_status treadle_descriptor_create(const treadle_descriptor_context *context,
                                                     treadle_descriptor *out_descriptor);
TREADLE_API treadle_status treadle_descriptor_start(int32_t fd, uint32_t events, treadle_ready_fn ready, void *info,
                                                    treadle_descriptor *out_descriptor);
TREADLE_API treadle_status treadle_descriptor_set_events(treadle_descriptor descriptor, uint32_t events);
TREADLE_API treadle_status treadle_descriptor_get_events(treadle_descriptor descriptor, uint32_t *out_events);
TREADLE_API treadle_status treadle_descriptor_get_fd(treadle_descriptor descriptor, int32_t *out_fd);
TREADLE_TYPED_ITEM(descriptor)
TREADLE_END_DECLS
#endif
#ifndef TREADLE_TIMER_H
#define TREADLE_TIMER_H
TREADLE_BEGIN_DECLS
typedef void (*treadle_timer_fn)(treadle_timer timer, void *info);
enum {
    TREADLE_TIMER_ENDS_AFTER_FIRING = 1,
    TREADLE_TIMER_WALL_CLOCK = 2
};
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
    const char *label;
    treadle_host host;
    uint64_t token;
    uint32_t flags;
    uint32_t reserved;
} treadle_timer_context;
TREADLE_API treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer);
TREADLE_API treadle_status treadle_timer_start(int64_t delay_ns, int64_t interval_ns, treadle_timer_fn fire, void *info,
                                               treadle_timer *out_timer);
TREADLE_API treadle_status treadle_timer_fire(treadle_timer timer);
TREADLE_API treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time);
TREADLE_API treadle_status treadle_timer_set_time(treadle_timer timer, int64_t time_ns, uint32_t flags);
TREADLE_API treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns);
TREADLE_API treadle_status treadle_timer_set_tolerance(treadle_timer timer, int64_t tolerance_ns);
TREADLE_API treadle_status treadle_timer_get_tolerance(treadle_timer timer, int64_t *out_tolerance_ns);
TREADLE_TYPED_ITEM(timer)
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
    const char *label;
    treadle_host host;
    uint64_t token;
} treadle_observer_context;
TREADLE_API treadle_status treadle_observer_create(const treadle_observer_context *context, treadle_observer *out_observer);
TREADLE_API treadle_status treadle_observer_start(uint32_t activities, treadle_observer_fn notify, void *info,
                                                  treadle_observer *out_observer);
TREADLE_API treadle_status treadle_observer_get_activities(treadle_observer observer, uint32_t *out_activities);
TREADLE_API bool treadle_observer_repeats(treadle_observer observer);
TREADLE_TYPED_ITEM(observer)
TREADLE_END_DECLS
#endif
#ifndef TREADLE_POST_H
#define TREADLE_POST_H
TREADLE_BEGIN_DECLS
typedef void (*treadle_post_fn)(void *info);
enum {

    TREADLE_POST_WITHOUT_WAKE = 1
};
typedef struct treadle_post {
    size_t struct_size;
    const char *const *modes;
    size_t mode_count;
    treadle_post_fn fn;
    treadle_routine routine;
    void *info;
    treadle_post_fn destroy;
    treadle_host host;
    uint64_t token;
    uint32_t flags;
    uint32_t reserved;
} treadle_post;
TREADLE_API treadle_status treadle_loop_post(treadle_loop loop, treadle_post_fn fn, void *info);
TREADLE_API treadle_status treadle_loop_post_in(treadle_loop loop, const treadle_post *post);
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
    TREADLE_ARGUMENT_EVENT = 7,
    TREADLE_ARGUMENT_ARGUMENT = 8
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
TREADLE_API treadle_status treadle_routine_call(treadle_routine routine, const treadle_event *event, void *result,
                                                size_t result_size);
TREADLE_TYPED_REFERENCES(routine)
TREADLE_END_DECLS
#endif
#ifndef TREADLE_THREAD_H
#define TREADLE_THREAD_H
TREADLE_BEGIN_DECLS
typedef void *(*treadle_thread_fn)(void *info);
enum {
    TREADLE_THREAD_CREATED = 0,
    TREADLE_THREAD_STARTING = 1,
    TREADLE_THREAD_EXECUTING = 2,
    TREADLE_THREAD_FINISHED = 3
};
enum {
    TREADLE_POLICY_DEFAULT = 0,
    TREADLE_POLICY_FIFO = 1,
    TREADLE_POLICY_ROUND_ROBIN = 2
};
enum {
    TREADLE_THREAD_DETACHED = 1
};
typedef struct treadle_thread_config {
    size_t struct_size;
    treadle_thread_fn fn;
    void *info;
    treadle_release_fn destroy;
    treadle_host host;
    uint64_t token;
    uint32_t flags;
    uint32_t reserved;
} treadle_thread_config;
TREADLE_API treadle_status treadle_thread_create(const treadle_thread_config *config, treadle_thread *out_thread);
TREADLE_API treadle_status treadle_thread_start(treadle_thread thread);
TREADLE_API treadle_status treadle_thread_start_and_wait(treadle_thread thread, int64_t timeout_ns);
TREADLE_API treadle_status treadle_thread_declare_ready(void);
TREADLE_API treadle_thread treadle_thread_current(void);
TREADLE_API treadle_thread treadle_thread_main(void);
TREADLE_API bool treadle_thread_is_main(treadle_thread thread);
TREADLE_API bool treadle_is_multithreaded(void);
TREADLE_API treadle_status treadle_thread_get_id(treadle_thread thread, int32_t *out_thread_id);
TREADLE_API treadle_status treadle_thread_copy_loop(treadle_thread thread, treadle_loop *out_loop);
TREADLE_API treadle_status treadle_thread_get_state(treadle_thread thread, uint32_t *out_state);
TREADLE_API treadle_status treadle_thread_cancel(treadle_thread thread);
TREADLE_API bool treadle_thread_is_cancelled(treadle_thread thread);
TREADLE_API treadle_status treadle_thread_stop(treadle_thread thread);
TREADLE_API treadle_status treadle_thread_join(treadle_thread thread, int64_t timeout_ns, void **out_result);
TREADLE_API treadle_status treadle_thread_detach(treadle_thread thread);
TREADLE_API bool treadle_thread_is_detached(treadle_thread thread);
TREADLE_API treadle_status treadle_thread_exit(void *result);
TREADLE_API treadle_status treadle_thread_set_stack_size(treadle_thread thread, size_t size);
TREADLE_API treadle_status treadle_thread_get_stack_size(treadle_thread thread, size_t *out_size);
TREADLE_API treadle_status treadle_thread_set_name(treadle_thread thread, const char *name);
TREADLE_API treadle_status treadle_thread_get_name(treadle_thread thread, char *buffer, size_t capacity,
                                                    size_t *out_length);
TREADLE_API treadle_status treadle_thread_set_priority(treadle_thread thread, double priority);
TREADLE_API treadle_status treadle_thread_get_priority(treadle_thread thread, double *out_priority,
                                                       int32_t *out_applied);
TREADLE_API treadle_status treadle_thread_set_policy(treadle_thread thread, uint32_t policy);
TREADLE_API treadle_status treadle_thread_get_policy(treadle_thread thread, uint32_t *out_policy);
TREADLE_API treadle_status treadle_thread_set_value(treadle_thread thread, const char *key, void *value,
                                                    treadle_release_fn release);
TREADLE_API treadle_status treadle_thread_get_value(treadle_thread thread, const char *key, void **out_value);
TREADLE_API treadle_status treadle_thread_use_value(treadle_thread thread, const char *key,
                                                    void (*use)(void *value, void *info), void *info);
TREADLE_API treadle_status treadle_thread_remove_value(treadle_thread thread, const char *key);
TREADLE_API treadle_status treadle_thread_sleep_until(int64_t time);
static inline treadle_status treadle_thread_stop_and_join(treadle_thread thread, int64_t timeout_ns, void **out_result) {
    treadle_status status = treadle_thread_stop(thread);
    if (status < 0 && out_result) *out_result = NULL;
    return status < 0 ? status : treadle_thread_join(thread, timeout_ns, out_result);
}
TREADLE_TYPED_REFERENCES(thread)
TREADLE_END_DECLS
#endif
#ifndef TREADLE_PERFORM_H
#define TREADLE_PERFORM_H
TREADLE_BEGIN_DECLS
typedef void (*treadle_request_fn)(void *target, void *argument);
enum {
    TREADLE_PERFORM_WAIT = 1,
    TREADLE_PERFORM_AFTER = 2,
    TREADLE_PERFORM_IN_BACKGROUND = 4
};
typedef struct treadle_request {
    size_t struct_size;
    treadle_request_fn fn;
    treadle_routine routine;
    void *target;
    void *argument;

    treadle_release_fn release_target;
    treadle_release_fn release_argument;
    treadle_equal_fn equal;
    treadle_host host;
    uint64_t token;
    const char *const *modes;
    size_t mode_count;
    int64_t delay_ns;
    uint32_t flags;
    uint32_t reserved;
} treadle_request;
TREADLE_API treadle_status treadle_perform(treadle_object on, const treadle_request *request);
TREADLE_API treadle_status treadle_perform_cancel(const treadle_request *like);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_INVOCATION_H
#define TREADLE_INVOCATION_H
TREADLE_BEGIN_DECLS
#define TREADLE_CALL_MODE "TreadleCallMode"
typedef struct treadle_invocation_config {
    size_t struct_size;
    void (*code)(void);
    const char *signature;
    void *info;
    void (*destroy)(void *info);
} treadle_invocation_config;
TREADLE_API treadle_status treadle_invocation_create(const treadle_invocation_config *config,
                                                     treadle_invocation *out_invocation);
TREADLE_API treadle_status treadle_invocation_set_argument(treadle_invocation invocation, size_t index,
                                                           const void *value, size_t size);
TREADLE_API treadle_status treadle_invocation_set_buffer(treadle_invocation invocation, size_t index, void *bytes,
                                                         size_t size);
TREADLE_API treadle_status treadle_invocation_get_argument(treadle_invocation invocation, size_t index, void *value,
                                                           size_t size);
TREADLE_API treadle_status treadle_invocation_get_buffer(treadle_invocation invocation, size_t index, void *bytes,
                                                         size_t size);
enum {
    TREADLE_WAIT_NONE = 0,
    TREADLE_WAIT_BLOCK = 1,
    TREADLE_WAIT_RUNNING = 2
};
typedef struct treadle_invocation_options {
    size_t struct_size;
    treadle_loop loop;
    treadle_thread thread;
    const char *const *modes;
    size_t mode_count;
    uint32_t wait;
    uint32_t reserved;
    int64_t timeout_ns;
    const treadle_request *completion;
    treadle_loop completion_loop;
} treadle_invocation_options;
TREADLE_API treadle_status treadle_invocation_perform(treadle_invocation invocation,
                                                      const treadle_invocation_options *options);
TREADLE_API treadle_status treadle_invocation_cancel(treadle_invocation invocation);
enum {
    TREADLE_INVOCATION_IDLE = 0,
    TREADLE_INVOCATION_QUEUED = 1,
    TREADLE_INVOCATION_RUNNING = 2,
    TREADLE_INVOCATION_DONE = 3,
    TREADLE_INVOCATION_CANCELLED = 4,
    TREADLE_INVOCATION_DROPPED = 5
};
TREADLE_API treadle_status treadle_invocation_get_state(treadle_invocation invocation, uint32_t *out_state);
TREADLE_API treadle_status treadle_invocation_get_result(treadle_invocation invocation, void *result, size_t size);
TREADLE_TYPED_REFERENCES(invocation)
TREADLE_END_DECLS
#endif
#ifndef TREADLE_CLOSURE_H
#define TREADLE_CLOSURE_H
TREADLE_BEGIN_DECLS
typedef struct treadle_call {
    size_t struct_size;
    treadle_closure closure;
    treadle_signature signature;
    treadle_loop loop;
    uint32_t argument_count;
    uint32_t reserved;
    const void *const *arguments;
    void *result;
} treadle_call;
typedef treadle_status (*treadle_closure_fn)(treadle_call *call, void *info);
enum {
    TREADLE_DELIVERY_INLINE = 0,
    TREADLE_DELIVERY_ASYNC = 1,
    TREADLE_DELIVERY_SYNC = 2,
    TREADLE_DELIVERY_RUNNING = 3
};
enum {
    TREADLE_FULL_BLOCK = 0,
    TREADLE_FULL_FAIL = 1,
    TREADLE_FULL_DROP_NEWEST = 2,
    TREADLE_FULL_DROP_OLDEST = 3,
    TREADLE_FULL_COALESCE = 4
};
enum {

    TREADLE_CLOSURE_MAY_ALLOCATE = 1,

    TREADLE_CLOSURE_KEEP_CODE = 2
};
typedef struct treadle_closure_config {
    size_t struct_size;
    const char *signature;
    treadle_closure_fn handler;
    void *info;
    void (*destroy)(void *info);
    uint32_t delivery;
    uint32_t flags;
    treadle_loop loop;
    treadle_thread thread;
    const char *const *modes;
    size_t mode_count;
    int64_t timeout_ns;
    uint32_t queue_limit;
    uint32_t on_full;
    const void *default_result;
    size_t default_result_size;
    treadle_host host;
    uint64_t token;
} treadle_closure_config;
TREADLE_API treadle_status treadle_closure_create(const treadle_closure_config *config, treadle_closure *out_closure);
TREADLE_API treadle_status treadle_closure_get_code(treadle_closure closure, void (**out_code)(void));
enum {
    TREADLE_CLOSURE_ACTIVE = 0,
    TREADLE_CLOSURE_INVALIDATED = 1,
    TREADLE_CLOSURE_DRAINED = 2
};
typedef struct treadle_closure_info {
    size_t struct_size;
    uint32_t state;
    uint32_t waiting;
    uint64_t handled;
    uint64_t failed;
    uint64_t dropped;
    uint64_t timed_out;
    uint64_t after_invalidated;
} treadle_closure_info;
TREADLE_API treadle_status treadle_closure_get_info(treadle_closure closure, treadle_closure_info *out_info);
TREADLE_API treadle_status treadle_call_get_argument(const treadle_call *call, size_t index, void *value, size_t size);
TREADLE_API treadle_status treadle_call_set_result(treadle_call *call, const void *value, size_t size);
typedef struct treadle_closure_pool_info {
    size_t struct_size;
    uint32_t capacity;
    uint32_t used;
    uint32_t drained;
    uint32_t allocated;
    uint64_t after_invalidated;
    char libffi[32];
} treadle_closure_pool_info;
TREADLE_API treadle_status treadle_closure_pool_get_info(treadle_closure_pool_info *out_info);
TREADLE_TYPED_REFERENCES(closure)
static inline treadle_status treadle_closure_invalidate(treadle_closure closure) { return treadle_invalidate(closure); }
static inline bool treadle_closure_is_valid(treadle_closure closure) { return treadle_is_valid(closure); }
static inline treadle_status treadle_closure_close(treadle_closure closure, int64_t timeout_ns) {
    return treadle_close(closure, timeout_ns);
}
TREADLE_END_DECLS
#endif
#ifndef TREADLE_LOCK_H
#define TREADLE_LOCK_H
TREADLE_BEGIN_DECLS
enum {
    TREADLE_LOCK_RECURSIVE = 1
};
TREADLE_API treadle_status treadle_lock_create(uint32_t flags, treadle_lock *out_lock);
TREADLE_API treadle_status treadle_lock_lock(treadle_lock lock, int64_t timeout_ns);
TREADLE_API treadle_status treadle_lock_unlock(treadle_lock lock);
TREADLE_API treadle_status treadle_condition_create(treadle_condition *out_condition);
TREADLE_API treadle_status treadle_condition_wait(treadle_condition condition, treadle_lock lock, int64_t timeout_ns);
TREADLE_API treadle_status treadle_condition_signal(treadle_condition condition);
TREADLE_API treadle_status treadle_condition_broadcast(treadle_condition condition);
TREADLE_TYPED_REFERENCES(lock)
TREADLE_TYPED_REFERENCES(condition)
TREADLE_END_DECLS
#endif
#ifndef TREADLE_POOL_H
#define TREADLE_POOL_H
TREADLE_BEGIN_DECLS
TREADLE_API treadle_status treadle_pool_push(uint64_t *out_token);
TREADLE_API treadle_status treadle_pool_pop(uint64_t token);
TREADLE_API treadle_status treadle_pool_add(void *object, treadle_release_fn release);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_NOTIFICATION_H
#define TREADLE_NOTIFICATION_H
TREADLE_BEGIN_DECLS
enum {

    TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED = 1,

    TREADLE_NOTIFY_THREAD_WILL_EXIT = 2
};
typedef void (*treadle_notification_fn)(uint32_t name, void *object, void *info);
typedef struct treadle_notification_config {
    size_t struct_size;
    uint32_t name;
    uint32_t reserved;
    void *object;
    treadle_notification_fn fn;
    void *info;
    treadle_release_fn destroy;
    treadle_host host;
    uint64_t token;
} treadle_notification_config;
TREADLE_API treadle_status treadle_notification_add(const treadle_notification_config *config, uint64_t *out_token);
TREADLE_API treadle_status treadle_notification_remove(uint64_t token);
TREADLE_END_DECLS
#endif
#ifndef TREADLE_PROCESS_H
#define TREADLE_PROCESS_H
TREADLE_BEGIN_DECLS
TREADLE_API treadle_status treadle_shutdown(int64_t timeout_ns);
typedef bool (*treadle_last_resort_fn)(treadle_thread thread, const char *kind, const char *message, void *info);
TREADLE_API treadle_status treadle_set_last_resort(treadle_last_resort_fn handler, void *info,
                                                   treadle_release_fn destroy);
TREADLE_API treadle_status treadle_report_error(const char *kind, const char *message);
typedef void (*treadle_log_fn)(const char *message, void *info);
TREADLE_API treadle_status treadle_set_log(treadle_log_fn log, void *info, treadle_release_fn destroy);
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
TREADLE_API treadle_status treadle_host_post(treadle_host host, uint64_t token, treadle_loop loop);
TREADLE_API treadle_status treadle_host_run(treadle_host host, treadle_loop loop, const char *mode, int64_t timeout_ns,
                                            uint32_t flags);
TREADLE_API treadle_status treadle_host_wait(treadle_loop loop, uint32_t *word, int64_t timeout_ns);
TREADLE_API treadle_status treadle_host_end_wait(uint32_t *word);
TREADLE_API treadle_status treadle_host_pool_add(treadle_host host, uint64_t token);
TREADLE_END_DECLS
#endif
#endif
treadle_status treadle_closure_create(const treadle_closure_config *config, treadle_closure *out_closure) { __builtin_trap(); }
treadle_status treadle_closure_get_code(treadle_closure closure, void (**out_code)(void)) { __builtin_trap(); }
treadle_status treadle_closure_get_info(treadle_closure closure, treadle_closure_info *out_info) { __builtin_trap(); }
treadle_status treadle_call_get_argument(const treadle_call *call, size_t index, void *value, size_t size) { __builtin_trap(); }
treadle_status treadle_call_set_result(treadle_call *call, const void *value, size_t size) { __builtin_trap(); }
treadle_status treadle_closure_pool_get_info(treadle_closure_pool_info *out_info) { __builtin_trap(); }
treadle_status treadle_descriptor_create(const treadle_descriptor_context *context, treadle_descriptor *out_descriptor) { __builtin_trap(); }
treadle_status treadle_descriptor_start(int32_t fd, uint32_t events, treadle_ready_fn ready, void *info, treadle_descriptor *out_descriptor) { __builtin_trap(); }
treadle_status treadle_descriptor_set_events(treadle_descriptor descriptor, uint32_t events) { __builtin_trap(); }
treadle_status treadle_descriptor_get_events(treadle_descriptor descriptor, uint32_t *out_events) { __builtin_trap(); }
treadle_status treadle_descriptor_get_fd(treadle_descriptor descriptor, int32_t *out_fd) { __builtin_trap(); }
treadle_status treadle_last_error(treadle_error_info *info) { __builtin_trap(); }
const char *treadle_status_name(treadle_status status) { __builtin_trap(); }
const char *treadle_status_message(treadle_status status) { __builtin_trap(); }
treadle_status treadle_after_fork_child(void) { __builtin_trap(); }
treadle_status treadle_host_register(const treadle_host_config *config, treadle_host *out_host) { __builtin_trap(); }
treadle_status treadle_host_quiesce(treadle_host host, int64_t timeout_ns) { __builtin_trap(); }
treadle_status treadle_host_get_dropped(treadle_host host, uint64_t *out_count) { __builtin_trap(); }
treadle_status treadle_host_take_retired(treadle_host host, uint64_t *tokens, size_t capacity, size_t *out_count) { __builtin_trap(); }
const uint64_t *treadle_host_get_retired_count(treadle_host host) { __builtin_trap(); }
treadle_status treadle_host_post(treadle_host host, uint64_t token, treadle_loop loop) { __builtin_trap(); }
treadle_status treadle_host_run(treadle_host host, treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags) { __builtin_trap(); }
treadle_status treadle_host_wait(treadle_loop loop, uint32_t *word, int64_t timeout_ns) { __builtin_trap(); }
treadle_status treadle_host_end_wait(uint32_t *word) { __builtin_trap(); }
treadle_status treadle_host_pool_add(treadle_host host, uint64_t token) { __builtin_trap(); }
treadle_status treadle_invocation_create(const treadle_invocation_config *config, treadle_invocation *out_invocation) { __builtin_trap(); }
treadle_status treadle_invocation_set_argument(treadle_invocation invocation, size_t index, const void *value, size_t size) { __builtin_trap(); }
treadle_status treadle_invocation_set_buffer(treadle_invocation invocation, size_t index, void *bytes, size_t size) { __builtin_trap(); }
treadle_status treadle_invocation_get_argument(treadle_invocation invocation, size_t index, void *value, size_t size) { __builtin_trap(); }
treadle_status treadle_invocation_get_buffer(treadle_invocation invocation, size_t index, void *bytes, size_t size) { __builtin_trap(); }
treadle_status treadle_invocation_perform(treadle_invocation invocation, const treadle_invocation_options *options) { __builtin_trap(); }
treadle_status treadle_invocation_cancel(treadle_invocation invocation) { __builtin_trap(); }
treadle_status treadle_invocation_get_state(treadle_invocation invocation, uint32_t *out_state) { __builtin_trap(); }
treadle_status treadle_invocation_get_result(treadle_invocation invocation, void *result, size_t size) { __builtin_trap(); }
treadle_status treadle_lock_create(uint32_t flags, treadle_lock *out_lock) { __builtin_trap(); }
treadle_status treadle_lock_lock(treadle_lock lock, int64_t timeout_ns) { __builtin_trap(); }
treadle_status treadle_lock_unlock(treadle_lock lock) { __builtin_trap(); }
treadle_status treadle_condition_create(treadle_condition *out_condition) { __builtin_trap(); }
treadle_status treadle_condition_wait(treadle_condition condition, treadle_lock lock, int64_t timeout_ns) { __builtin_trap(); }
treadle_status treadle_condition_signal(treadle_condition condition) { __builtin_trap(); }
treadle_status treadle_condition_broadcast(treadle_condition condition) { __builtin_trap(); }
treadle_loop treadle_loop_current(void) { __builtin_trap(); }
treadle_loop treadle_loop_main(void) { __builtin_trap(); }
treadle_status treadle_loop_copy_of_thread(int32_t thread_id, treadle_loop *out_loop) { __builtin_trap(); }
treadle_status treadle_loop_run(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags) { __builtin_trap(); }
treadle_status treadle_loop_set_interrupt_descriptor(treadle_loop loop, int32_t fd) { __builtin_trap(); }
treadle_status treadle_loop_stop(treadle_loop loop) { __builtin_trap(); }
treadle_status treadle_loop_request_stop(treadle_loop loop, uint32_t flags) { __builtin_trap(); }
treadle_status treadle_loop_wake(treadle_loop loop) { __builtin_trap(); }
bool treadle_loop_is_waiting(treadle_loop loop) { __builtin_trap(); }
bool treadle_loop_is_current(treadle_loop loop) { __builtin_trap(); }
treadle_status treadle_loop_get_thread_id(treadle_loop loop, int32_t *out_thread_id) { __builtin_trap(); }
treadle_status treadle_loop_get_current_mode(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_get_modes(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_copy_items(treadle_loop loop, const char *mode, treadle_object *items, size_t capacity, size_t *out_count) { __builtin_trap(); }
treadle_status treadle_loop_get_counters(treadle_loop loop, treadle_loop_counters *out_counters) { __builtin_trap(); }
treadle_status treadle_loop_add_common_mode(treadle_loop loop, const char *mode) { __builtin_trap(); }
bool treadle_loop_is_common_mode(treadle_loop loop, const char *mode) { __builtin_trap(); }
treadle_status treadle_loop_get_next_fire(treadle_loop loop, const char *mode, int64_t *out_time) { __builtin_trap(); }
treadle_status treadle_notification_add(const treadle_notification_config *config, uint64_t *out_token) { __builtin_trap(); }
treadle_status treadle_notification_remove(uint64_t token) { __builtin_trap(); }
treadle_status treadle_retain(treadle_object object) { __builtin_trap(); }
treadle_status treadle_release(treadle_object object) { __builtin_trap(); }
treadle_status treadle_invalidate(treadle_object item) { __builtin_trap(); }
treadle_status treadle_close(treadle_object object, int64_t timeout_ns) { __builtin_trap(); }
bool treadle_is_valid(treadle_object item) { __builtin_trap(); }
treadle_status treadle_get_context_info(treadle_object item, void **out_info) { __builtin_trap(); }
treadle_status treadle_get_order(treadle_object item, int64_t *out_order) { __builtin_trap(); }
treadle_status treadle_get_kind(treadle_object object, uint32_t *out_kind) { __builtin_trap(); }
treadle_status treadle_describe(treadle_object object, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_loop_add(treadle_loop loop, treadle_object item, const char *mode) { __builtin_trap(); }
treadle_status treadle_loop_remove(treadle_loop loop, treadle_object item, const char *mode) { __builtin_trap(); }
bool treadle_loop_contains(treadle_loop loop, treadle_object item, const char *mode) { __builtin_trap(); }
treadle_status treadle_observer_create(const treadle_observer_context *context, treadle_observer *out_observer) { __builtin_trap(); }
treadle_status treadle_observer_start(uint32_t activities, treadle_observer_fn notify, void *info, treadle_observer *out_observer) { __builtin_trap(); }
treadle_status treadle_observer_get_activities(treadle_observer observer, uint32_t *out_activities) { __builtin_trap(); }
bool treadle_observer_repeats(treadle_observer observer) { __builtin_trap(); }
treadle_status treadle_perform(treadle_object on, const treadle_request *request) { __builtin_trap(); }
treadle_status treadle_perform_cancel(const treadle_request *like) { __builtin_trap(); }
treadle_status treadle_pool_push(uint64_t *out_token) { __builtin_trap(); }
treadle_status treadle_pool_pop(uint64_t token) { __builtin_trap(); }
treadle_status treadle_pool_add(void *object, treadle_release_fn release) { __builtin_trap(); }
treadle_status treadle_loop_post(treadle_loop loop, treadle_post_fn fn, void *info) { __builtin_trap(); }
treadle_status treadle_loop_post_in(treadle_loop loop, const treadle_post *post) { __builtin_trap(); }
treadle_status treadle_shutdown(int64_t timeout_ns) { __builtin_trap(); }
treadle_status treadle_set_last_resort(treadle_last_resort_fn handler, void *info, treadle_release_fn destroy) { __builtin_trap(); }
treadle_status treadle_report_error(const char *kind, const char *message) { __builtin_trap(); }
treadle_status treadle_set_log(treadle_log_fn log, void *info, treadle_release_fn destroy) { __builtin_trap(); }
treadle_status treadle_signature_parse(const char *encoding, treadle_signature *out_signature) { __builtin_trap(); }
treadle_status treadle_signature_get_argument_count(treadle_signature signature, size_t *out_count) { __builtin_trap(); }
treadle_status treadle_signature_get_layout(treadle_signature signature, int32_t index, size_t *out_size, size_t *out_alignment) { __builtin_trap(); }
treadle_status treadle_signature_describe(treadle_signature signature, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_routine_create(const treadle_routine_config *config, treadle_routine *out_routine) { __builtin_trap(); }
treadle_status treadle_routine_call(treadle_routine routine, const treadle_event *event, void *result, size_t result_size) { __builtin_trap(); }
treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source) { __builtin_trap(); }
treadle_status treadle_source_start(treadle_perform_fn perform, void *info, treadle_source *out_source) { __builtin_trap(); }
treadle_status treadle_source_signal(treadle_source source) { __builtin_trap(); }
treadle_status treadle_source_signal_and_wake(treadle_source source) { __builtin_trap(); }
bool treadle_source_is_signalled(treadle_source source) { __builtin_trap(); }
treadle_status treadle_thread_create(const treadle_thread_config *config, treadle_thread *out_thread) { __builtin_trap(); }
treadle_status treadle_thread_start(treadle_thread thread) { __builtin_trap(); }
treadle_status treadle_thread_start_and_wait(treadle_thread thread, int64_t timeout_ns) { __builtin_trap(); }
treadle_status treadle_thread_declare_ready(void) { __builtin_trap(); }
treadle_thread treadle_thread_current(void) { __builtin_trap(); }
treadle_thread treadle_thread_main(void) { __builtin_trap(); }
bool treadle_thread_is_main(treadle_thread thread) { __builtin_trap(); }
bool treadle_is_multithreaded(void) { __builtin_trap(); }
treadle_status treadle_thread_get_id(treadle_thread thread, int32_t *out_thread_id) { __builtin_trap(); }
treadle_status treadle_thread_copy_loop(treadle_thread thread, treadle_loop *out_loop) { __builtin_trap(); }
treadle_status treadle_thread_get_state(treadle_thread thread, uint32_t *out_state) { __builtin_trap(); }
treadle_status treadle_thread_cancel(treadle_thread thread) { __builtin_trap(); }
bool treadle_thread_is_cancelled(treadle_thread thread) { __builtin_trap(); }
treadle_status treadle_thread_stop(treadle_thread thread) { __builtin_trap(); }
treadle_status treadle_thread_join(treadle_thread thread, int64_t timeout_ns, void **out_result) { __builtin_trap(); }
treadle_status treadle_thread_detach(treadle_thread thread) { __builtin_trap(); }
bool treadle_thread_is_detached(treadle_thread thread) { __builtin_trap(); }
treadle_status treadle_thread_exit(void *result) { __builtin_trap(); }
treadle_status treadle_thread_set_stack_size(treadle_thread thread, size_t size) { __builtin_trap(); }
treadle_status treadle_thread_get_stack_size(treadle_thread thread, size_t *out_size) { __builtin_trap(); }
treadle_status treadle_thread_set_name(treadle_thread thread, const char *name) { __builtin_trap(); }
treadle_status treadle_thread_get_name(treadle_thread thread, char *buffer, size_t capacity, size_t *out_length) { __builtin_trap(); }
treadle_status treadle_thread_set_priority(treadle_thread thread, double priority) { __builtin_trap(); }
treadle_status treadle_thread_get_priority(treadle_thread thread, double *out_priority, int32_t *out_applied) { __builtin_trap(); }
treadle_status treadle_thread_set_policy(treadle_thread thread, uint32_t policy) { __builtin_trap(); }
treadle_status treadle_thread_get_policy(treadle_thread thread, uint32_t *out_policy) { __builtin_trap(); }
treadle_status treadle_thread_set_value(treadle_thread thread, const char *key, void *value, treadle_release_fn release) { __builtin_trap(); }
treadle_status treadle_thread_get_value(treadle_thread thread, const char *key, void **out_value) { __builtin_trap(); }
treadle_status treadle_thread_use_value(treadle_thread thread, const char *key, void (*use)(void *value, void *info), void *info) { __builtin_trap(); }
treadle_status treadle_thread_remove_value(treadle_thread thread, const char *key) { __builtin_trap(); }
treadle_status treadle_thread_sleep_until(int64_t time) { __builtin_trap(); }
int64_t treadle_time_now(void) { __builtin_trap(); }
int64_t treadle_time_recent(void) { __builtin_trap(); }
treadle_status treadle_time_from_seconds(double seconds, int64_t *out_ns) { __builtin_trap(); }
treadle_status treadle_time_from_absolute(double date, int64_t *out_time) { __builtin_trap(); }
double treadle_time_to_absolute(int64_t time) { __builtin_trap(); }
treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer) { __builtin_trap(); }
treadle_status treadle_timer_start(int64_t delay_ns, int64_t interval_ns, treadle_timer_fn fire, void *info, treadle_timer *out_timer) { __builtin_trap(); }
treadle_status treadle_timer_fire(treadle_timer timer) { __builtin_trap(); }
treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time) { __builtin_trap(); }
treadle_status treadle_timer_set_time(treadle_timer timer, int64_t time_ns, uint32_t flags) { __builtin_trap(); }
treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns) { __builtin_trap(); }
treadle_status treadle_timer_set_tolerance(treadle_timer timer, int64_t tolerance_ns) { __builtin_trap(); }
treadle_status treadle_timer_get_tolerance(treadle_timer timer, int64_t *out_tolerance_ns) { __builtin_trap(); }
uint32_t treadle_version(void) { __builtin_trap(); }
const char *treadle_version_string(void) { __builtin_trap(); }
