/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * mutants.c: whether the scenes fail if an order is weakened. A mutant is a list of sites and what they ask for instead: nothing is
 * compiled for it. See scripts/test-mutants. */
#include "search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST_LIMIT = 300, LAST_FACTOR = 8, LINE = WEAKENED * 12 };
struct sites {
    uint32_t list[SITES];
    int8_t orders[SITES];
    int count;
    bool is_idle; /* the mutant makes no difference in this scene */
};
/* The sites of each scene that ask for an order. Prints them if asked to. */
static void find_sites(struct sites *sites, const char *only, bool are_printed) {
    for (struct scene_entry *scene = scenes; scene; scene = scene->next, sites++) {
        if (scene->fault || (only && strcmp(only, scene->name))) continue;
        struct search s = {.scene = scene, .limit = 300, .until = seconds() + 10};
        struct reach reach;
        shared->site_count = 0;
        shared->records_sites = true;
        bool is_good = search(&s, 1, &reach);
        shared->records_sites = false;
        if (!is_good) {
            printf("the scene %s fails without a mutant: %s\n", scene->name, shared->message);
            exit(1);
        }
        memcpy(sites->list, shared->sites, sizeof sites->list);
        memcpy(sites->orders, shared->orders, sizeof sites->orders);
        sites->count = shared->site_count;
        for (int i = 0; are_printed && i < sites->count; i++) printf("site %u %d %d\n", sites->list[i], sites->orders[i], shared->are_looks[i]);
    }
}

/* A line of the file: the order, then the sites. */
static void weaken(char *line) {
    memset(shared->weakened_marks, 0, sizeof shared->weakened_marks);
    shared->weakened_count = 0;
    char *at = line, *end;
    shared->weakened_to = (int)strtol(at, &end, 10);
    for (at = end; shared->weakened_count < WEAKENED; at = end) {
        uint32_t site = (uint32_t)strtoul(at, &end, 10);
        if (end == at) break;
        shared->weakened[shared->weakened_count++] = site;
        shared->weakened_marks[site % MARKS] = true;
    }
}
static bool has_weakened(const struct sites *sites) {
    for (int i = 0; i < sites->count; i++)
        for (int w = 0; shared->weakened_marks[sites->list[i] % MARKS] && w < shared->weakened_count; w++)
            if (sites->list[i] == shared->weakened[w]) return true;
    return false;
}
static bool is_killed_by(struct scene_entry *scene, struct sites *sites, long limit, double budget, long *differences) {
    if (sites->is_idle) return false;
    struct search s = {.scene = scene, .limit = limit, .until = seconds() + budget};
    struct reach reach;
    shared->differences = 0;
    bool is_killed = !search(&s, 1, &reach);
    *differences += shared->differences;
    /* A rare schedule may make the first difference. */
    sites->is_idle = shared->differences == 0 && (limit > FIRST_LIMIT || shared->is_x86);
    return is_killed;
}
/* The scene that fails; NULL: none. Adds how often the mutant has made a difference. */
static const char *find_killer(struct sites *sites, long limit, double budget, long *differences) {
    static int last; /* mutants of one file lie side by side, and one scene kills several */
    int count = 0;
    for (struct scene_entry *scene = scenes; scene; scene = scene->next, count++)
        if (count == last && is_killed_by(scene, &sites[count], limit, budget, differences)) return scene->name;
    count = 0;
    for (struct scene_entry *scene = scenes; scene; scene = scene->next, count++) {
        if (count == last || !is_killed_by(scene, &sites[count], limit, budget, differences)) continue;
        last = count;
        return scene->name;
    }
    return NULL;
}
/* Most are killed soon, by one scene or another; the others need a rare schedule of a scene in which the mutant makes a difference. */
static const char *find_killer_in_steps(struct sites *sites, long limit, double budget, long *differences) {
    const char *killer = find_killer(sites, FIRST_LIMIT, budget, differences);
    if (!killer) killer = find_killer(sites, limit, budget, differences);
    if (!killer) killer = find_killer(sites, limit * LAST_FACTOR, budget * LAST_FACTOR, differences);
    return killer;
}
/* Some orders matter on x86 alone, where an exchange is a fence. */
static const char *find_killer_in_both(struct sites *sites, long limit, double budget, long *differences) {
    const char *killer = NULL;
    for (int is_x86 = 0; is_x86 < 2 && !killer; is_x86++) {
        int count = 0;
        for (struct scene_entry *scene = scenes; scene; scene = scene->next, count++) sites[count].is_idle = !has_weakened(&sites[count]);
        shared->is_x86 = is_x86;
        killer = find_killer_in_steps(sites, limit, budget, differences);
    }
    shared->is_x86 = false;
    return killer;
}

/* Each line of the file is a mutant. Prints its number, which scene kills it, and how; or in how many operations it made a difference. */
int mutants(const char *name, const char *only, long limit, double budget) {
    size_t count = 0;
    for (struct scene_entry *scene = scenes; scene; scene = scene->next) count++;
    struct sites *sites = mmap(NULL, count * sizeof *sites, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sites == MAP_FAILED) return 2;
    bool are_asked_for = !strcmp(name, "-");
    find_sites(sites, only, are_asked_for);
    if (are_asked_for) return 0;
    FILE *file = fopen(name, "r");
    char *line = malloc(LINE);
    if (!file || !line) return 2;
    for (int number = 0; fgets(line, LINE, file); number++) {
        weaken(line);
        long differences = 0;
        const char *killer = find_killer_in_both(sites, limit, budget, &differences);
        if (killer) printf("mutant %d %s %s\n", number, killer, shared->message);
        else printf("mutant %d - %ld\n", number, differences);
    }
    shared->weakened_count = 0;
    free(line);
    return fclose(file) != 0;
}
