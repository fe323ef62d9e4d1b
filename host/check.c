/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * check.c: the proof of a plugin's contract, point by point. The first point that fails ends it, where the next ones could not
 * tell anything. */
#include "host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPAN_NS = 100000000 }; /* so often it is looked how long threads have waited for a processor */
enum { QUERIES = 8, PINNED_LOADS = 3, LOADS = 20, PRESSED_LOADS = 50, HEAP_LOADS = 10, HEAP_ROUNDS = 8 };
/* What a life may leave: nothing; and of one that stays mapped, what Treadle has given to it for ever. */
enum { LEFT_OF_UNMAPPED = 15, LEFT_OF_MAPPED = 1024, MAPPED = 4096 };

static const char *path;
static struct plugin plugin;
static char *known_id; /* the first load's: what is logged names it, and it is of all loads */

/* --- What the process has ------------------------------------------------------------------------ */

/* How many entries a directory of /proc has, without the descriptor that this takes itself: that is there each time. */
int count_entries(const char *name) {
    DIR *directory = opendir(name);
    int count = 0;
    while (directory && readdir(directory)) count++;
    if (directory) closedir(directory);
    return count;
}

/* A thread that was joined may be listed for a moment still. */
bool comes_down_to(const char *name, int limit, int *out_count) {
    int64_t left = 5000000000;
    while ((*out_count = count_entries(name)) > limit && left > 0) {
        struct span span;
        begin_span(&span);
        treadle_thread_sleep_for(1000000);
        left -= length_of(&span);
    }
    return *out_count <= limit;
}

/* What is allocated and not given back, by anybody. */
int64_t heap_in_use(void) {
    malloc_trim(0);
    struct mallinfo2 heap = mallinfo2();
    return (int64_t)(heap.uordblks + heap.hblkhd);
}

