/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(pthread_t) == sizeof(uintptr_t), "a pthread_t is kept as an integer");

static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

/* What the system takes from a thread's stack before its function runs. glibc takes the program's static thread-local storage
 * from it too, which may be any size; it tells that by a function for the runtimes of languages, which is in no header. Its name
 * is looked up without a lock of ours held, since the loader's is taken. */
static size_t need_no_more(const pthread_attr_t *attributes) { return (void)attributes, 0; }
static size_t own_needs(void) {
    typedef size_t (*minstack_fn)(const pthread_attr_t *);
    static minstack_fn known; /* NULL: not looked up yet */
    minstack_fn minstack = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!minstack) {
        *(void **)(void *)&minstack = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
        if (!minstack) minstack = need_no_more;
        __atomic_store_n(&known, minstack, __ATOMIC_RELAXED);
    }
    pthread_attr_t attributes;
    long least = sysconf(_SC_THREAD_STACK_MIN);
    size_t needs = least > 16384 ? (size_t)least : 16384; /* the least that Linux's headers ever named */
    if (pthread_attr_init(&attributes) == 0) {
        size_t told = minstack(&attributes);
        pthread_attr_destroy(&attributes);
        if (told > needs && told < (size_t)1 << 32) needs = told;
    }
    return (needs + 4095) & ~(size_t)4095;
}

struct treadle_system_place treadle_system_place_of(uintptr_t address) {
    struct treadle_system_place place = {0};
    Dl_info found;
    if (!dladdr((void *)address, &found)) return place;
    place.function = found.dli_sname;
    place.file = found.dli_fname;
    place.offset = address - (uintptr_t)(found.dli_sname ? found.dli_saddr : found.dli_fbase);
    return place;
}

bool treadle_system_is_unnamed_here(uintptr_t address) {
    struct treadle_system_place place = treadle_system_place_of(address);
    struct treadle_system_place own = treadle_system_place_of((uintptr_t)treadle_system_is_unnamed_here);
    if (place.function || !place.file || !own.file || strcmp(place.file, own.file)) return false;
    /* In a program with the static library the program's own functions are in the same file. */
    const char *slash = strrchr(own.file, '/');
    return strncmp(slash ? slash + 1 : own.file, "libtreadle", strlen("libtreadle")) == 0;
}

static const int policies[] = {SCHED_OTHER, SCHED_FIFO, SCHED_RR};

static struct sched_param level_of(int policy, double priority) {
    int least = sched_get_priority_min(policy), most = sched_get_priority_max(policy);
    return (struct sched_param){.sched_priority = least + (int)((most - least) * priority + 0.5)};
}

int32_t treadle_system_thread_start(const struct treadle_system_thread_plan *plan, void *(*run)(void *), void *argument,
                                    uintptr_t *out) {
    pthread_attr_t attributes;
    pthread_t thread = 0;
    int error = pthread_attr_init(&attributes);
    if (error) return -error;
    error = pthread_attr_setstacksize(&attributes, plan->stack_size + own_needs());
    if (!error && plan->is_detached) error = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (!error && plan->policy) {
        struct sched_param level = level_of(policies[plan->policy % 3], plan->priority);
        error = pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        if (!error) error = pthread_attr_setschedpolicy(&attributes, policies[plan->policy % 3]);
        if (!error) error = pthread_attr_setschedparam(&attributes, &level);
    }
    if (!error) error = pthread_create(&thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    if (!error) *out = (uintptr_t)thread;
    return -error;
}

uintptr_t treadle_system_thread_self(void) { return (uintptr_t)pthread_self(); }
int32_t treadle_system_thread_detach(uintptr_t thread) { return -pthread_detach((pthread_t)thread); }
void treadle_system_thread_exit(void) { pthread_exit(NULL); }

int32_t treadle_system_thread_join(uintptr_t thread) {
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    int error = pthread_join((pthread_t)thread, NULL);
    pthread_setcancelstate(state, NULL);
    return -error;
}

bool treadle_system_main_thread_is_over(void) {
    char text[64]; /* "number (name) state": the name has 15 characters at most */
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    long size = syscall(SYS_read, fd, text, sizeof text);
    syscall(SYS_close, fd);
    const char *end = size > 0 ? memrchr(text, ')', (size_t)size) : NULL;
    return end && end + 2 < text + size && end[2] == 'Z';
}

void treadle_system_thread_name(int32_t id, char name[16]) {
    char path[48];
    int saved = errno;
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)id);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long size = fd < 0 ? 0 : syscall(SYS_read, fd, name, 15L);
    if (fd >= 0) syscall(SYS_close, fd);
    name[size > 0 ? size : 0] = 0;
    name[strcspn(name, "\n")] = 0;
    errno = saved;
}

int32_t treadle_system_thread_set_name(uintptr_t thread, const char *name) {
    return -pthread_setname_np((pthread_t)thread, name);
}

int32_t treadle_system_thread_set_priority(uint32_t policy, double priority) {
    if (policy) {
        return -pthread_setschedprio(pthread_self(), level_of(policies[policy % 3], priority).sched_priority);
    }
    double nice = priority < 0.5 ? (0.5 - priority) * 38 + 0.5 : (0.5 - priority) * 40 - 0.5;
    return setpriority(PRIO_PROCESS, (id_t)treadle_system_thread_id(), (int)nice) < 0 ? -errno : 0;
}

void treadle_system_sleep_until(int64_t time) {
    uint32_t word = 0; /* nobody wakes it */
    while (treadle_system_futex_wait(&word, 0, time) != -ETIMEDOUT) {}
}

int32_t treadle_system_etimedout(void) { return ETIMEDOUT; }
