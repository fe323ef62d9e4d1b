/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scenario.h: a program of small scenarios whose traces are compared; see scripts/test-cf-differential.
 * Usage: program -l | program NAME */
#ifndef CF_DIFFERENTIAL_SCENARIO_H
#define CF_DIFFERENTIAL_SCENARIO_H

#include "trace.h"

struct scenario {
    const char *name;
    void (*run)(void);
    int on_main;
    struct scenario *next;
};
static struct scenario *scenarios, **last = &scenarios;
#define ADD(name_, main_)                                                        \
    static void run_##name_(void);                                               \
    static struct scenario entry_##name_ = {#name_, run_##name_, main_, NULL};   \
    __attribute__((constructor)) static void add_##name_(void) {                 \
        *last = &entry_##name_;                                                  \
        last = &entry_##name_.next;                                              \
    }                                                                            \
    static void run_##name_(void)
#define SCENARIO(name) ADD(name, 0)
#define MAIN_SCENARIO(name) ADD(name, 1)

HELPER struct part a = {.name = "a"}, b = {.name = "b"}, c = {.name = "c"}, o = {.name = "o"}, p = {.name = "p"};

HELPER void stop(struct part *part) {
    (void)part;
    CFRunLoopStop(LOOP);
}

static void *thread_body(void *argument) {
    ((struct scenario *)argument)->run();
    return NULL;
}

int main(int count, char **arguments) {
    alarm(120);
    for (struct scenario *each = scenarios; each; each = each->next) {
        if (count == 2 && strcmp(arguments[1], "-l") == 0) puts(each->name);
        if (count != 2 || strcmp(arguments[1], each->name) != 0) continue;
        pthread_t thread;
        if (each->on_main) {
            each->run();
        } else {
            pthread_create(&thread, NULL, thread_body, each);
            pthread_join(thread, NULL);
        }
        putchar('\n');
        fflush(stdout);
        _exit(0);
    }
    return 0;
}

#endif