/* What is mapped, by anybody. */
static int64_t mapped_memory(void) {
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%lld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void *find_mapped(void) { return dlopen(plugin.path, RTLD_NOLOAD | RTLD_LAZY); }

/* --- The description ----------------------------------------------------------------------------- */

/* All that a description says, one after the other: texts with their ends, structs with the addresses in them. */
struct record {
    char *bytes;
    size_t size;
};

static void add_bytes(struct record *record, const void *bytes, size_t size) {
    char *more = realloc(record->bytes, record->size + size + 1);
    if (!more) abort();
    record->bytes = more;
    if (size > 0) memcpy(more + record->size, bytes, size);
    record->size += size;
}
static void add_text(struct record *record, const char *text) { add_bytes(record, text ? text : "", text ? strlen(text) + 1 : 1); }
static void add_texts(struct record *record, const char *const *texts) {
    for (; texts && *texts; texts++) add_text(record, *texts);
    add_text(record, NULL);
}

static struct record record_of(const treadle_plugin_description *about) {
    struct record record = {NULL, 0};
    size_t size = about->struct_size < sizeof *about ? about->struct_size : sizeof *about;
    add_bytes(&record, about, size);
    add_text(&record, about->id), add_text(&record, about->name), add_text(&record, about->version);
    add_texts(&record, about->required), add_texts(&record, about->optional), add_texts(&record, about->provided);
    for (uint32_t i = 0; i < about->setting_count; i++) {
        const treadle_plugin_setting *setting = treadle_plugin_get_setting(about, i);
        add_bytes(&record, setting, setting->struct_size < sizeof *setting ? setting->struct_size : sizeof *setting);
        add_text(&record, setting->key), add_text(&record, setting->default_value), add_text(&record, setting->description);
    }
    return record;
}

/* It is loaded meanwhile: so what it answers has been found to be sound. */
static bool answers_the_same(void) {
    void *image = find_mapped();
    treadle_plugin_query_fn query = NULL;
    if (image) *(void **)&query = dlsym(image, "treadle_plugin_query");
    bool is_same = query != NULL;
    struct record first = {NULL, 0};
    for (int i = 0; i < QUERIES && is_same; i++) {
        const treadle_plugin_description *about = query(TREADLE_PLUGIN_ABI);
        /* One that is not what was loaded is not read. */
        is_same = about && about->struct_size >= offsetof(treadle_plugin_description, save) && about->id;
        if (is_same) is_same = strcmp(about->id, plugin.id) == 0;
        if (!is_same) break;
        struct record next = record_of(about);
        is_same = !first.bytes || (first.size == next.size && memcmp(first.bytes, next.bytes, next.size) == 0);
        if (first.bytes) free(next.bytes);
        else first = next;
    }
    free(first.bytes);
    if (image) dlclose(image);
    return is_same;
}

/* --- A life -------------------------------------------------------------------------------------- */

static void let_go(void) {
    for (size_t i = 0; plugin.settings && plugin.settings[i]; i += 2) free((char *)plugin.settings[i]);
    free(plugin.settings);
    free(plugin.path);
    if (plugin.id != known_id) free(plugin.id);
}

/* What was known of the one before goes with it: until then its file can be looked at. */
static bool load(void) {
    let_go();
    memset(&plugin, 0, sizeof plugin);
    return load_one(path, &plugin) && apply_settings(&plugin);
}

static bool run_for(int64_t duration_ns, const char *when) {
    int64_t until = treadle_time_now() + duration_ns, left;
    while ((left = until - treadle_time_now()) > 0)
        if (treadle_loop_run(main_loop, TREADLE_DEFAULT_MODE, left, TREADLE_RUN_WHEN_EMPTY) < 0)
            return point(false, "loop", "the main loop goes on: %s it did not: %s", when, last_message());
    return true;
}

static int64_t close_took; /* by busy.c */

/* Closes it. False, with what holds it, if it is there still. */
static bool close_it(const char *when) {
    int64_t took = 0;
    bool has_ended = false;
    while (!has_ended && took <= options.timeout_ns) {
        struct span span;
        int64_t left = options.timeout_ns - took;
        begin_span(&span);
        has_ended = close_one(&plugin, left < SPAN_NS ? left : SPAN_NS);
        took += length_of(&span) + 1; /* so that it ends in any case */
    }
    close_took = took;
    /* The close comes back at its deadline, whatever runs still: but not before stop does. */
    if (took > options.timeout_ns + 500000000)
        return point(false, "stop", "stop and deinit return within the timeout: %s it took %.3f s of %.3f", when, (double)took / 1e9,
                     (double)options.timeout_ns / 1e9);
    if (has_ended) return true;
    char *holders = NULL;
    size_t size;
    FILE *memory = open_memstream(&holders, &size);
    if (memory) report_holders(memory, plugin.handle), fclose(memory);
    point_with(holders, false, "end", "it ends within its timeout: %s it was held after %.3f s by", when, (double)took / 1e9);
    free(holders);
    return false;
}

static bool live(int64_t duration_ns, const char *when) {
    if (!load()) return point(false, "load", "it can be loaded %s: %s", when, last_message());
    if (!start_one(&plugin)) return point(false, "start", "it can be started %s: %s", when, last_message());
    bool runs = run_for(duration_ns, when);
    return close_it(when) && runs;
}

/* --- The points ---------------------------------------------------------------------------------- */

/* What the file says in its dynamic section. */
static bool forbids_unmapping(void *image) {
    struct link_map *map = NULL;
    if (dlinfo(image, RTLD_DI_LINKMAP, &map) != 0 || !map) return false;
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_FLAGS_1) return (entry->d_un.d_val & DF_1_NODELETE) != 0;
    return false;
}

static bool has_swift(void) {
    FILE *file = fopen(plugin.path, "rb");
    char *bytes = malloc((size_t)plugin.file.st_size + 1);
    size_t size = file && bytes ? fread(bytes, 1, (size_t)plugin.file.st_size, file) : 0;
    bool is_there = size > 0 && memmem(bytes, size, "swift5_", 7);
    if (file) fclose(file);
    free(bytes);
    return is_there;
}

