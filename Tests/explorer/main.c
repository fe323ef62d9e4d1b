/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * main.c: the explorer's command, and what it prints. See scripts/test-explore. */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

/* --- Schedules as text: step, kind, value; comma --------------------------------------------------- */

static void print_schedule(void) {
    bool is_first = true;
    for (int i = 0; i < shared->decision_count; i++) {
        struct decision *d = &shared->decisions[i];
        if (shared->strategy == EXHAUSTIVE && d->index == 0) continue;
        printf("%s%u%c%u", is_first ? "" : ",", d->step, d->kind, d->options[d->index]);
        is_first = false;
    }
    if (is_first) printf("0");
}
static bool read_schedule(const char *text) {
    shared->plan_count = 0;
    for (char *end; *text; text = *end == ',' ? end + 1 : end) {
        struct planned p = {.step = (uint32_t)strtoul(text, &end, 10)};
        if (end == text) return false;
        if (*end == 0) return true; /* a number alone: nothing is planned */
        p.kind = *end++;
        text = end;
        p.value = (uint8_t)strtoul(text, &end, 10);
        if (end == text || shared->plan_count == PLAN) return false;
        shared->plan[shared->plan_count++] = p;
        if (*end && *end != ',') return false;
    }
    return true;
}

/* --- Scenes ----------------------------------------------------------------------------------------- */

static void print_failure(struct search *s, const char *seed) {
    printf("FAILED %s: %s\n%s", s->scene->name, shared->message, shared->report);
    printf("play it again: scripts/test-explore --scene %s --seed ", s->scene->name);
    if (seed) printf("%s (schedule ", seed);
    print_schedule();
    printf("%s\n", seed ? ")" : "");
}

/* The run that failed, once more, with each step. */
static void trace(struct search *s) {
    struct planned plan[PLAN];
    int count = 0;
    for (int i = 0; i < shared->decision_count && count < PLAN; i++) {
        struct decision *d = &shared->decisions[i];
        if (shared->strategy == EXHAUSTIVE && d->index == 0) continue;
        plan[count++] = (struct planned){d->step, d->kind, d->options[d->index]};
    }
    memcpy(shared->plan, plan, sizeof plan);
    shared->plan_count = count;
    shared->strategy = EXHAUSTIVE;
    shared->preemptions = shared->stale_reads = 0;
    shared->is_tracing = true;
    run(s->scene);
    shared->is_tracing = false;
    printf("the same run %s: %s\n", shared->has_failed ? "failed again" : "did not fail again", shared->message);
}

static bool is_found(bool is_good, const char *name, const char *message) {
    bool is_found = !is_good && !strncmp(shared->message, message, strlen(message));
    if (is_found) printf("    its fault is found: %s\n", shared->message);
    else printf("FAILED %s: its fault is not found (%s)\nthe same run\n", name, shared->message);
    return is_found;
}
static bool search_and_tell(struct search *s, struct reach *reach, double budget) {
    double began = seconds();
    s->until = began + budget;
    bool is_good = search(s, 1, reach);
    printf("%-46s %6ld schedules %4.1f s  ", s->scene->name, s->schedules, seconds() - began);
    if (reach->bound >= 0) printf("exhaustive: %d preemptions, %d old values; ", bounds[reach->bound][0], bounds[reach->bound][1]);
    if (reach->by_chance > 0) printf("%ld by PCT; ", reach->by_chance);
    printf("%ld steps a run\n", s->steps / (s->schedules ? s->schedules : 1));
    return is_good;
}
static bool explore_scene(struct scene_entry *scene, long limit, double budget) {
    struct search s = {.scene = scene, .limit = limit};
    struct reach reach;
    bool is_good = search_and_tell(&s, &reach, budget);
    if (scene->fault) return is_found(is_good, scene->name, scene->fault);
    if (is_good) return true;
    char text[32];
    snprintf(text, sizeof text, "%lu", (unsigned long)reach.seed);
    print_failure(&s, reach.was_by_chance ? text : NULL);
    trace(&s);
    return false;
}

