/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * work.h: the work of Work.swift in C, with the same promises: each body has data of its own, which is given back also where it is
 * never called. Each function does something `count` times and ends the process if anything is refused. */
#ifndef TREADLE_BENCH_WORK_H
#define TREADLE_BENCH_WORK_H

#include <stdint.h>

/* Posts to the calling thread's loop, four at a time: each makes the next. */
void c_post(int64_t count);
/* A source that signals itself in each perform, until the count is reached. */
void c_signal(int64_t count);
/* One-shot timers that are due at once, in the same way. */
void c_timer(int64_t count);
/* A one-shot timer that arms itself again in its callback. */
void c_rearm(int64_t count);
/* Performs on a worker, and waits. */
void c_wait(int64_t count);

/* What all bodies have counted until now. */
int64_t c_counted(void);

/* Has all threads that begin later, and the calling one, run on one processor. */
void bind_process(void);
/* What all threads of the process have spent on processors, in nanoseconds. */
int64_t processor_time(void);

#endif
