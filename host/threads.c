/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * threads.c: a second stack for each thread of the process, plugins' own included, on which the crash handler can tell of a first
 * one that has no room left. The program's pthread_create is found before the C library's by all that it loads. */
#include "host.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SECOND_STACK = 65536 };

struct beginning {
    void *(*fn)(void *);
    void *info;
};

static pthread_key_t second_stack;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* The thread has ended. */
static void drop_stack(void *memory) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
    munmap(memory, SECOND_STACK);
}
static void find_create(void) {
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    pthread_key_create(&second_stack, drop_stack);
}

void watch_threads(void) { pthread_once(&once, find_create); }

static void *begin(void *memory) {
    struct beginning beginning = *(struct beginning *)memory;
    free(memory);
    stack_t stack = {.ss_size = SECOND_STACK};
    stack.ss_sp = mmap(NULL, SECOND_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    /* Without memory the thread goes on: its crash is told of as long as its stack has room. */
    if (stack.ss_sp != MAP_FAILED && pthread_setspecific(second_stack, stack.ss_sp) == 0) sigaltstack(&stack, NULL);
    return beginning.fn(beginning.info);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                                                          void *(*fn)(void *), void *restrict info) {
    pthread_once(&once, find_create);
    struct beginning *beginning = malloc(sizeof *beginning);
    if (!beginning || !create) {
        free(beginning);
        return create ? create(thread, attributes, fn, info) : 11; /* EAGAIN */
    }
    *beginning = (struct beginning){fn, info};
    int error = create(thread, attributes, begin, beginning);
    if (error) free(beginning);
    return error;
}
