/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * main.c: the explorer. It makes one run after the other, each from the same beginning (snapshot.c), and searches by
 * what the run has told. See scripts/test-explore. */
#include "scene.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static struct scene_entry *scenes;
void scene_register(struct scene_entry *entry) {
    struct scene_entry **place = &scenes;
    while (*place && strcmp((*place)->name, entry->name) < 0) place = &(*place)->next;
    entry->next = *place;
    *place = entry;
}

/* Of the processor: the search is the same on a busy machine. */
static double seconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_utime.tv_sec + (double)used.ru_stime.tv_sec + (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* --- One run ---------------------------------------------------------------------------------------- */

static bool run(struct scene_entry *scene) {
    shared->is_over = shared->has_failed = false;
    shared->decision_count = 0;
    shared->message[0] = shared->report[0] = 0;
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_sec = 300}}, NULL);
    run_scene(scene->body);
    snapshot_restore();
    return !shared->has_failed;
}

static void learn_words(void) {
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

/* --- Searching -------------------------------------------------------------------------------------- */

struct search {
    struct scene_entry *scene;
    long schedules;
    long limit;
    double until;
    long steps;
};
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
static bool sample(struct search *s, uint64_t seed, uint32_t points) {
    shared->strategy = RANDOM;
    shared->plan_count = 0;
    shared->seed = seed;
    shared->points = points;
    shared->changes = (int)(seed % 4);
    shared->stale_reads = (int)(seed / 4 % 3);
    return explore(s);
}

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

static bool explore_scene(struct scene_entry *scene, long limit, double budget, uint64_t seed) {
    static const int bounds[][2] = {{0, 0}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}};
    double began = seconds();
    struct search s = {.scene = scene, .limit = limit, .until = began + budget};
    memset(shared->known_words, 0, sizeof shared->known_words);
    memset(shared->words, 0, sizeof shared->words);
    uint32_t points = 100;
    bool is_good = true;
    /* At first a few by chance, by which it is known what words the threads share. */
    for (uint64_t i = 0; is_good && i < 40 && !is_used_up(&s); i++) {
        is_good = sample(&s, seed + i, points);
        if (shared->seen_points > points) points = shared->seen_points;
        learn_words();
    }
    char text[32];
    snprintf(text, sizeof text, "%lu", (unsigned long)shared->seed);
    int reached = -1;
    long exhausted = 0;
    if (is_good) {
        double all = s.until;
        s.until = began + budget * 0.6;
        for (int i = 0; i < (int)(sizeof bounds / sizeof *bounds); i++) {
            int result = exhaust(&s, bounds[i][0], bounds[i][1]);
            if (result < 0) is_good = false;
            if (result < 1) break;
            reached = i;
        }
        s.until = all;
        exhausted = s.schedules;
        if (!is_good) text[0] = 0;
        bool is_complete = reached >= 4;
        for (uint64_t i = 40; is_good && !is_complete && !is_used_up(&s); i++) {
            is_good = sample(&s, seed + i, points);
            snprintf(text, sizeof text, "%lu", (unsigned long)(seed + i));
            learn_words();
        }
    }
    printf("%-40s %6ld schedules %5.1f s  ", scene->name, s.schedules, seconds() - began);
    if (reached >= 0) printf("exhaustive: %d preemptions, %d old values", bounds[reached][0], bounds[reached][1]);
    if (s.schedules > exhausted) printf("%s%ld by PCT", reached >= 0 ? "; " : "", s.schedules - exhausted);
    printf("; %ld steps a run\n", s.steps / (s.schedules ? s.schedules : 1));
    if (is_good) return true;
    print_failure(&s, text[0] ? text : NULL);
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
        uint32_t points = 100;
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

int main(int argc, char **argv) {
    if (!(personality(0xFFFFFFFF) & ADDR_NO_RANDOMIZE)) {
        personality(ADDR_NO_RANDOMIZE);
        execv("/proc/self/exe", argv);
    }
    const char *only = NULL, *seed = NULL;
    long limit = 20000;
    double budget = 1.5;
    bool is_x86 = false;
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return 2;
        if (!strcmp(argv[i], "--scene")) only = argv[i + 1];
        else if (!strcmp(argv[i], "--seed")) seed = argv[i + 1];
        else if (!strcmp(argv[i], "--schedules")) limit = strtol(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "--seconds")) budget = strtod(argv[i + 1], NULL);
        else if (!strcmp(argv[i], "--memory")) is_x86 = !strcmp(argv[i + 1], "x86");
        else return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    shared->is_x86 = is_x86;
    threads_prepare();
    snapshot_take();
    setvbuf(stdout, NULL, _IOLBF, 0);
    int passed = 0, failed = 0;
    for (struct scene_entry *scene = scenes; scene; scene = scene->next) {
        if (only && strcmp(only, scene->name)) continue;
        bool is_good = seed ? play(scene, seed) : explore_scene(scene, limit, budget, 1);
        is_good ? passed++ : failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
