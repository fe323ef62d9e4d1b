/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * main.c: what it costs to call a function in other ways than by its name.
 *
 *   calls treadle|libffi|direct|plain|byhand list
 *   calls treadle|libffi|direct|plain|byhand run WORKLOAD [quick] [host] */
#include "calls.h"

#include "../harness/processors.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static const char *const way_names[WAYS] = {"treadle", "libffi", "direct", "plain", "byhand"};
static const char *const way_roles[WAYS] = {"own", "peer", "floor", "floor", "floor"};
static const struct workload *const all[] = {function_workloads, loop_workloads, hop_workloads, scope_workloads, message_workloads,
                                            request_workloads, embedding_workloads, visit_workloads, isolated_workloads};
enum { LISTS = sizeof all / sizeof *all };

bool is_lived_in;
int first_processor, second_processor;

uint64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
void tell_part(const char *workload, const char *suffix, double value, const char *unit) {
    printf("{\"figure\": \"%s%s\", \"value\": %.4g, \"unit\": \"%s\"}\n", workload, suffix, value, unit);
}
void tell(const char *figure, double value, const char *unit) { tell_part(figure, "", value, unit); }

static void find_processors(void) {
    demand(two_processors(&first_processor, &second_processor), "the system tells the allowed processors");
}
void bind_thread(int processor) { demand(bind_to(processor), "a thread can be bound to a processor"); }

static void never_fire(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    demand(false, "what is idle is never called");
}
static void never_ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events, (void)info;
    demand(false, "what is idle is never called");
}
void live_in(treadle_loop loop) {
    if (!is_lived_in) return;
    treadle_timer_context timer_context = TREADLE_INIT(treadle_timer_context);
    treadle_descriptor_context descriptor_context = TREADLE_INIT(treadle_descriptor_context);
    treadle_source_context source_context = TREADLE_INIT(treadle_source_context);
    treadle_timer timer;
    treadle_descriptor descriptor;
    treadle_source source;
    timer_context.fire = never_fire;
    timer_context.fire_at = treadle_time_now() + (int64_t)3600 * 1000000000;
    descriptor_context.ready = never_ready;
    descriptor_context.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    descriptor_context.events = TREADLE_READABLE;
    check(treadle_timer_create(&timer_context, &timer));
    check(treadle_descriptor_create(&descriptor_context, &descriptor));
    check(treadle_source_create(&source_context, &source));
    check(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE));
    check(treadle_loop_add_descriptor(loop, descriptor, TREADLE_DEFAULT_MODE));
    check(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE));
    check(treadle_timer_release(timer)); /* the loop holds them */
    check(treadle_descriptor_release(descriptor));
    check(treadle_source_release(source));
}

static void *stay_asleep(void *info) {
    for (;;) pause();
    return info;
}
static void start_sleeper(void) {
    pthread_t thread;
    demand(pthread_create(&thread, NULL, stay_asleep, NULL) == 0, "a thread can be made");
    pthread_detach(thread);
}

static bool can_run(const struct workload *workload, int way) {
    if (workload->needs_two_processors && first_processor == second_processor) return false;
    return workload->ways & WAY(way);
}

int main(int count, char **words) {
    int way = 0;
    find_processors();
    while (count > 2 && way < WAYS && strcmp(words[1], way_names[way]) != 0) way++;
    bool lists = count == 3 && strcmp(words[2], "list") == 0;
    bool runs = count >= 4 && strcmp(words[2], "run") == 0;
    if (way < WAYS && lists) printf("%s %s\n", way_names[way], way_roles[way]);
    for (int i = 4; i < count; i++) {
        is_quick |= strcmp(words[i], "quick") == 0;
        is_lived_in |= strcmp(words[i], "host") == 0;
    }
    if (is_lived_in) start_sleeper();
    for (size_t list = 0; list < LISTS && way < WAYS; list++) {
        for (const struct workload *workload = all[list]; workload->name; workload++) {
            if (!can_run(workload, way)) continue;
            if (lists) puts(workload->name);
            if (!runs || strcmp(words[3], workload->name) != 0) continue;
            workload->run(workload->name, (enum way)way);
            return 0;
        }
    }
    if (way < WAYS && lists) return 0;
    fprintf(stderr, "usage: calls treadle|libffi|direct|plain|byhand list, or: run WORKLOAD [quick] [host]\n");
    return 2;
}
