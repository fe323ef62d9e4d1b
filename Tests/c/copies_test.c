/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * copies_test.c: several copies of the library in one process, as a program has that is linked with one and loads plugins
 * which bring their own. They are one runtime; but in a namespace of the loader's own, where a handle of others means nothing;
 * and all find room. */
#include "thread_jobs.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* What is asked of a copy. */
#define FUNCTIONS(X)                                                                                                  \
    X(loop_current) X(retain) X(release) X(loop_post) X(loop_wake) X(loop_run) X(loop_add) X(source_create)           \
    X(source_signal) X(timer_create) X(observer_create) X(lock_create) X(last_error) X(after_fork_child)
struct copy {
#define MEMBER(name) __typeof__(treadle_##name) *name;
    FUNCTIONS(MEMBER)
    treadle_loop loop;
    treadle_source source;
    treadle_timer timer;
    treadle_observer observer;
    treadle_lock lock;
    int performed;
};

static void find_functions(struct copy *copy, void *library) {
#define FIND(name)                                                      \
    *(void **)&copy->name = dlsym(library, "treadle_" #name);           \
    CHECK(copy->name);
    FUNCTIONS(FIND)
}
static const char *own_path(void) {
    Dl_info info;
    CHECK(dladdr((void *)treadle_loop_current, &info) != 0);
    return info.dli_fname;
}
/* Another file with the same bytes, which the loader takes for another library. */
static void *load_another(void) {
    char buffer[65536], path[64];
    int from = open(own_path(), O_RDONLY | O_CLOEXEC), to = memfd_create("copy", MFD_CLOEXEC);
    CHECK(from >= 0 && to >= 0);
    for (ssize_t size; (size = read(from, buffer, sizeof buffer)) > 0;) CHECK_INT(write(to, buffer, (size_t)size), size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", to);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    close(from); /* the other one keeps its number, by which the loader knows the library */
    return library;
}
static void load(struct copy *copy) {
    void *library = load_another();
    CHECK(library);
    find_functions(copy, library);
    CHECK(copy->loop_current != treadle_loop_current);
}
static void be_the_first(struct copy *copy) {
#define OWN(name) copy->name = treadle_##name;
    FUNCTIONS(OWN)
}
/* The debug way has no library that could be loaded again. */
static bool is_a_library(void) { return strstr(own_path(), ".so") != NULL; }

static void count(treadle_source source, void *info) { (void)source, ++((struct copy *)info)->performed; }
static void count_post(void *info) { ++((struct copy *)info)->performed; }
static void fire_nothing(treadle_timer timer, void *info) { (void)timer, (void)info; }
static void make_objects(struct copy *copy) {
    treadle_source_context source = {.struct_size = sizeof source, .perform = count, .info = copy};
    treadle_timer_context timer = {.struct_size = sizeof timer, .fire = fire_nothing, .fire_at = FAR_AWAY};
    treadle_observer_context observer = {.struct_size = sizeof observer, .activities = TREADLE_ENTRY};
    copy->loop = copy->loop_current();
    CHECK(copy->loop != NULL);
    CHECK_INT(copy->source_create(&source, &copy->source), TREADLE_OK);
    CHECK_INT(copy->timer_create(&timer, &copy->timer), TREADLE_OK);
    CHECK_INT(copy->observer_create(&observer, &copy->observer), TREADLE_OK);
    CHECK_INT(copy->lock_create(0, &copy->lock), TREADLE_OK);
    CHECK_INT(copy->loop_add(copy->loop, copy->source, TREADLE_DEFAULT_MODE), TREADLE_OK);
}
static void must_work(struct copy *copy) {
    copy->performed = 0;
    CHECK_INT(copy->source_signal(copy->source), TREADLE_OK);
    CHECK_INT(copy->loop_post(copy->loop, count_post, copy), TREADLE_OK);
    CHECK_INT(copy->loop_run(copy->loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(copy->performed, 2);
}
static void release_objects(struct copy *copy) {
    CHECK_INT(copy->release(copy->source), TREADLE_OK);
    CHECK_INT(copy->release(copy->timer), TREADLE_OK);
    CHECK_INT(copy->release(copy->observer), TREADLE_OK);
    CHECK_INT(copy->release(copy->lock), TREADLE_OK);
}

static void must_refuse(struct copy *copy, treadle_status status) {
    treadle_error_info error = {.struct_size = sizeof error};
    CHECK_INT(status, TREADLE_E_STALE);
    CHECK_INT(copy->last_error(&error), TREADLE_OK);
    CHECK_INT(error.code, TREADLE_E_STALE);
    if (!strstr(error.message, "of another copy")) check_failed(__FILE__, __LINE__, "the message is \"%s\"", error.message);
}
static void must_be_strangers(struct copy *copy, struct copy *other) {
    CHECK(copy->loop != other->loop && copy->source != other->source && copy->lock != other->lock);
    must_refuse(copy, copy->loop_post(other->loop, count_post, copy));
    must_refuse(copy, copy->loop_wake(other->loop));
    must_refuse(copy, copy->retain(other->loop));
    must_refuse(copy, copy->loop_add(copy->loop, other->source, TREADLE_DEFAULT_MODE));
    must_refuse(copy, copy->source_signal(other->source));
    must_refuse(copy, copy->release(other->source));
    must_refuse(copy, copy->release(other->timer));
    must_refuse(copy, copy->release(other->observer));
    must_refuse(copy, copy->release(other->lock));
}

static void must_be_one(struct copy *copy, struct copy *other) {
    CHECK(copy->loop == other->loop && copy->source != other->source);
    other->performed = 0;
    CHECK_INT(copy->source_signal(other->source), TREADLE_OK);
    CHECK_INT(copy->loop_post(other->loop, count_post, other), TREADLE_OK);
    CHECK_INT(copy->loop_run(other->loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(other->performed, 2);
    CHECK_INT(copy->retain(other->timer), TREADLE_OK);
    CHECK_INT(other->release(other->timer), TREADLE_OK);
    treadle_error_info error = {.struct_size = sizeof error};
    CHECK_INT(copy->loop_post(other->loop, NULL, NULL), TREADLE_E_ARG);
    CHECK_INT(other->last_error(&error), TREADLE_OK);
    CHECK(strcmp(error.function, "treadle_loop_post") == 0 && error.code == TREADLE_E_ARG);
}

enum { COPIES = 6 };
static struct copy copies[COPIES];
static void for_each_pair(void (*body)(struct copy *, struct copy *)) {
    for (int a = 0; a < COPIES; a++) {
        for (int b = 0; b < COPIES; b++) {
            if (a != b) body(&copies[a], &copies[b]);
        }
    }
}
static void for_each(void (*body)(struct copy *)) {
    for (int c = 0; c < COPIES; c++) body(&copies[c]);
}
static void load_all(void) {
    be_the_first(&copies[0]);
    for (int c = 1; c < COPIES; c++) load(&copies[c]);
}

TEST(copies_are_one_runtime, "ABI-8 RL-1 RL-3") {
    if (!is_a_library()) return;
    load_all();
    for_each(make_objects);
    for_each_pair(must_be_one);
    for_each(must_work);
    for_each(release_objects);
}

TEST(copies_that_come_later_find_what_is_there, "ABI-8") {
    if (!is_a_library()) return;
    be_the_first(&copies[0]);
    make_objects(&copies[0]);
    for (int c = 1; c < COPIES; c++) {
        load(&copies[c]);
        make_objects(&copies[c]);
        must_be_one(&copies[c], &copies[c - 1]);
        must_be_one(&copies[0], &copies[c]);
    }
    for_each(release_objects);
}

TEST(copies_are_one_runtime_after_a_fork_too, "ABI-8 RL-11") {
    int status = -1;
    if (!is_a_library()) return;
    load_all();
    for_each(make_objects);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60); /* the watchdog is not inherited */
        for (int c = 0; c < COPIES; c++) CHECK_INT(copies[c].loop_wake(copies[c].loop), TREADLE_E_FORKED);
        CHECK_INT(copies[1].after_fork_child(), TREADLE_OK);
        CHECK_INT(copies[2].after_fork_child(), TREADLE_IGNORED);
        for (int c = 0; c < COPIES; c++) must_refuse(&copies[c], copies[c].source_signal(copies[c].source));
        for_each(make_objects);
        for_each_pair(must_be_one);
        for_each(release_objects);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK_INT(status, 0);
    for_each(must_work);
    for_each(release_objects);
}

static void keep_loop(struct copy *copy) {
    make_objects(copy);
    must_work(copy);
    CHECK_INT(copy->retain(copy->loop), TREADLE_OK);
}
static void *keep_loops(void *info) {
    for_each(keep_loop);
    return info;
}
static void must_have_ended(struct copy *copy) {
    CHECK_INT(copy->loop_post(copy->loop, count_post, copy), TREADLE_E_CLOSED);
    CHECK_INT(copy->release(copy->loop), TREADLE_OK);
    release_objects(copy);
}
TEST(the_end_of_a_thread_is_that_of_its_one_loop, "ABI-8 RL-8 RL-2") {
    pthread_t thread;
    if (!is_a_library()) return;
    load_all();
    CHECK_INT(pthread_create(&thread, NULL, keep_loops, NULL), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    for_each(must_have_ended);
}

/* Each namespace has a C library of its own, which knows of no thread but this one. */
TEST(copies_in_namespaces_of_the_loader_find_room, "OBJ-11") {
    enum { NAMESPACES = 4 };
    struct copy there[NAMESPACES + 1];
    if (!is_a_library()) return;
    if (SANITIZER) return; /* its runtime cannot be there twice */
    be_the_first(&there[0]);
    make_objects(&there[0]);
    for (int n = 1; n <= NAMESPACES; n++) {
        void *library = dlmopen(LM_ID_NEWLM, own_path(), RTLD_NOW | RTLD_LOCAL);
        if (!library) check_failed(__FILE__, __LINE__, "namespace %d: %s", n, dlerror());
        find_functions(&there[n], library);
        make_objects(&there[n]);
        must_be_strangers(&there[n], &there[n - 1]);
        must_be_strangers(&there[n - 1], &there[n]);
        must_work(&there[n]);
        must_work(&there[n - 1]);
    }
    fflush(NULL);
    _exit(PASSED); /* what the C libraries there would do at the end is theirs */
}

TEST_MAIN()
