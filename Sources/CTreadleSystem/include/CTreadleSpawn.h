/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleSpawn.h: a child process of the library's own, which a host does not notice (spawn.c). */
#ifndef CTREADLE_SPAWN_H
#define CTREADLE_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct treadle_system_spawn {
    const char *program;
    const char *const *arguments; /* the first is the program's name; NULL at the end */
    const char *const *environment; /* NULL at the end; nothing else of the caller's */
    const int32_t *descriptors; /* of the caller's; in the child they are 3, 4, and so on */
    uint32_t descriptor_count; /* at most 16 */
    int32_t output; /* the child's standard output and standard error; its standard input is empty */
};
enum { TREADLE_SYSTEM_MOST_SPAWNED = 16 };

/* Starts a program in a session of its own, with default signal handlers, no signal blocked, and no descriptors but those named. It
 * is no child of the caller's: its end raises no signal here, and no wait for children meets it, unless the caller is what orphans are
 * given to (PR_SET_CHILD_SUBREAPER, the first process of a container). Stores a descriptor that is readable once it has ended. Returns 0
 * or -errno: also of the program's file. */
int32_t treadle_system_spawn(const struct treadle_system_spawn *spawn, int32_t *out_process);
int32_t treadle_system_spawn_kill(int32_t process); /* SIGKILL; 0 if it has ended already */

/* What connects the two processes: of each pair the first is the host's, the second the other's. -1: closed, or given to another owner. */
struct treadle_system_channels {
    int32_t asking[2], serving[2]; /* sockets: what the host asks, and what it is asked */
    int32_t life[2];   /* a pipe that ends with the host */
    int32_t report[2]; /* a pipe that says how the other has ended */
    int32_t output[2]; /* a pipe of its standard output and standard error */
};
int32_t treadle_system_open_channels(struct treadle_system_channels *out); /* all, or -errno and none */
void treadle_system_no_channels(struct treadle_system_channels *out);
void treadle_system_close_life(struct treadle_system_channels *channels); /* the host's side: the other process is killed */
void treadle_system_close_channels(struct treadle_system_channels *channels, int32_t which); /* all that are open of one side */
/* How a process has ended, as the report says: 0: with what watches it, which is killed by SIGKILL. */
struct treadle_system_ending {
    int32_t by_signal; /* 0: number is its exit status; 1: the signal */
    int32_t number;
    char places[200]; /* where, in its own words, of printable characters: " at a.so+0x1f, b.so+0x2e"; may be empty */
};
void treadle_system_read_ending(int32_t fd, struct treadle_system_ending *out);
/* Reads at most so many bytes without waiting; how many; 0 at the end; -EAGAIN for nothing now. */
int64_t treadle_system_read_some(int32_t fd, void *room, size_t size);
/* In words: "its process has ended: signal 11 (SIGSEGV) at a.so+0x1f". */
void treadle_system_describe_ending(const struct treadle_system_ending *ending, char *room, size_t size);
/* Starts the program at a path with the other side of the channels as its descriptors, from 3 on in their order. */
int32_t treadle_system_spawn_plugin_process(const char *path, const struct treadle_system_channels *channels, int32_t *out_process);
/* The path of the program that a plugin's process runs: of the environment, or beside the library. False if there is none. */
bool treadle_system_find_plugin_process(char *room, size_t size);

#endif
