/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * search.c: searching the schedules of a scene. Each run begins with the same memory (snapshot.c), and tells what it decided;
 * by that the next one is planned. */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

struct scene_entry *scenes;
void scene_register(struct scene_entry *entry) {
    struct scene_entry **place = &scenes;
    while (*place && strcmp((*place)->name, entry->name) < 0) place = &(*place)->next;
    if (*place && !strcmp((*place)->name, entry->name)) {
        fprintf(stderr, "two scenes have the name %s\n", entry->name);
        exit(2);
    }
    entry->next = *place;
    *place = entry;
}

bool is_named(const char *names, const char *name) {
    size_t length = strlen(name);
    for (const char *at = names; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && !strncmp(at, name, length)) return true;
    return !names;
}

double seconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* --- One run ---------------------------------------------------------------------------------------- */

bool run(struct scene_entry *scene) {
    shared->is_over = shared->has_failed = false;
    shared->run++;
    shared->decision_count = 0;
    shared->message[0] = shared->report[0] = 0;
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_sec = 300}}, NULL);
    run_scene(scene->body);
    snapshot_restore();
    return !shared->has_failed;
}

void learn_words(void) {
    for (int i = 0; i < SHARED_WORDS; i++) shared->known_words[i] |= shared->words[i];
}
static bool has_learned(void) {
    for (int i = 0; i < SHARED_WORDS; i++) {
        uint16_t all = shared->known_words[i] | shared->words[i], old = shared->known_words[i];
        bool is_shared = (all >> 8) && (all & 0xFF & ((all & 0xFF) - 1));
        bool was_shared = (old >> 8) && (old & 0xFF & ((old & 0xFF) - 1));
        if (is_shared && !was_shared) return true;
    }
    return false;
}

/* --- Searching -------------------------------------------------------------------------------------- */

static bool is_used_up(const struct search *s) { return s->schedules >= s->limit || seconds() >= s->until; }
static bool explore(struct search *s) {
    s->schedules++;
    bool is_good = run(s->scene);
    s->steps += shared->steps;
    return is_good;
}

static void add_to_plan(const struct decision *d, int index) {
    if (shared->plan_count < PLAN) shared->plan[shared->plan_count++] = (struct planned){d->step, d->kind, d->options[index]};
}
/* The plan of the next run in depth-first order; false at the end. */
static bool next_plan(void) {
    int i = shared->decision_count - 1;
    while (i >= 0 && shared->decisions[i].index + 1 >= shared->decisions[i].count) i--;
    if (i < 0) return false;
    shared->plan_count = 0;
    for (int n = 0; n < i; n++)
        if (shared->decisions[n].index) add_to_plan(&shared->decisions[n], shared->decisions[n].index);
    add_to_plan(&shared->decisions[i], shared->decisions[i].index + 1);
    return true;
}
/* All runs with so many preemptions and old values at most. 1: all are good; 0: there was no time for all; -1: one failed. */
static int exhaust(struct search *s, int preemptions, int stale_reads) {
    shared->strategy = EXHAUSTIVE;
    shared->preemptions = preemptions;
    shared->stale_reads = stale_reads;
    while (true) {
        shared->plan_count = 0;
        do {
            if (is_used_up(s)) return 0;
            if (!explore(s)) return -1;
        } while (next_plan());
        if (!has_learned()) return 1;
        learn_words(); /* there are places that were not known: once more */
    }
}
bool sample(struct search *s, uint64_t seed, uint32_t points) {
    shared->strategy = RANDOM;
    shared->plan_count = 0;
    shared->seed = seed;
    shared->points = points;
    shared->changes = (int)(seed % 4 + (seed / 12 % 4 == 3 ? 3 : 0));
    shared->stale_reads = (int)(seed / 4 % 3);
    return explore(s);
}

const int bounds[BOUNDS][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1}};
enum { FIRST_RUNS = 40, LEAST_BY_CHANCE = 1000 };

bool search(struct search *s, uint64_t seed, struct reach *reach) {
    double began = seconds(), all_time = s->until;
    long all_schedules = s->limit;
    *reach = (struct reach){.bound = -1, .was_by_chance = true};
    memset(shared->known_words, 0, sizeof shared->known_words);
    memset(shared->words, 0, sizeof shared->words);
    uint32_t points = 0;
    /* At first a few by chance, by which it is known what words the threads share. */
    for (uint64_t i = 0; i < FIRST_RUNS && !is_used_up(s); i++) {
        reach->seed = seed + i;
        if (!sample(s, seed + i, points)) return false;
        if (shared->seen_points > points) points = shared->seen_points;
        learn_words();
    }
    reach->was_by_chance = false;
    s->until = began + (all_time - began) * 0.6;
    s->limit = all_schedules * 6 / 10;
    for (int i = 0; i < BOUNDS; i++) {
        int result = exhaust(s, bounds[i][0], bounds[i][1]);
        if (result < 0) return false;
        if (result == 0) break;
        reach->bound = i;
    }
    s->until = all_time;
    s->limit = all_schedules;
    reach->was_by_chance = true;
    long exhausted = s->schedules;
    /* The rest by chance. Where no bound has stopped the search, it ends with the same share by chance as elsewhere. */
    long enough = reach->bound < BOUNDS - 1 ? all_schedules : exhausted * 4 / 6 + LEAST_BY_CHANCE;
    for (uint64_t i = FIRST_RUNS; s->schedules - exhausted < enough && !is_used_up(s); i++) {
        reach->seed = seed + i;
        if (!sample(s, reach->seed, points)) return false;
        learn_words();
    }
    reach->by_chance = s->schedules - exhausted;
    return true;
}
