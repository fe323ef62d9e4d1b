/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * What a small program's objects cost: a page for each kind of them; and that no handle beside theirs means anything. */
#include "helpers.h"

#include <fcntl.h>
#include <link.h>
#include <sys/eventfd.h>

/* How many of the library's pages of variables the process has a copy of its own of, or of zeroes. */
struct variables {
    uintptr_t from, end;
};
static int find_variables(struct dl_phdr_info *info, size_t size, void *found) {
    struct variables *variables = found;
    (void)size;
    if (!strstr(info->dlpi_name, "/libtreadle.so")) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && part->p_flags & PF_W) variables->end = from + part->p_memsz;
        /* What comes before was written when the library was loaded, and not since. */
        if (part->p_type == PT_GNU_RELRO) variables->from = from + part->p_memsz;
    }
    return 1;
}
static int64_t count_written(void) {
    const uint64_t is_present = UINT64_C(1) << 63, is_of_file = UINT64_C(1) << 61;
    struct variables variables = {0, 0};
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    int64_t written = 0;
    CHECK_INT(dl_iterate_phdr(find_variables, &variables), 1);
    CHECK(variables.from != 0 && variables.from < variables.end);
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    CHECK(map >= 0);
    for (uintptr_t address = variables.from / page * page; address < variables.end; address += page) {
        uint64_t entry;
        CHECK_INT(pread(map, &entry, sizeof entry, (off_t)(address / page * sizeof entry)), sizeof entry);
        if (entry & is_present && !(entry & is_of_file)) written++;
    }
    close(map);
    return written;
}

/* The memory of the process that no file stands behind, in pages. */
static int64_t count_own(void) {
    char line[256];
    long kilobytes = -1;
    FILE *account = fopen("/proc/self/smaps_rollup", "r");
    CHECK(account != NULL);
    while (kilobytes < 0 && fgets(line, sizeof line, account)) {
        if (sscanf(line, "Anonymous: %ld", &kilobytes) != 1) kilobytes = -1;
    }
    fclose(account);
    CHECK(kilobytes > 0);
    return kilobytes * 1024 / sysconf(_SC_PAGESIZE);
}

static void count_source(treadle_source source, void *info) {
    (void)source;
    ++*(int *)info;
}
static void count_timer(treadle_timer timer, void *info) {
    (void)timer;
    ++*(int *)info;
}
static void count_block(void *info) { ++*(int *)info; }

static treadle_source make_added_source(int *performed) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source source;
    context.info = performed, context.perform = count_source;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    return source;
}
static treadle_timer make_added_timer(int *fired) {
    treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
    treadle_timer timer;
    context.info = fired, context.fire = count_timer, context.fire_at = treadle_time_now();
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    return timer;
}
static treadle_descriptor make_added_descriptor(int fd) {
    treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
    treadle_descriptor descriptor;
    context.fd = fd, context.events = TREADLE_READABLE;
    context.ready = (treadle_ready_fn)(void *)abort;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), descriptor, TREADLE_DEFAULT_MODE), TREADLE_OK);
    return descriptor;
}

TEST(what_a_small_program_writes_lies_in_few_pages, "RL-1") {
    const char *way = getenv("TREADLE_TEST_WAY");
    int done = 0, fd = eventfd(0, EFD_CLOEXEC);
    count_own(); /* what the first look takes is not the library's */
    int64_t before = count_own();
    CHECK(treadle_loop_current() != NULL);
    make_added_source(&done), make_added_timer(&done), make_added_descriptor(fd);
    CHECK(treadle_thread_current() != NULL);
    int64_t taken = count_own() - before;
    printf("%d pages, %d of variables\n", (int)taken, (int)count_written());
    CHECK_INT(treadle_loop_post(treadle_loop_current(), count_block, &done), TREADLE_OK);
    CHECK_INT(treadle_source_signal(make_added_source(&done)), TREADLE_OK);
    while (done < 3) CHECK(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0) >= 0);
    /* Another runtime writes to memory of its own, and a sanitizer or valgrind keeps it in another way. */
    if (way && strcmp(way, "shared") == 0) {
        CHECK(count_written() <= 4);
        CHECK(taken <= 12); /* a page for each kind of object, and the C library's heap may have grown, too */
    }
}

/* Handles that differ from a living one in the number of its slot alone, or in its generation too: whatever lies where
 * such a slot would be, or nothing. */
