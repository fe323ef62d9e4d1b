/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * switch.c: the number by which a mutant of logic is switched on, for the debug build that has them all
 * (scripts/test-mutants --logic). TREADLE_TEST_MUTANT is the number; TREADLE_TEST_REACHED a file with a byte for each,
 * which is set when its place is reached. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 4096 };
static int chosen;
static char *reached;

__attribute__((constructor(101))) static void choose(void) {
    const char *number = getenv("TREADLE_TEST_MUTANT"), *name = getenv("TREADLE_TEST_REACHED");
    int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) reached = memory;
    if (file >= 0) close(file);
    chosen = number ? atoi(number) : 0;
}

bool treadle_system_explored_fault(int number) {
    if (reached && number < MOST) reached[number] = 1;
    return number == chosen;
}