static bool play(struct scene_entry *scene, const char *seed) {
    struct search s = {.scene = scene, .limit = 1};
    memset(shared->known_words, 0xFF, sizeof shared->known_words);
    char *end;
    unsigned long number = strtoul(seed, &end, 10);
    bool is_good;
    if (*end == 0 && number != 0) {
        uint32_t points = 0;
        memset(shared->known_words, 0, sizeof shared->known_words);
        memset(shared->words, 0, sizeof shared->words);
        for (uint64_t i = 1; i <= 40; i++) {
            sample(&s, i, points);
            if (shared->seen_points > points) points = shared->seen_points;
            learn_words();
        }
        is_good = sample(&s, number, points);
    } else {
        if (!read_schedule(seed)) {
            fprintf(stderr, "not a seed: %s\n", seed);
            exit(2);
        }
        shared->strategy = EXHAUSTIVE;
        is_good = run(scene);
    }
    if (!is_good) print_failure(&s, NULL);
    trace(&s);
    return is_good;
}

/* Puts back each fault of the library that there was: its scene must fail. Most do in the first schedules, and the search ends with
 * the first that does, so each may take long: seconds of a processor. */
static const double LEAST_FOR_A_FAULT = 2;
static void explore_faults(const char *only, long limit, double budget, int *passed, int *failed) {
    double most = budget < LEAST_FOR_A_FAULT ? LEAST_FOR_A_FAULT : budget;
    for (const struct known_fault *fault = known_faults; fault->scene; fault++) {
        if (!is_named(only, fault->scene)) continue;
        struct search s = {.scene = scenes, .limit = limit};
        while (s.scene && strcmp(s.scene->name, fault->scene)) s.scene = s.scene->next;
        struct reach reach;
        shared->fault = (int)(fault - known_faults) + 1;
        printf("fault %d: %s\n", shared->fault, fault->about);
        if (!s.scene) printf("FAILED %s: there is no such scene\nthe same run\n", fault->scene);
        bool is_good = s.scene && is_found(search_and_tell(&s, &reach, most), fault->scene, "");
        shared->fault = 0;
        is_good ? ++*passed : ++*failed;
    }
}
bool treadle_system_explored_fault(int number) {
    if (reached) note_reached_fault(number);
    return shared->fault == number;
}

int main(int argc, char **argv) {
    if (!(personality(0xFFFFFFFF) & ADDR_NO_RANDOMIZE)) {
        personality(ADDR_NO_RANDOMIZE);
        execv("/proc/self/exe", argv);
    }
    const char *only = NULL, *seed = NULL;
    long limit = 20000;
    double budget = 1.5;
    bool is_x86 = false, is_reach = false;
    const char *mutant_file = NULL; /* a file; "-": the sites are printed */
    int fault = 0;
    uint32_t may_fail = 0;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return 2;
        if (!strcmp(argv[i], "--scene")) only = argv[i + 1];
        else if (!strcmp(argv[i], "--seed")) seed = argv[i + 1];
        else if (!strcmp(argv[i], "--schedules")) limit = strtol(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--seconds")) budget = strtod(argv[i + 1], NULL);
        else if (!strcmp(argv[i], "--memory")) is_x86 = !strcmp(argv[i + 1], "x86");
        else if (!strcmp(argv[i], "--fault")) fault = (int)strtol(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--fail")) may_fail = (uint32_t)strtoul(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--reach")) is_reach = !strcmp(argv[i + 1], "yes");
        else if (!strcmp(argv[i], "--mutants")) mutant_file = argv[i + 1];
        else return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    shared->is_x86 = is_x86;
    shared->fault = fault;
    shared->may_fail = may_fail;
    if (is_reach && !reach_prepare()) return 2;
    threads_prepare();
    snapshot_take();
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (is_reach) return print_reach(only);
    if (mutant_file) return mutants(mutant_file, only, limit, budget);
    int passed = 0, failed = 0;
    for (struct scene_entry *scene = scenes; scene; scene = scene->next) {
        if (!is_named(only, scene->name)) continue;
        bool is_good = seed ? play(scene, seed) : explore_scene(scene, limit, budget);
        is_good ? passed++ : failed++;
    }
    if (!seed && !fault) explore_faults(only, limit, budget, &passed, &failed);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
