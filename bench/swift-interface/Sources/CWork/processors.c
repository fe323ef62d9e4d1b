/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#define _GNU_SOURCE
#include "work.h"

#include <sched.h>
#include <time.h>

void bind_process(void) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    CPU_ZERO(&one);
    for (int processor = CPU_SETSIZE - 1; processor >= 0 && CPU_COUNT(&one) == 0; processor--) {
        if (CPU_ISSET(processor, &allowed)) CPU_SET(processor, &one);
    }
    sched_setaffinity(0, sizeof one, &one);
}

int64_t processor_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
