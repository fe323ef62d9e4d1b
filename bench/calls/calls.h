/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * calls.h: what the workloads of calls share. Each of them is done in some of the ways, by a process of its own. */
#ifndef TREADLE_BENCH_CALLS_H
#define TREADLE_BENCH_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <treadle.h>

/* Through Treadle; by libffi itself; by a plain C call; a plain callback of a loop of Treadle's; a thread's loop of
 * epoll, an eventfd and a list under a mutex, as a program without Treadle would write it. */
enum way { BY_TREADLE, BY_LIBFFI, DIRECTLY, PLAINLY, BY_HAND, WAYS };
#define WAY(way) (1u << (way))

struct workload {
    const char *name; /* NULL ends a list */
    void (*run)(const char *name, enum way way);
    unsigned ways;
    bool needs_two_processors;
};
extern const struct workload function_workloads[], loop_workloads[], hop_workloads[], scope_workloads[], message_workloads[],
    request_workloads[], embedding_workloads[], visit_workloads[], isolated_workloads[];

/* A quick run does a small part of the work: it checks the counts, and its figures mean nothing. */
extern bool is_quick;
static inline size_t amount(size_t full) { return is_quick ? full / 50 : full; }

/* In a lived-in host another thread runs already, and each loop has a timer an hour away, an idle descriptor and an idle
 * source besides: live_in gives them to the calling thread's loop. In a bare one it does nothing. */
extern bool is_lived_in;
void live_in(treadle_loop loop);

/* Something that must hold. If it does not, the process ends without a figure. */
void demand(bool holds, const char *what);
void check(treadle_status status);
uint64_t clock_ns(void);
/* A figure, as a line of JSON on standard output. A unit that ends with "/s": more is better. */
void tell(const char *figure, double value, const char *unit);
/* The same, with `suffix` after the workload's name. */
void tell_part(const char *workload, const char *suffix, double value, const char *unit);

/* The two processors that a workload may use; the same where only one is allowed. */
extern int first_processor, second_processor;
void bind_thread(int processor);

/* The plugin that is measured: its file is beside the program. */
const char *path_of_plugin(void);

/* The function that most workloads call: five arguments of four kinds, and a result. */
#define FIVE_SIGNATURE "q^vqdi^v"
typedef int64_t five_fn(void *object, int64_t count, double weight, int32_t index, void *info);
struct five_arguments {
    void *object;
    int64_t count;
    double weight;
    int32_t index;
    void *info;
};
extern struct five_arguments arguments; /* info: to a 1, that `checked` sums up */
extern uint64_t called, checked;        /* by whoever handles the call */
enum { FIVE_RESULT = 42 };
int64_t five(void *object, int64_t count, double weight, int32_t index, void *info);

#endif
