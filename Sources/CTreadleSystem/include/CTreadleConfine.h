/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleConfine.h: what a process gives up for itself and its children, for good (confine.c). */
#ifndef CTREADLE_CONFINE_H
#define CTREADLE_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

struct treadle_system_confinement {
    uint64_t address_space;     /* bytes; 0: as it is, like the next two */
    uint64_t processor_seconds; /* SIGXCPU, a second later SIGKILL */
    uint64_t descriptors;
    bool no_processes; /* no further process may be created; threads may */
    bool no_network;   /* no sockets but those of the Unix domain */
    bool only_named_files; /* of the file system only what lies below these, and what loaders read */
    const char *library; /* the folder of this one as well; NULL: none */
    const char *const *readable; /* NULL at the end; NULL: none. A path that does not exist is passed over */
    const char *const *writable; /* readable as well */
};

/* Moves the calling process into a control group of either version, by its directory. 0 or -errno; -ENOTSUP for a directory of another file
 * system, where a file of the same name limits nothing. */
int32_t treadle_system_enter_cgroup(const char *path);

/* Confines the calling process, which has one thread, in the order of the members. 0; or -errno of the first part that the kernel refuses.
 * Files need Landlock, Linux 5.13; network and processes a filter of system calls. */
int32_t treadle_system_confine(const struct treadle_system_confinement *confinement);

#endif
