/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * threads.c: threads as fibers of the one thread that there is, and pthread's functions for them. Each fiber has its own copy
 * of the program's thread-local storage, which is moved to its place when the fiber goes on. */
#include "memory.h"

#include "scene.h"
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

enum { STACK = 512 * 1024, FIRST_ID = 7000 };

/* --- Thread-local storage --------------------------------------------------------------------------- */

static char *tls_place;
static const char *tls_image;
static size_t tls_size, tls_image_size;
static int look(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_TLS) continue;
        tls_place = info->dlpi_tls_data;
        tls_size = header->p_memsz;
        tls_image = (const char *)info->dlpi_addr + header->p_vaddr;
        tls_image_size = header->p_filesz;
    }
    return 1; /* the program is the first */
}

static char *stacks, *storages, *outer_tls;
void threads_prepare(void) {
    dl_iterate_phdr(look, NULL);
    stacks = mmap(NULL, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    storages = mmap(NULL, (THREADS + 1) * (tls_size + 64), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED || storages == MAP_FAILED) abort();
    watch_for_races(stacks, (size_t)THREADS * STACK);
    outer_tls = storages + THREADS * (tls_size + 64);
}

/* --- Switching -------------------------------------------------------------------------------------- */

#ifdef __x86_64__
/* Keeps what a function must keep, and goes on with another stack. */
void explorer_switch(void **keep, void *to);
__asm__(".text\n.globl explorer_switch\n.type explorer_switch, @function\nexplorer_switch:\n"
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\nret\n.size explorer_switch, . - explorer_switch\n");
static void begin(void);
static void *new_stack(char *top) {
    void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15);
    *--sp = NULL; /* the stack of `begin` lies as if it had been called */
    *--sp = (void *)begin;
    for (int i = 0; i < 6; i++) *--sp = NULL;
    return sp;
}
#else
static ucontext_t contexts[THREADS];
static void begin(void);
#endif

void switch_to(int thread) {
    struct vthread *from = me(), *to = &world.threads[thread];
    if (from == to) return;
    memcpy(from->tls, tls_place, tls_size);
    from->saved_errno = errno;
    world.current = thread;
    memcpy(tls_place, to->tls, tls_size);
    errno = to->saved_errno;
#ifdef __x86_64__
    explorer_switch(&from->stack_pointer, to->stack_pointer);
#else
    swapcontext(&contexts[from - world.threads], &contexts[thread]);
#endif
}

static int create(void *(*body)(void *), void *argument) {
    if (world.count == THREADS) fail("the explorer has no room for more threads");
    int number = world.count++;
    world.is_alone = false;
    struct vthread *t = &world.threads[number];
    t->tls = storages + (size_t)number * (tls_size + 64);
    memset(t->tls, 0, tls_size);
    memcpy(t->tls, tls_image, tls_image_size);
    t->body = body;
    t->argument = argument;
    t->deadline = NEVER;
    if (number > 0) {
        struct told told = {0};
        tell(&told);
        be_told(t, &told);
    }
    t->state = READY;
#ifdef __x86_64__
    t->stack_pointer = new_stack(stacks + (size_t)(number + 1) * STACK);
#else
    getcontext(&contexts[number]);
    contexts[number].uc_stack = (stack_t){.ss_sp = stacks + (size_t)number * STACK, .ss_size = STACK};
    makecontext(&contexts[number], begin, 0);
#endif
    return number;
}

/* --- Keys ------------------------------------------------------------------------------------------- */

static void (*destructors[KEYS])(void *);
static int key_count;
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
    if (key_count == KEYS) return EAGAIN;
    destructors[key_count] = destructor;
    *key = (pthread_key_t)key_count++;
    memory_is_filled(key, sizeof *key, __builtin_return_address(0));
    return 0;
}
int __wrap_pthread_key_delete(pthread_key_t key) { return destructors[key] = NULL, 0; }
int __wrap_pthread_setspecific(pthread_key_t key, const void *value) { return me()->keys[key] = (void *)value, 0; }
void *__wrap_pthread_getspecific(pthread_key_t key) { return me()->keys[key]; }

static void call_destructors(void) {
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < key_count; i++) {
            void *value = me()->keys[i];
            me()->keys[i] = NULL;
            if (value && destructors[i]) destructors[i](value);
        }
}

