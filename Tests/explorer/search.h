/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * search.h: the search through the schedules of a scene, for main.c and mutants.c. */
#ifndef SEARCH_H
#define SEARCH_H

#include "scene.h"
#include "world.h"

extern struct scene_entry *scenes; /* by name */

/* A fault of the library that a scene must find when it is put back: faults.txt. The last one has no scene. */
struct known_fault {
    const char *scene, *about;
};
extern const struct known_fault known_faults[];

struct search {
    struct scene_entry *scene;
    long schedules, limit;
    double until;
    long steps;
};
/* The search through a scene; whether all was good, and how far it came. */
struct reach {
    int bound; /* the last of `bounds` that was exhausted; -1: none */
    long by_chance;
    uint64_t seed; /* of the last run, if that was by chance */
    bool was_by_chance;
};
enum { BOUNDS = 9 };
extern const int bounds[BOUNDS][2]; /* preemptions and old values at most */

double seconds(void); /* of the processor: the search is the same on a busy machine */
bool run(struct scene_entry *scene);
void learn_words(void);
bool sample(struct search *s, uint64_t seed, uint32_t points);
bool search(struct search *s, uint64_t seed, struct reach *reach); /* false with the run that failed in `shared` */

/* Whether a name is one of those, with commas between them; NULL: all. */
bool is_named(const char *names, const char *name);

/* reach.c */
bool reach_prepare(void);
int print_reach(const char *only);

/* mutants.c. ONLY: the name of a scene, or NULL. */
int mutants(const char *file, const char *only, long limit, double budget);

#endif
