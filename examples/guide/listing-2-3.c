/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Listing 2-3: a long job that looks between its pieces whether it is to end early.
 *
 * The job's thread has a custom input source. After each piece of work the thread runs its loop without waiting:
 * if somebody has signalled the source, its callback notes in the thread's dictionary that the job is to end;
 * else the run returns at once and the work goes on. The callback cannot reach the variables of the entry
 * function, hence the dictionary.
 *
 * Here the main thread does the telling, when it hears that enough is done. It hears so in its own run loop: the
 * job performs a function there, and at last signals a source that ends that loop. */
#include "require.h"

#define PIECES 10
#define EXIT_KEY "the job is to end" /* in the thread's dictionary: a bool */

static const bool yes = true, no = false;

struct job {
    int enough;              /* so many pieces are enough for the main thread */
    treadle_source exit_now; /* in the loop of the job's thread */
    treadle_source over;     /* in the main loop */
    int done;                /* pieces */
};

/* --- On the job's thread -------------------------------------------------------------------------- */

static void note_exit(treadle_source source, void *info) {
    (void)source, (void)info;
    require(treadle_thread_set_value(treadle_thread_current(), EXIT_KEY, (void *)&yes, NULL), "store a value");
}

static bool is_to_end(void) {
    void *value;
    require(treadle_thread_get_value(treadle_thread_current(), EXIT_KEY, &value), "look into the dictionary");
    return *(const bool *)value;
}

static void install_exit_source(struct job *job) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    context.perform = note_exit;
    require(treadle_source_create(&context, &job->exit_now), "make the source of the job");
    require(treadle_loop_add_source(treadle_loop_current(), job->exit_now, TREADLE_DEFAULT_MODE), "add it");
}

static void progressed(void *target, void *argument);

/* Tells the main thread how far the job is, and waits until it has taken note. */
static void tell_progress(struct job *job) {
    treadle_request request = TREADLE_INIT(treadle_request);
    request.fn = progressed;
    request.target = job;
    request.flags = TREADLE_PERFORM_WAIT;
    require(treadle_perform(treadle_thread_main(), &request), "tell the main thread");
}

static void *thread_main(void *info) {
    struct job *job = info;
    require(treadle_thread_set_value(treadle_thread_current(), EXIT_KEY, (void *)&no, NULL), "store a value");
    install_exit_source(job);

    bool exit_now = false;
    while (job->done < PIECES && !exit_now) {
        job->done++; /* a piece of the work would be done here */
        tell_progress(job);
        /* Looks whether the source was signalled, and does not wait. */
        require(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0), "look for messages");
        exit_now = is_to_end();
    }

    require(treadle_source_invalidate(job->exit_now), "take the source away");
    require(treadle_source_release(job->exit_now), "release it");
    require(treadle_source_signal_and_wake(job->over), "tell that the job is over");
    return NULL;
}

/* --- On the main thread --------------------------------------------------------------------------- */

static void progressed(void *target, void *argument) {
    struct job *job = target;
    (void)argument;
    if (job->done != job->enough) return;
    printf("  %d of %d pieces are enough: the job is told to end\n", job->done, PIECES);
    require(treadle_source_signal_and_wake(job->exit_now), "signal the job's source");
}

/* Without this source the main loop has nothing to wait for, so its run ends. */
static void job_is_over(treadle_source source, void *info) {
    (void)info;
    require(treadle_source_invalidate(source), "end the source of the main loop");
}

static void run(const char *name, int enough) {
    struct job job = {.enough = enough};
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    context.perform = job_is_over;
    require(treadle_source_create(&context, &job.over), "make a source");
    require(treadle_loop_add_source(treadle_loop_main(), job.over, TREADLE_DEFAULT_MODE), "add it to the main loop");

    printf("%s\n", name);
    treadle_thread_config thread_config = TREADLE_INIT(treadle_thread_config);
    thread_config.fn = thread_main;
    thread_config.info = &job;
    treadle_thread thread;
    require(treadle_thread_create(&thread_config, &thread), "make a thread");
    require(treadle_thread_start(thread), "start it");
    treadle_status result = require(treadle_loop_run_default(treadle_loop_main()), "run the main loop");
    require(treadle_thread_join(thread, TREADLE_FOREVER, NULL), "join the thread");
    require(treadle_thread_release(thread), "release it");
    require(treadle_source_release(job.over), "release the source");
    printf("  it ended with %d of %d pieces done; the main loop was %s\n", job.done, PIECES,
           result == TREADLE_RUN_FINISHED ? "finished" : "stopped");
}

int main(void) {
    run("a job that is left alone", PIECES + 1);
    run("a job that is told to end", 3);
    return 0;
}
