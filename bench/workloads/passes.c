/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * passes.c: what one pass of a loop costs that always has something to do. pass_HhSs: with H observers, and S sources
 * of which each signals itself again. _fd: with a descriptor as well, so that the loop must ask the kernel in every
 * pass; half way through, it becomes readable. */
#include "../harness/support.h"

#include <sys/eventfd.h>

enum { MOST_SOURCES = 64 };

struct pass_source {
    void *loop, *source;
    size_t performed, wanted;
    int fd;         /* the first one writes it; else -1 */
    bool is_last;   /* this one stops the loop */
    bool is_served; /* the descriptor's callback came in time */
};

CALLBACK(serve);
static void serve(void *info) {
    struct pass_source *first = info;
    eventfd_t value;
    if (library.reads_descriptors || eventfd_read(first->fd, &value) == 0) {
        first->is_served = first->performed < first->wanted;
    }
}
CALLBACK(perform);
static void perform(void *info) {
    struct pass_source *self = info;
    if (++self->performed == self->wanted / 2 && self->fd >= 0) eventfd_write(self->fd, 1);
    if (self->performed < self->wanted) library.source_signal(self->loop, self->source);
    else if (self->is_last) library.loop_stop(self->loop);
}
CALLBACK(observe);
static void observe(void *info) { add_one(info); }

static void pass(size_t hooks, size_t sources, bool has_descriptor, size_t passes, const char *name) {
    struct pass_source all[MOST_SOURCES];
    void *loop = new_loop();
    size_t observed = 0;
    if (is_quick) passes = 400;
    for (size_t i = 0; i < hooks; i++) library.hook_make(loop, &observe_callback, &observed);
    for (size_t i = 0; i < sources; i++) {
        all[i] = (struct pass_source){.loop = loop, .wanted = passes, .fd = -1, .is_last = i == sources - 1};
        all[i].source = library.source_make(loop, &perform_callback, &all[i]);
    }
    if (has_descriptor) {
        all[0].fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        demand(all[0].fd >= 0, "an eventfd can be made");
        library.descriptor_make(loop, all[0].fd, &serve_callback, &all[0]);
    }
    for (size_t i = 0; i < sources; i++) library.source_signal(loop, all[i].source);
    uint64_t begun = clock_ns();
    library.loop_run(loop);
    uint64_t took = clock_ns() - begun;
    library.loop_free(loop);
    /* The loop may end before the others' last one. */
    for (size_t i = 0; i < sources; i++) demand(all[i].performed + 1 >= passes, "each source is performed once a pass");
    demand(observed + hooks >= hooks * passes, "each observer is told of each pass");
    if (has_descriptor && !all[0].is_served) tell_none(name, "sources that signal themselves starve descriptors");
    else tell(name, (double)took / (double)passes, "ns");
}
static void pass_0h1s(void) { pass(0, 1, false, 50000, "pass_0h1s"); }
static void pass_8h1s_fd(void) { pass(8, 1, true, 50000, "pass_8h1s_fd"); }
static void pass_0h64s_fd(void) { pass(0, 64, true, 2000, "pass_0h64s_fd"); }

const struct workload pass_workloads[] = {
    {"pass_0h1s", pass_0h1s, NEEDS_LOOP | NEEDS_SOURCE},
    {"pass_8h1s_fd", pass_8h1s_fd, NEEDS_LOOP | NEEDS_SOURCE | NEEDS_HOOK | NEEDS_DESCRIPTOR},
    {"pass_0h64s_fd", pass_0h64s_fd, NEEDS_LOOP | NEEDS_SOURCE | NEEDS_DESCRIPTOR},
    {NULL, NULL, 0},
};