/* Threads that Treadle does not know would run code that is gone: so it is looked for them while the code is kept. */
static bool check_pinned(struct process *before, bool may_unmap) {
    void *image = may_unmap && load() ? find_mapped() : NULL;
    if (plugin.handle && !close_it("without a start")) return false;
    int threads_before = count_entries("/proc/self/task"), threads;
    bool is_good = true;
    for (int i = 0; i < (may_unmap ? PINNED_LOADS : 1) && is_good; i++) {
        is_good = live(20000000, i == 0 ? "the first time" : "while its code is kept");
        /* What the libraries that it needs make once for all is there now. */
        if (i == 0 && is_good && compare_process(before, path, may_unmap)) point(true, "process", "the process is as it was after its first life");
        if (i == 0) threads_before = comes_down_to("/proc/self/task", threads_before, &threads) ? threads_before : threads;
    }
    if (!is_good || !may_unmap) return is_good;
    if (!comes_down_to("/proc/self/task", threads_before, &threads))
        return point(false, "threads", "no thread is left: %d more after %d loads, and its code may be unmapped", threads - threads_before,
                     PINNED_LOADS - 1);
    if (image) compare_pointers(path), dlclose(image);
    return true;
}

static void check_unmapped(bool may_unmap) {
    void *image = find_mapped();
    if (!image) {
        point(true, "unmapped", "it is unmapped");
        return;
    }
    if (!may_unmap) point(true, "unmapped", "it stays mapped: its description does not say TREADLE_PLUGIN_MAY_UNMAP");
    else if (forbids_unmapping(image)) point(true, "unmapped", "it stays mapped: its file forbids that it is unmapped (nodelete)");
    else if (has_swift()) point(true, "unmapped", "it stays mapped: it brings a Swift runtime");
    else point(false, "unmapped", "it is unmapped: it says that it may be, but the loader keeps it, for a name that other libraries are "
                      "bound to (link it with the version script plugin.map) or for a thread's values");
    dlclose(image);
}

/* What a constructor has started goes on when the plugin has ended: that is looked for while its code is kept. */
static bool close_first(int threads_before, bool may_unmap) {
    void *image = may_unmap ? find_mapped() : NULL;
    int threads;
    if (!close_it("without a start")) return false;
    if (image && !comes_down_to("/proc/self/task", threads_before, &threads))
        return point(false, "threads", "no thread is left: %d more of its constructors, and its code may be unmapped", threads - threads_before);
    if (image) dlclose(image);
    return true;
}

static bool check_description(bool *out_may_unmap) {
    int threads_before = count_entries("/proc/self/task");
    if (!load()) return point(false, "description", "its description is sound: %s%s", last_message(), hint_of(path));
    treadle_plugin_info info = {.struct_size = sizeof info};
    treadle_plugin_get_info(plugin.handle, &info);
    known_id = plugin.id;
    *out_may_unmap = (info.description->flags & TREADLE_PLUGIN_MAY_UNMAP) != 0;
    point(true, "description", "its description is sound: %s %s", plugin.id, info.description->version);
    point(answers_the_same(), "query", "its query answers the same each time");
    bool has_ended = close_first(threads_before, *out_may_unmap);
    if (has_ended) point(true, "without-start", "it is loaded and closed without a start");
    return has_ended;
}

