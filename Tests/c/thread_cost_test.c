/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * What a thread costs beside a bare one of POSIX, as far as it can be counted: its memory, its stack, and what
 * else the process holds for it. bench/run-threads prints the same figures, and the times. */
#include "helpers.h"

#include "../../bench/thread_costs.h"

/* The sanitizers keep accounts of all memory, several times as large as the memory and in pieces of their own:
 * with them the figures are not the library's. */
#define FIGURES_ARE_OURS (!THREAD_SANITIZER && !ADDRESS_SANITIZER)

/* The library's limit: so much over a bare thread, and no more. */
static double with_surcharge(double bytes) { return bytes * 1.15; }
/* What the system takes of a stack where it takes more than usual: 128 KiB on 64-bit Arm. */
static double needed_by_system(void) {
    long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > 16384 ? (double)least - 16384 : 0;
}

/* The cost in a process of its own: the C library keeps the stacks of earlier threads. */
static struct memory cost_in_own_process(enum way way, int count) {
    int ends[2];
    struct memory cost;
    CHECK_INT(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        cost = cost_of_idle_threads(way, count);
        CHECK_INT(write(ends[1], &cost, sizeof cost), sizeof cost);
        exit(0);
    }
    close(ends[1]);
    CHECK_INT(read(ends[0], &cost, sizeof cost), sizeof cost);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return cost;
}

TEST(an_idle_thread_costs_hardly_more_memory_than_a_bare_one, "THR-22") {
    struct memory bare = cost_in_own_process(WAY_POSIX, 200), ours = cost_in_own_process(WAY_TREADLE, 200);
    printf("resident: %.0f and %.0f bytes, addresses: %.0f and %.0f\n", bare.resident, ours.resident,
           bare.address_room, ours.address_room);
    CHECK(bare.resident > 0);
    CHECK(bare.address_room >= STACK_SIZE && ours.address_room >= STACK_SIZE);
    if (FIGURES_ARE_OURS) {
        CHECK(ours.resident <= with_surcharge(bare.resident));
        CHECK(ours.address_room <= with_surcharge(bare.address_room) + needed_by_system());
    }
}

TEST(a_thread_object_takes_less_than_a_kilobyte, "THR-22") {
    double bytes = cost_of_objects(8192);
    printf("%.0f bytes\n", bytes);
    CHECK(bytes > 0);
    if (FIGURES_ARE_OURS) CHECK(bytes < 1024);
}

TEST(the_stack_is_512_kilobytes_and_what_the_system_takes_of_it, "THR-22 THR-13") {
    CHECK_INT(stack_of_thread(WAY_POSIX), STACK_SIZE);
    size_t size = stack_of_thread(WAY_TREADLE);
    printf("%zu bytes\n", size);
    CHECK(size >= STACK_SIZE);
    CHECK(size <= with_surcharge(STACK_SIZE) + needed_by_system());
}

/* No thread of Treadle's own comes with it, and no descriptor: those belong to loops. */
TEST(a_thread_is_one_thread_of_the_kernel_and_nothing_else, "THR-22") {
    enum { COUNT = 50 };
    struct either_thread threads[COUNT];
    struct idle idle;
    CHECK_INT(sem_init(&idle.begun, 0, 0), 0);
    CHECK_INT(sem_init(&idle.end, 0, 0), 0);
    /* With one thread all that comes once for a process is there, also the sanitizers' own. */
    start_either(WAY_TREADLE, &threads[0], idle_main, &idle);
    await(&idle.begun);
    int before = count_threads(), descriptors = count_descriptors();

    for (int i = 1; i < COUNT; i++) start_either(WAY_TREADLE, &threads[i], idle_main, &idle);
    for (int i = 1; i < COUNT; i++) await(&idle.begun);
    CHECK_INT(count_threads(), before + COUNT - 1);
    CHECK_INT(count_descriptors(), descriptors);

    for (int i = 0; i < COUNT; i++) sem_post(&idle.end);
    for (int i = 0; i < COUNT; i++) join_either(WAY_TREADLE, &threads[i]);
    CHECK_INT(count_descriptors(), descriptors);
    sem_destroy(&idle.begun);
    sem_destroy(&idle.end);
}

TEST_MAIN()
