/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * main.c: what it costs to call a function in other ways than by its name.
 *
 *   calls treadle|libffi|direct|plain|byhand list
 *   calls treadle|libffi|direct|plain|byhand run WORKLOAD [quick] */
#include "calls.h"

#include "../harness/processors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const way_names[WAYS] = {"treadle", "libffi", "direct", "plain", "byhand"};
static const char *const way_roles[WAYS] = {"own", "peer", "floor", "floor", "floor"};
static const struct workload *const all[] = {function_workloads, loop_workloads, hop_workloads};
enum { LISTS = sizeof all / sizeof *all };

bool is_quick;
int first_processor, second_processor;
uint64_t called, checked;
static uint64_t one = 1;
static int64_t object = 40;
struct five_arguments arguments = {&object, -7, 8.0, 1, &one};

int64_t five(void *thing, int64_t count, double weight, int32_t index, void *info) {
    called++;
    checked += *(uint64_t *)info;
    return *(int64_t *)thing + count + (int64_t)weight + index;
}

void demand(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "calls: this does not hold: %s\n", what);
    _Exit(1); /* other threads may be at work */
}
void check(treadle_status status) { demand(status >= 0, treadle_status_name(status)); }

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
    is_quick = count == 5 && strcmp(words[4], "quick") == 0;
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
    fprintf(stderr, "usage: calls treadle|libffi|direct|plain|byhand list, or: run WORKLOAD [quick]\n");
    return 2;
}
