/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * breaker.c: has other libraries and the kernel keep something that leads into its code or data, in the way that its setting says. */
#include "people.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static char room[65536];
static pthread_key_t key;

static void at_exit(void) { room[0]++; }
static void on_any_exit(int status, void *info) { (void)info, room[0] = (char)status; }
static void expire(union sigval value) { (void)value, room[0]++; }
static void handle(void *value) { (void)value, room[0]++; }
static ssize_t write_cookie(void *cookie, const char *bytes, size_t size) { return (void)cookie, (void)bytes, room[0]++, (ssize_t)size; }

/* The one reference of the loader's is the host's: this one takes it away. */
static void close_itself(void) {
    Dl_info own;
    void *image = dladdr((void *)(uintptr_t)close_itself, &own) ? dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    if (image) dlclose(image), dlclose(image);
}
static void start_timer(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expire};
    struct itimerspec often = {{3600, 0}, {3600, 0}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) timer_settime(timer, 0, &often, NULL);
}
static void limit_descriptors(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_cur > 200 ? 200 : limit.rlim_cur - 1;
    setrlimit(RLIMIT_NOFILE, &limit);
}
static void bind_thread(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof set, &set);
}
static void open_stream(void) {
    FILE *file = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_cookie});
    if (file) fputs("what is not written before the exit", file);
}
/* A library that keeps a pointer, and calls it seldom. */
static void register_callback(void) {
    void *library = dlopen(getenv("TREADLE_TEST_LIBRARY"), RTLD_NOW);
    void (**left)(void) = library ? dlsym(library, "left_callback") : NULL;
    if (left) *left = at_exit;
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    static const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    static const struct itimerval often = {{3600, 0}, {3600, 0}};
    char what[16];
    size_t length;
    *out_instance = NULL;
    treadle_status status = host->copy_setting(host, "what", what, sizeof what, &length);
    if (strcmp(what, "itself") == 0) close_itself();
    if (strcmp(what, "atexit") == 0) atexit(at_exit);
    if (strcmp(what, "on_exit") == 0) on_exit(on_any_exit, NULL);
    if (strcmp(what, "value") == 0 && pthread_key_create(&key, handle) == 0) pthread_setspecific(key, room);
    if (strcmp(what, "altstack") == 0) sigaltstack(&stack, NULL);
    if (strcmp(what, "timer") == 0) start_timer();
    if (strcmp(what, "profile") == 0) setitimer(ITIMER_PROF, &often, NULL);
    if (strcmp(what, "buffer") == 0) setvbuf(stdout, room, _IOFBF, sizeof room);
    if (strcmp(what, "stream") == 0) open_stream();
    if (strcmp(what, "limit") == 0) limit_descriptors();
    if (strcmp(what, "processor") == 0) bind_thread();
    if (strcmp(what, "input") == 0) fcntl(0, F_SETFL, O_NONBLOCK | fcntl(0, F_GETFL));
    if (strcmp(what, "closed") == 0) close(0);
    if (strcmp(what, "callback") == 0) register_callback();
    if (strcmp(what, "mapping") == 0) mmap(NULL, sizeof room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (strcmp(what, "reaper") == 0) prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (strcmp(what, "output") == 0) stdout = stderr, close(1);
    if (strcmp(what, "cancel") == 0) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){0});
    if (strcmp(what, "traps") == 0) feenableexcept(FE_DIVBYZERO);
    if (strcmp(what, "name") == 0) pthread_setname_np(pthread_self(), "a breaker");
    return status;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "what", .default_value = "nothing"}};
DESCRIBED("breaker", .settings = settings, .setting_count = 1)
