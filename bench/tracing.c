/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * tracing.c: what a trace costs a callback that does nothing, and one of 200 ns and of 1 us. Prints a row of a table for each kind of
 * work; run-tracing says more. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <treadle.h>

#include "median.h"

enum { SOURCES = 64, POSTS = 512, PASSES = 512, MOST_SAMPLES = 10000 };
static const int64_t works[] = {0, 200, 1000};
enum { WORKS = sizeof works / sizeof *works };

static treadle_loop loop;
static treadle_source sources[SOURCES], own;
static unsigned long turns_of_work, done;
static int passes_left;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}
static void require(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "tracing: %s\n", what);
    exit(1);
}

/* Work that nothing makes quicker: each turn needs the one before. */
static void work(void) {
    unsigned long value = done;
    for (unsigned long i = 0; i < turns_of_work; i++) __asm__ volatile("imul %0, %0" : "+r"(value));
    done = value + 1;
}
static void posted(void *info) { (void)info, work(); }
static void performed(treadle_source source, void *info) { (void)source, (void)info, work(); }
static void performed_again(treadle_source source, void *info) {
    (void)info, work();
    if (--passes_left > 0) treadle_source_signal(source);
}
static treadle_source make(treadle_perform_fn perform) {
    treadle_source source;
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    context.perform = perform, context.label = "a source";
    require(treadle_source_create(&context, &source) == TREADLE_OK, "a source can be made");
    require(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE) == TREADLE_OK, "a source can be added");
    return source;
}
static void run(void) { require(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0) >= 0, "the loop runs"); }

/* Nanoseconds for each callback, with what led to it. */
static double post_and_call(void) {
    int64_t begun = now();
    for (int i = 0; i < POSTS; i++) treadle_loop_post(loop, posted, NULL);
    run();
    return (double)(now() - begun) / POSTS;
}
static double signal_and_call(void) {
    int64_t begun = now();
    for (int i = 0; i < SOURCES; i++) treadle_source_signal(sources[i]);
    run();
    return (double)(now() - begun) / SOURCES;
}
static double call_of_signalled(void) {
    for (int i = 0; i < SOURCES; i++) treadle_source_signal(sources[i]);
    int64_t begun = now();
    run();
    return (double)(now() - begun) / SOURCES;
}
static double pass_of_one(void) {
    int64_t begun = now();
    passes_left = PASSES;
    treadle_source_signal(own);
    while (passes_left > 0) run();
    return (double)(now() - begun) / PASSES;
}
static const struct {
    const char *what;
    double (*measure)(void);
} kinds[] = {{"callback of a source, one of 64 of a pass", call_of_signalled},
             {"the same with its signal", signal_and_call},
             {"post from the loop's own thread, and its callback", post_and_call},
             {"run of one pass, with one callback and its signal", pass_of_one}};

static double turns_in_a_nanosecond(void) {
    double rates[21];
    turns_of_work = 1000000;
    for (int i = 0; i < 21; i++) {
        int64_t begun = now();
        work();
        rates[i] = 1e6 / (double)(now() - begun);
    }
    return median(rates, 21);
}

/* A sample is measured without a trace and with one, one right after the other, since processors change their speed. */
static void measure(const char *what, double (*nanoseconds)(void), int64_t length, int samples) {
    static double without[MOST_SAMPLES], more[MOST_SAMPLES];
    for (int i = 0; i < samples; i++) {
        nanoseconds(); /* is no sample: the caches are as others have left them */
        without[i] = nanoseconds();
        require(treadle_trace_start("/dev/null") == TREADLE_OK, "a trace begins");
        nanoseconds(); /* makes the ring */
        more[i] = nanoseconds() - without[i];
        require(treadle_trace_stop() == TREADLE_OK, "a trace ends");
    }
    double base = median(without, samples), added = median(more, samples);
    printf("| %s | %d ns | %.1f ns | %.1f ns | %.1f %% |\n", what, (int)length, base, added, added / base * 100);
    fflush(stdout);
}

int main(int count, char **arguments) {
    int samples = count > 1 ? atoi(arguments[1]) : 500;
    require(samples > 0 && samples <= MOST_SAMPLES, "the number of samples is 1 to 10000");
    loop = treadle_loop_current();
    for (int i = 0; i < SOURCES; i++) sources[i] = make(performed);
    own = make(performed_again);
    double rate = turns_in_a_nanosecond();
    printf("| what | the callback takes | without a trace | more with one | |\n| --- | ---: | ---: | ---: | ---: |\n");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int w = 0; w < WORKS; w++) {
            turns_of_work = (unsigned long)((double)works[w] * rate);
            measure(kinds[k].what, kinds[k].measure, works[w], samples);
        }
    }
    return 0;
}