static void try_neighbours(uintptr_t handle, const uintptr_t *alive, size_t count, treadle_status (*retain)(uintptr_t)) {
    for (uintptr_t generation = 0; generation < 3; generation++) {
        for (uintptr_t slot = 0; slot < 3 * 4096; slot++) {
            uintptr_t other = (handle & ~(uintptr_t)0x00FFFFFF3FFFFFC0) | generation << 32 | slot << 6;
            bool is_alive = false;
            for (size_t i = 0; i < count; i++) is_alive |= alive[i] == other;
            if (!is_alive) CHECK_INT(retain(other), TREADLE_E_STALE);
        }
    }
}
static treadle_status retain_source(uintptr_t handle) { return treadle_source_retain((treadle_source)handle); }
static treadle_status retain_timer(uintptr_t handle) { return treadle_timer_retain((treadle_timer)handle); }
static treadle_status retain_descriptor(uintptr_t handle) { return treadle_descriptor_retain((treadle_descriptor)handle); }
static treadle_status retain_loop(uintptr_t handle) { return treadle_loop_retain((treadle_loop)handle); }
static treadle_status retain_thread(uintptr_t handle) { return treadle_thread_retain((treadle_thread)handle); }

TEST(a_number_that_no_object_has_is_refused_near_the_first_ones, "OBJ-2") {
    enum { EACH = 12 };
    uintptr_t sources[EACH], timers[EACH], descriptors[EACH];
    uintptr_t loop = (uintptr_t)treadle_loop_current(), thread = (uintptr_t)treadle_thread_current();
    int done = 0;
    for (int i = 0; i < EACH; i++) {
        sources[i] = (uintptr_t)make_added_source(&done);
        timers[i] = (uintptr_t)make_added_timer(&done);
        descriptors[i] = (uintptr_t)make_added_descriptor(eventfd(0, EFD_CLOEXEC));
    }
    try_neighbours(sources[0], sources, EACH, retain_source);
    try_neighbours(timers[0], timers, EACH, retain_timer);
    try_neighbours(descriptors[0], descriptors, EACH, retain_descriptor);
    try_neighbours(loop, &loop, 1, retain_loop);
    try_neighbours(thread, &thread, 1, retain_thread);
}

TEST(the_first_objects_of_a_kind_and_those_after_them_behave_alike, "OBJ-2 SRC0-6 TMR-15 SRC1-9") {
    enum { EACH = 12, ROUNDS = 3 };
    for (int round = 0; round < ROUNDS; round++) {
        treadle_source sources[EACH];
        treadle_timer timers[EACH];
        treadle_descriptor descriptors[EACH];
        int fds[EACH], performed[EACH] = {0}, fired[EACH] = {0}, total = 0;
        for (int i = 0; i < EACH; i++) {
            sources[i] = make_added_source(&performed[i]);
            timers[i] = make_added_timer(&fired[i]);
            descriptors[i] = make_added_descriptor(fds[i] = eventfd(0, EFD_CLOEXEC));
            CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        }
        while (total < 2 * EACH) {
            CHECK(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0) >= 0);
            total = 0;
            for (int i = 0; i < EACH; i++) total += performed[i] + fired[i];
        }
        for (int i = 0; i < EACH; i++) {
            CHECK_INT(performed[i], 1);
            CHECK_INT(fired[i], 1);
            CHECK_INT(treadle_source_invalidate(sources[i]), TREADLE_OK);
            CHECK_INT(treadle_source_release(sources[i]), TREADLE_OK);
            CHECK_INT(treadle_timer_release(timers[i]), TREADLE_OK);
            CHECK_INT(treadle_descriptor_invalidate(descriptors[i]), TREADLE_OK);
            CHECK_INT(treadle_descriptor_release(descriptors[i]), TREADLE_OK);
            close(fds[i]);
            CHECK_INT(treadle_source_retain(sources[i]), TREADLE_E_STALE);
            CHECK_INT(treadle_timer_retain(timers[i]), TREADLE_E_STALE);
            CHECK_INT(treadle_descriptor_retain(descriptors[i]), TREADLE_E_STALE);
        }
    }
}

TEST(objects_of_the_parent_are_left_as_they_are_by_those_of_the_child, "RL-11") {
    int done = 0, status = 0;
    treadle_source source = make_added_source(&done);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        for (int i = 0; i < 12; i++) CHECK_INT(treadle_source_signal(make_added_source(&done)), TREADLE_OK);
        while (done < 12) CHECK(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0) >= 0);
        CHECK_INT(treadle_source_retain(source), TREADLE_E_STALE);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    while (done < 1) CHECK(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0) >= 0);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

TEST_MAIN()
