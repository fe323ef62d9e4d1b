/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * worker N...: a worker finds the Nth primes, in a table that grows and is its own; the main thread tells them. */
#include <stdio.h>
#include <stdlib.h>
#include <treadle.h>

struct question {
    long n, answer;
};

static treadle_loop home;
static int missing;
static long *primes, found;

static void require(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "cannot %s\n", what);
    exit(1);
}

static int is_prime(long candidate) {
    for (long i = 0; i < found && primes[i] * primes[i] <= candidate; i++)
        if (candidate % primes[i] == 0) return 0;
    return 1;
}

/* On the main thread. */
static void tell(void *info) {
    struct question *question = info;
    printf("prime %ld: %ld\n", question->n, question->answer);
    free(question);
    if (--missing == 0) treadle_loop_stop(home);
}

/* On the worker. */
static void answer(void *info) {
    struct question *question = info;
    if (question->n > found) require((primes = realloc(primes, question->n * sizeof *primes)) != NULL, "allocate");
    for (long candidate = found > 0 ? primes[found - 1] + 1 : 2; found < question->n; candidate++)
        if (is_prime(candidate)) primes[found++] = candidate;
    question->answer = primes[question->n - 1];
    require(treadle_loop_post(home, tell, question) == TREADLE_OK, "post an answer");
}

int main(int argc, char **argv) {
    treadle_thread worker;
    treadle_loop loop;
    treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
    home = treadle_loop_current();
    require(treadle_thread_create(&config, &worker) == TREADLE_OK, "make a worker");
    require(treadle_thread_start_and_wait(worker, TREADLE_FOREVER) == TREADLE_OK, "start the worker");
    require(treadle_thread_copy_loop(worker, &loop) == TREADLE_OK, "get the worker's loop");

    missing = argc - 1;
    for (int i = 1; i < argc; i++) {
        struct question *question = calloc(1, sizeof *question);
        require(question != NULL && (question->n = atol(argv[i])) > 0, "take the question");
        require(treadle_loop_post(loop, answer, question) == TREADLE_OK, "post a question");
    }
    if (missing > 0) treadle_loop_run(home, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);

    require(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, NULL) == TREADLE_OK, "stop the worker");
    treadle_loop_release(loop);
    treadle_thread_release(worker);
    free(primes);
    return 0;
}
