/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libraries_uv_test.c: libuv's thread pool, whose callbacks hop to a run loop and bring results back.
 * pkg-config: libuv */
#include "closures.h"

#include <uv.h>

#define JOBS 200
typedef int64_t (*square_fn)(int64_t);

/* One piece of work. */
struct job {
    uv_work_t request;
    int64_t number, result;
    int32_t worked_on, after_on; /* threads */
    int status;
};
static struct scene {
    struct worker worker;
    treadle_closure work, after, square;
    uv_loop_t uv;
    int32_t uv_thread;
    struct job jobs[JOBS];
    int after_count;
} scene;

static treadle_status square(treadle_call *call, void *info) {
    int64_t number = *(const int64_t *)call->arguments[0], result = number * number;
    CHECK(call->loop == scene.worker.loop && info == NULL);
    CHECK_INT(thread_id(), scene.worker.thread_id);
    return treadle_call_set_result(call, &result, sizeof result);
}

static void begin(void) {
    worker_start(&scene.worker);
    CHECK_INT(uv_loop_init(&scene.uv), 0);
    scene.uv_thread = thread_id();
    for (int i = 0; i < JOBS; i++) scene.jobs[i].number = i;
}
static void queue(uv_work_cb work, uv_after_work_cb after) {
    for (int i = 0; i < JOBS; i++) CHECK_INT(uv_queue_work(&scene.uv, &scene.jobs[i].request, work, after), 0);
    CHECK_INT(uv_run(&scene.uv, UV_RUN_DEFAULT), 0);
}
static void end(void) {
    CHECK_INT(uv_loop_close(&scene.uv), 0);
    worker_stop(&scene.worker);
    for (int i = 0; i < JOBS; i++) {
        CHECK_INT(scene.jobs[i].result, (int64_t)i * i);
        CHECK_INT(scene.jobs[i].status, 0);
    }
}

/* The work runs on libuv's threads and asks the loop for what it needs. */
static void work_and_ask(uv_work_t *request) {
    struct job *job = (struct job *)request;
    job->worked_on = thread_id();
    job->result = CODE_OF(square_fn, scene.square)(job->number);
}
static void note_after(uv_work_t *request, int status) {
    struct job *job = (struct job *)request;
    job->after_on = thread_id();
    job->status = status;
    scene.after_count++;
}
TEST(threads_of_a_pool_ask_a_loop, "PERF-3 PERF-7 OBJ-7") {
    begin();
    scene.square = MADE(.signature = "qq", .handler = square, .loop = scene.worker.loop, .delivery = TREADLE_DELIVERY_SYNC);
    queue(work_and_ask, note_after);
    CHECK_INT(scene.after_count, JOBS);
    CHECK_INT(info_of(scene.square).handled, JOBS);
    end_closure(scene.square);
    for (int i = 0; i < JOBS; i++) {
        CHECK(scene.jobs[i].worked_on != scene.worker.thread_id && scene.jobs[i].worked_on != scene.uv_thread);
        CHECK_INT(scene.jobs[i].after_on, scene.uv_thread);
    }
    end();
}

/* libuv's own callbacks are closures: the work of its threads is done on the loop's thread, and so is what follows. */
static treadle_status work_there(treadle_call *call, void *info) {
    struct job *job = *(struct job *const *)call->arguments[0];
    job->worked_on = thread_id();
    job->result = job->number * job->number;
    return (void)info, TREADLE_OK;
}
static treadle_status after_there(treadle_call *call, void *info) {
    note_after(*(uv_work_t *const *)call->arguments[0], *(const int *)call->arguments[1]);
    return (void)info, TREADLE_OK;
}
TEST(the_callbacks_of_a_pool_hop, "PERF-3 PERF-7 OBJ-7") {
    begin();
    scene.work = MADE(.signature = "v^{uv_work_s}", .handler = work_there, .loop = scene.worker.loop,
                      .delivery = TREADLE_DELIVERY_SYNC);
    scene.after = MADE(.signature = "v^{uv_work_s}i", .handler = after_there, .loop = scene.worker.loop,
                       .delivery = TREADLE_DELIVERY_SYNC);
    queue(CODE_OF(uv_work_cb, scene.work), CODE_OF(uv_after_work_cb, scene.after));
    CHECK_INT(scene.after_count, JOBS);
    end_closure(scene.work);
    end_closure(scene.after);
    for (int i = 0; i < JOBS; i++) {
        CHECK_INT(scene.jobs[i].worked_on, scene.worker.thread_id);
        CHECK_INT(scene.jobs[i].after_on, scene.worker.thread_id);
    }
    end();
}

/* The loop's thread waits for libuv's meanwhile, and runs in the mode of calls: the pool's questions are answered. */
static void wait_for_all(void) {
    queue(work_and_ask, note_after);
}
TEST(a_loop_that_waits_for_the_pool_answers_it, "PERF-7 OBJ-7") {
    struct worker other;
    treadle_invocation_config config = {
        .struct_size = sizeof config, .code = (void (*)(void))wait_for_all, .signature = "v"};
    treadle_invocation_options options = {.struct_size = sizeof options, .wait = TREADLE_WAIT_RUNNING};
    treadle_invocation invocation = NULL;
    begin();
    worker_start(&other);
    scene.uv_thread = other.thread_id;
    /* The worker of the scene invokes wait_for_all on the other one, and answers while it waits. */
    scene.square = MADE(.signature = "qq", .handler = square, .loop = scene.worker.loop, .delivery = TREADLE_DELIVERY_SYNC);
    CHECK_INT(treadle_invocation_create(&config, &invocation), TREADLE_OK);
    options.loop = other.loop;
    treadle_invocation_config outer_config = {
        .struct_size = sizeof outer_config, .code = (void (*)(void))treadle_invocation_perform, .signature = "i^v^v"};
    treadle_invocation_options outer_options = {
        .struct_size = sizeof outer_options, .loop = scene.worker.loop, .wait = TREADLE_WAIT_BLOCK};
    treadle_invocation outer = NULL;
    const treadle_invocation_options *address = &options;
    treadle_status status = TREADLE_E_STATE;
    CHECK_INT(treadle_invocation_create(&outer_config, &outer), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_argument(outer, 0, &invocation, sizeof invocation), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_argument(outer, 1, &address, sizeof address), TREADLE_OK);
    CHECK_INT(treadle_invocation_perform(outer, &outer_options), TREADLE_OK);
    CHECK_INT(treadle_invocation_get_result(outer, &status, sizeof status), TREADLE_OK);
    CHECK_INT(status, TREADLE_OK);
    CHECK_INT(scene.after_count, JOBS);
    CHECK_INT(treadle_invocation_release(outer), TREADLE_OK);
    CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
    end_closure(scene.square);
    worker_stop(&other);
    end();
}

TEST_MAIN()
