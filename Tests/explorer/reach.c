/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * reach.c: which places of the program each scene reaches while schedules differ, for the choice of scenes (scripts/treadle_scenes.py). */
#include "search.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

extern const char __executable_start[], etext[]; /* by the linker */

uint8_t *reached;
static uint8_t *faults;
enum { RUNS = 40, FAULTS = 4096 };

static size_t size_of_text(void) { return (size_t)(etext - __executable_start); }
bool reach_prepare(void) {
    void *memory = mmap(NULL, size_of_text() + FAULTS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory != MAP_FAILED) reached = memory, faults = reached + size_of_text();
    return memory != MAP_FAILED;
}
void note_reached(const void *site) {
    size_t at = (size_t)((const char *)site - __executable_start);
    if (world.is_exploring && at < size_of_text()) reached[at] = 1;
}
void note_reached_fault(int number) {
    if (number < FAULTS) faults[number] = 1;
}

/* A line for each scene: its name, the addresses behind the calls, and the numbers of the switches, each with an s before it. */
int print_reach(const char *only) {
    for (struct scene_entry *scene = scenes; scene; scene = scene->next) {
        if (scene->fault || !is_named(only, scene->name)) continue;
        memset(reached, 0, size_of_text() + FAULTS);
        struct search s = {.scene = scene, .limit = RUNS, .until = seconds() + 10};
        struct reach reach;
        search(&s, 1, &reach); /* a scene that fails says so when it is played */
        printf("%s", scene->name);
        for (size_t at = 0; at < size_of_text(); at++)
            if (reached[at]) printf(" %zx", at + (size_t)__executable_start);
        for (int number = 0; number < FAULTS; number++)
            if (faults[number]) printf(" s%d", number);
        printf("\n");
    }
    return 0;
}