static bool check_lives(void) {
    int descriptors, threads;
    if (!live(20000000, "again")) return false;
    int descriptors_before = count_entries("/proc/self/fd"), threads_before = count_entries("/proc/self/task");
    if (!load() || !start_one(&plugin)) return point(false, "start", "it can be started a second time: %s", last_message());
    if (!run_for(20000000, "the second time")) return false;
    if (!close_it("when it ran")) return false;
    point(true, "stop", "stop returns, and all of it ends, within the timeout: in %.3f s of %.3f", (double)close_took / 1e9,
          (double)options.timeout_ns / 1e9);
    for (int i = 2; i < LOADS; i++)
        if (!live(1000000, "again and again")) return false;
    point(true, "lives", "it is loaded, started and closed %d times", LOADS);
    bool is_good = comes_down_to("/proc/self/fd", descriptors_before, &descriptors);
    point(is_good, "descriptors", "no descriptor is left: %d more after %d loads", descriptors - descriptors_before, LOADS - 1);
    is_good = comes_down_to("/proc/self/task", threads_before, &threads);
    point(is_good, "threads", "no thread is left: %d more after %d loads", threads - threads_before, LOADS - 1);
    return true;
}

/* --- Memory --------------------------------------------------------------------------------------- */

/* What is kept for good is allocated once: only what grows with each round of lives, the same way, is lost. */
static bool check_heap(void) {
    int64_t least = INT64_MAX, least_mapped = INT64_MAX;
    for (int round = 0; round < HEAP_ROUNDS && (least > LEFT_OF_UNMAPPED * HEAP_LOADS || least_mapped >= MAPPED * HEAP_LOADS); round++) {
        int64_t before = heap_in_use(), mapped_before = mapped_memory();
        for (int i = 0; i < HEAP_LOADS; i++)
            if (!live(1000000, "to look at its memory")) return false;
        int64_t more = heap_in_use() - before;
        if (more < least) least = more;
        more = mapped_memory() - mapped_before;
        if (more < least_mapped) least_mapped = more;
    }
    void *image = find_mapped();
    int64_t each = least > 0 ? least / HEAP_LOADS : 0;
    point(each <= (image ? LEFT_OF_MAPPED : LEFT_OF_UNMAPPED), "memory", "no memory is left: %lld more bytes each time", (long long)each);
    /* A runtime that stays maps memory as it likes. */
    if (!image && each <= LEFT_OF_UNMAPPED && least_mapped >= MAPPED * HEAP_LOADS)
        point(false, "memory", "no memory is left: %lld more bytes are mapped each time", (long long)least_mapped / HEAP_LOADS);
    if (image) dlclose(image);
    return true;
}

static void check_under_pressure(void) {
    bool is_good = begin_pressure();
    for (int i = 0; i < PRESSED_LOADS && is_good; i++) is_good = live(2000000, "under load");
    if (!end_pressure() && is_good) is_good = point(false, "loop", "the main loop goes on: under load it did not");
    point(is_good, "pressure", "it is loaded, started and closed %d times while four threads post to the main loop", PRESSED_LOADS);
}

int check_plugin(void) {
    bool may_unmap = false, are_provided = true;
    is_silent = true;
    /* It stays the same file if the plugin changes the directory. */
    char *whole_path = realpath(options.paths[0], NULL);
    path = whole_path ? whole_path : options.paths[0];
    for (size_t i = 1; i < options.path_count && are_provided; i++) are_provided = load_path(options.paths[i]);
    if (!are_provided || !apply_settings_of_providers() || !start_all()) return point(false, "providers", "the other plugins start: %s", last_message()), STATUS_FAILED;
    struct process *before = copy_process();
    if (check_description(&may_unmap) && check_pinned(before, may_unmap) && check_lives() && check_heap()) {
        if (may_unmap) compare_keys(before, LOADS);
        /* Once more, for its file's name. */
        if (live(0, "once more")) {
            check_unmapped(may_unmap);
            check_under_pressure();
            compare_libraries(before, path, LOADS);
            if (!progress->has_failed) check_isolated(path);
        }
    }
    free_process(before);
    /* One that is held has code that runs still. */
    bool is_whole = !plugin.handle && close_all();
    int status = progress->has_failed || !is_whole ? STATUS_FAILED : STATUS_OK;
    fflush(NULL);
    if (is_whole) return status;
    progress->is_over = true;
    _Exit(status);
}