/* --- Threads ---------------------------------------------------------------------------------------- */

static _Noreturn void end(void *value) {
    call_destructors();
    point(NULL, false, NULL, "end");
    me()->value = value;
    tell(&me()->end);
    for (int i = 0; i < world.count; i++) {
        struct vthread *t = &world.threads[i];
        if (t->state == BLOCKED && t->waits == ON_JOIN && t->object == me()) make_ready(t, 0);
    }
    leave_thread();
}
static void begin(void) { end(me()->body(me()->argument)); }

uint32_t id_of(int thread) { return (uint32_t)(FIRST_ID + world.forks * THREADS + thread); }
int thread_of(uint32_t id) {
    int number = (int)id - (int)id_of(0);
    return number >= 0 && number < world.count && world.threads[number].state != ENDED ? number : -1;
}

/* The system keeps its record of a thread beside the stack, as glibc does. The creator writes it, plainly: a thread that uses the
 * pthread_t without knowing of the creation races with that. */
static void use_record(int number, bool is_new, const void *site) { access_plainly(stacks + (size_t)number * STACK, 1, is_new, site); }

static int refused;
void refuse_threads(int number) { refused = number; }
/* A pthread_t is the number of a thread, from 1. */
int __wrap_pthread_create(pthread_t *out, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    point(NULL, false, __builtin_return_address(0), "create");
    if (refused > 0) return refused--, EAGAIN;
    use_record(world.count, true, __builtin_return_address(0));
    int number = create(body, argument);
    int state = 0;
    if (attributes && pthread_attr_getdetachstate(attributes, &state) == 0) world.threads[number].is_detached = state == PTHREAD_CREATE_DETACHED;
    *out = (pthread_t)(number + 1);
    note(" starts thread %d", number);
    return 0;
}
int __wrap_pthread_join(pthread_t thread, void **value) {
    struct vthread *t = &world.threads[thread - 1];
    point(NULL, false, __builtin_return_address(0), "join");
    use_record((int)thread - 1, false, __builtin_return_address(0));
    if (t->is_detached || t->is_joined) fail("a thread is joined that cannot be");
    if (t == me()) return EDEADLK;
    if (t->state != ENDED) block(ON_JOIN, t, NEVER);
    t->is_joined = true;
    be_told(me(), &t->end);
    if (value) *value = t->value;
    return 0;
}
int __wrap_pthread_detach(pthread_t thread) {
    use_record((int)thread - 1, false, __builtin_return_address(0));
    return world.threads[thread - 1].is_detached = true, 0;
}
pthread_t __wrap_pthread_self(void) { return (pthread_t)(world.current + 1); }
/* The frames are unwound, as by libc: the library sees the end of the thread in those from which it calls clients. */
static _Unwind_Reason_Code go_on_unwinding(
    int version, _Unwind_Action actions, _Unwind_Exception_Class kind, struct _Unwind_Exception *exception, struct _Unwind_Context *context, void *value) {
    (void)version, (void)kind, (void)exception, (void)context;
    if (actions & _UA_END_OF_STACK) end(value);
    return _URC_NO_REASON;
}
void __wrap_pthread_exit(void *value) {
    static struct _Unwind_Exception exceptions[THREADS]; /* not on the stack that is unwound */
    _Unwind_ForcedUnwind(&exceptions[world.current], go_on_unwinding, value);
    fail("a thread cannot be unwound");
}
/* No signals are sent, and the faults of memory that the explorer waits for (snapshot.c) are not to be held up. */
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old) { return (void)how, (void)set, (void)old, 0; }
int __wrap_pthread_setname_np(pthread_t thread, const char *name) {
    use_record((int)thread - 1, false, __builtin_return_address(0));
    return (void)name, 0;
}
int __wrap_pthread_setschedprio(pthread_t thread, int priority) { return (void)thread, (void)priority, 0; }
int __wrap_setpriority(int which, unsigned who, int priority) { return (void)which, (void)who, (void)priority, 0; }
int __wrap_sched_yield(void) { return yield_point(), 0; }
/* One processor for all, on which nobody waits awake for another, unless the scene says otherwise. */
static bool have_processors;
void give_each_thread_a_processor(bool have) { have_processors = have; }
int __wrap_sched_getcpu(void) { return have_processors ? world.current : 0; }
int __wrap_getpid(void) { return (int)id_of(0); }

