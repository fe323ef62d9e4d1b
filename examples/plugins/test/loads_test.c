/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loads_test.c: all examples come and go together, again and again, while four threads post to their loop. Nothing is left: no
 * memory, no descriptor, no thread. EXAMPLE_LOADS says how many loads there are (300). */
#include "host.h"

#include <malloc.h>

#ifdef __SANITIZE_ADDRESS__
enum { CHECKS_MEMORY = 0 }; /* the sanitizer keeps what was freed for a while */
#else
enum { CHECKS_MEMORY = 1 };
#endif

/* In the order in which they are loaded: those that others require come first. Some need Swift's compiler. */
static const char *const names[] = {"watcher", "source_log", "filter", "store", "sink", "fetcher", "pulse", "hello", "words"};
enum { PLUGINS = sizeof names / sizeof *names, PRESSING = 4, MOST_WAITING = 64 };
/* Less than the smallest block that a load could leave; and what code that stays mapped may still call, of each of its lives (host/check.c). */
enum { LEFT_A_LOAD = 16, LEFT_OF_MAPPED = 1024 };

static atomic_bool is_over;
static atomic_int waiting;
static void posted(void *info) { (void)info, atomic_fetch_sub(&waiting, 1); }
static void *press(void *info) {
    while (!is_over) {
        if (waiting < MOST_WAITING) {
            atomic_fetch_add(&waiting, 1);
            if (treadle_loop_post(home, posted, NULL) < 0) atomic_fetch_sub(&waiting, 1);
        }
        sched_yield();
    }
    return info;
}

static int64_t heap(void) {
    malloc_trim(0);
    struct mallinfo2 heap = mallinfo2();
    return (int64_t)(heap.uordblks + heap.hblkhd);
}
static long resident(void) {
    long kilobytes = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "re");
    CHECK(status);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1) break;
    fclose(status);
    return kilobytes;
}

static const char *folder, *lines, *rows;
static const char *const *settings_of(const char *name) {
    static const char *settings[3];
    const bool watches = strcmp(name, "watcher") == 0, reads = strcmp(name, "source_log") == 0, stores = strcmp(name, "store") == 0;
    settings[0] = watches ? "path" : "file";
    settings[1] = watches ? folder : stores ? rows : lines;
    return watches || reads || stores ? settings : NULL;
}
/* How many were loaded, and how many of them have stayed mapped, of all. */
static int stayed;
static int live(void) {
    treadle_plugin plugins[PLUGINS];
    int count = 0, at[PLUGINS];
    for (int i = 0; i < PLUGINS; i++) {
        if (access(path_of(names[i]), R_OK) != 0) continue;
        at[count] = i;
        plugins[count++] = load(names[i], settings_of(names[i]));
    }
    for (int i = 0; i < count; i++) start(plugins[i], NULL);
    append(lines, "INFO one line\nERROR another\n");
    for (int i = 0; i < 3; i++) CHECK(treadle_loop_run(home, TREADLE_DEFAULT_MODE, MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY) > 0);
    for (int i = count - 1; i >= 0; i--) {
        CHECK_INT(treadle_plugin_close(plugins[i], SECONDS(60)), TREADLE_OK);
        CHECK_INT(treadle_release(plugins[i]), TREADLE_OK);
        bool stays = is_mapped(names[at[i]]);
        CHECK(!stays || strcmp(names[at[i]], "words") == 0); /* the one with a Swift runtime */
        stayed += stays;
    }
    CHECK(truncate(lines, 0) == 0);
    return count;
}

TEST(the_examples_come_and_go_under_load_and_leave_nothing, "") {
    const char *asked = getenv("EXAMPLE_LOADS");
    int loads = asked ? atoi(asked) : 300, done = 0, since = 0, descriptors = 0;
    int64_t heap_before = 0;
    long resident_before = 0;
    pthread_t threads[PRESSING];
    folder = new_folder(), lines = in_folder(folder, "lines"), rows = in_folder(folder, "rows.db");
    append(lines, "");
    home = treadle_loop_current();
    live(); /* what libraries make once */
    for (int i = 0; i < PRESSING; i++) CHECK_INT(pthread_create(&threads[i], NULL, press, NULL), 0);
    while (done < loads) {
        /* The second half is measured. */
        if (since == 0 && done >= loads / 2) {
            heap_before = heap(), resident_before = resident(), since = done, stayed = 0;
            descriptors = count_entries("/proc/self/fd");
        }
        done += live();
    }
    int64_t more_heap = heap() - heap_before;
    long more_resident = resident() - resident_before;
    printf("%d loads; in the last %d: %lld bytes of heap, %ld KiB resident\n", done, done - since, (long long)more_heap, more_resident);
    fflush(stdout);
    CHECK_INT(count_entries("/proc/self/fd"), descriptors);
    await_threads(1 + PRESSING);
    /* What waits for the loop is the threads' at any moment. */
    CHECK(!CHECKS_MEMORY || more_heap < (int64_t)LEFT_A_LOAD * (done - since) + (int64_t)LEFT_OF_MAPPED * stayed + 16384);
    CHECK(!CHECKS_MEMORY || more_resident < 4096);
    is_over = true;
    for (int i = 0; i < PRESSING; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    while (waiting > 0) CHECK(treadle_loop_run(home, TREADLE_DEFAULT_MODE, MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY) > 0);
    remove_folder(folder);
}

TEST_MAIN()
