/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * clock.c: a library that the loader puts before the C library (LD_PRELOAD): the clock of the calendar is in another year, for a program
 * and all that it loads. SHAPE_CLOCK_SHIFT says by how many seconds. What the kernel does at a date on that clock it does by its own. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shift;
static __attribute__((constructor)) void read_shift(void) {
    const char *text = getenv("SHAPE_CLOCK_SHIFT");
    shift = text ? (time_t)atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI)) now->tv_sec += shift;
    return result;
}
int timespec_get(struct timespec *now, int base) {
    if (base != TIME_UTC || clock_gettime(CLOCK_REALTIME, now) != 0) return 0;
    return base;
}
time_t time(time_t *out) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *now, void *zone) {
    struct timespec precise = {0};
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &precise);
    *now = (struct timeval){.tv_sec = precise.tv_sec, .tv_usec = precise.tv_nsec / 1000};
    return result;
}