/* --- Forks ------------------------------------------------------------------------------------------
 * The run goes on as the child, with the calling thread alone: the others stay where they are. */

static void (*after_fork[KEYS])(void);
static int after_fork_count;
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
    if (before || parent || after_fork_count == KEYS) return EAGAIN; /* the library has none */
    if (child) after_fork[after_fork_count++] = child;
    return 0;
}
void become_child(void) {
    point(NULL, true, __builtin_return_address(0), "fork");
    for (int i = 0; i < world.count; i++) {
        struct vthread *t = &world.threads[i];
        if (t == me()) continue;
        tick(t); /* the child's memory has all that was written until now */
        join_vector(&me()->before, &t->before);
        join_vector(&me()->view, &t->before);
        t->state = ENDED;
    }
    world.forks++;
    world.is_alone = true;
    note(" goes on as the child of a fork");
    for (int i = 0; i < after_fork_count; i++) after_fork[i]();
}

/* Swift's `swift_once`: who comes meanwhile would wait for the one fiber's thread, which is its own. */
void __real_swift_once(long *predicate, void (*function)(void *), void *context);
static struct told initialized; /* one for all: initializers are few */
void __wrap_swift_once(long *predicate, void (*function)(void *), void *context) {
    long before = *predicate;
    world.held++;
    __real_swift_once(predicate, function, context);
    world.held--;
    if (world.count == 0) return;
    if (*predicate != before) tell(&initialized);
    be_told(me(), &initialized);
}

/* --- Scenes ----------------------------------------------------------------------------------------- */

static void *run_body(void *body) {
    ((void (*)(void))body)();
    for (int i = 1; i < world.count; i++)
        if (world.threads[i].is_detached && world.threads[i].state != ENDED) block(ON_JOIN, &world.threads[i], NEVER);
    world.is_over = true;
    for (int i = 1; i < world.count; i++)
        if (world.threads[i].state != ENDED) fail("a thread has not ended with the scene");
    run_over();
}
#ifdef __x86_64__
static void *outer;
#else
static ucontext_t outer;
#endif
void run_scene(void (*body)(void)) {
    world.now = 1000000000000;
    world.may_fail = shared->may_fail;
    schedule_begin();
    memcpy(outer_tls, tls_place, tls_size);
    create(run_body, (void *)body);
    memcpy(tls_place, world.threads[0].tls, tls_size);
#ifdef __x86_64__
    explorer_switch(&outer, world.threads[0].stack_pointer);
#else
    swapcontext(&outer, &contexts[0]);
#endif
    memcpy(tls_place, outer_tls, tls_size);
}
void return_from_run(void) {
#ifdef __x86_64__
    void *ignored;
    explorer_switch(&ignored, outer);
#else
    setcontext(&outer);
#endif
    abort();
}

void explore_from_here(void) {
    world.is_exploring = true;
    world.first_step = world.steps;
}
pthread_t start(void *(*body)(void *), void *argument) {
    pthread_t thread;
    return __wrap_pthread_create(&thread, NULL, body, argument), thread;
}
void join(pthread_t thread) { __wrap_pthread_join(thread, NULL); }
void scene_fail(const char *condition, const char *file, int line) {
    const char *name = strrchr(file, '/');
    fail("%s:%d: not %s", name ? name + 1 : file, line, condition);
}
/* What an event's setter did before is seen by whoever has seen it: one vector for all of them is enough. */
static struct told told;
void set(struct event *event) {
    point(NULL, true, __builtin_return_address(0), "set");
    event->is_set = 1;
    tell(&told);
    for (int i = 0; i < world.count; i++) {
        struct vthread *t = &world.threads[i];
        if (t->state == BLOCKED && t->waits == ON_EVENT && t->object == event) make_ready(t, 0);
    }
}
void await(struct event *event) {
    point(NULL, false, __builtin_return_address(0), "await");
    if (!event->is_set) block(ON_EVENT, event, NEVER);
    be_told(me(), &told);
}
