/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * filter.c: a filter of system calls by name. The program is not linked with libseccomp: it is the same, and starts, where that is not
 * installed. The few declarations of it are those of its interface 2, which only grows; Tests/c/isolated_calls_test.c compares them with
 * its header where there is one. */
#define _GNU_SOURCE
#include "filter.h"

#include "libseccomp.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
/* What a process that has namespaces of its own may do to the kernel is far more than what it may do without. */
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME)
/* Calls of any processor have smaller numbers. */
enum { NUMBERS = 1024 };

struct library {
    scmp_filter (*init)(uint32_t);
    void (*release)(scmp_filter);
    int (*attr_set)(scmp_filter, int, uint32_t);
    int (*rule_add_array)(scmp_filter, uint32_t, int, unsigned, const struct scmp_comparison *);
    int (*load)(scmp_filter);
    int (*syscall_resolve_name)(const char *);
    char *(*syscall_resolve_num_arch)(uint32_t, int);
};

__attribute__((format(printf, 3, 4))) static void say(char *reason, size_t capacity, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, capacity, format, arguments);
    va_end(arguments);
}

/* It stays loaded. */
static bool find_library(struct library *library, char *reason, size_t capacity) {
    void *handle = dlopen("libseccomp.so.2", RTLD_NOW | RTLD_LOCAL);
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"seccomp_init", &library->init},
        {"seccomp_release", &library->release},
        {"seccomp_attr_set", &library->attr_set},
        {"seccomp_rule_add_array", &library->rule_add_array},
        {"seccomp_load", &library->load},
        {"seccomp_syscall_resolve_name", &library->syscall_resolve_name},
        {"seccomp_syscall_resolve_num_arch", &library->syscall_resolve_num_arch},
    };
    if (!handle) return say(reason, capacity, "the filter of system calls needs libseccomp: %s", dlerror()), false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(handle, functions[i].name);
        if (!found) return say(reason, capacity, "libseccomp has no function %s", functions[i].name), false;
        memcpy(functions[i].place, &found, sizeof found);
    }
    return true;
}

/* --- The rules -------------------------------------------------------------------------------------------- */

/* A filter while it is made; the first error stays. */
struct making {
    const struct library *library;
    scmp_filter filter;
    bool is_decided[NUMBERS];
    int error; /* -errno */
};

/* What becomes of a call, or of those of its calls of which the comparison is true. One that this processor does not have is passed over. */
static void decide(struct making *making, uint32_t action, const char *name, const struct scmp_comparison *comparison) {
    int number = making->library->syscall_resolve_name(name);
    if (number < 0 || number >= NUMBERS || making->error != 0) return;
    making->is_decided[number] = true;
    making->error = making->library->rule_add_array(making->filter, action, number, comparison ? 1 : 0, comparison);
}
static bool is_decided(const struct making *making, const char *name) {
    int number = making->library->syscall_resolve_name(name);
    return number >= 0 && number < NUMBERS && making->is_decided[number];
}
static void permit(struct making *making, const char *name) {
    if (!is_decided(making, name)) decide(making, SCMP_ALLOW, name, NULL);
}
/* The arguments are compared with all of their 64 bits: where the kernel ignores the upper half, a value with others in it is refused. */
static void permit_value(struct making *making, const char *name, unsigned argument, uint64_t value) {
    if (is_decided(making, name)) return;
    decide(making, SCMP_ALLOW, name, &(struct scmp_comparison){argument, SCMP_EQUAL, value, 0});
    decide(making, SCMP_ERRNO(EPERM), name, &(struct scmp_comparison){argument, SCMP_NOT_EQUAL, value, 0});
}
static void permit_families(struct making *making) {
    if (is_decided(making, "socket")) return;
    for (uint64_t family = 0; family <= AF_NETLINK; family++) {
        bool is_usual = family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK;
        decide(making, is_usual ? SCMP_ALLOW : SCMP_ERRNO(EPERM), "socket", &(struct scmp_comparison){0, SCMP_EQUAL, family, 0});
    }
    decide(making, SCMP_ERRNO(EPERM), "socket", &(struct scmp_comparison){0, SCMP_GREATER, AF_NETLINK, 0});
}
static void permit_clone(struct making *making) {
    if (is_decided(making, "clone")) return;
    decide(making, SCMP_ALLOW, "clone", &(struct scmp_comparison){0, SCMP_MASKED_EQUAL, NAMESPACES, 0});
    for (uint64_t bit = 1; bit <= NAMESPACES; bit <<= 1)
        if (NAMESPACES & bit) decide(making, SCMP_ERRNO(EPERM), "clone", &(struct scmp_comparison){0, SCMP_MASKED_EQUAL, bit, bit});
}
/* Without children, signals go to the process itself alone: its host, too, is one of the user's. */
static void permit_signals(struct making *making, bool has_children) {
    static const char *const names[] = {"kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (has_children) permit(making, names[i]);
        else permit_value(making, names[i], 0, (uint64_t)getpid());
    }
    if (has_children) permit(making, "pidfd_send_signal");
}
/* All others that libseccomp knows are refused by EPERM. What it does not know is newer, and does not exist, as in an older kernel; and nor
 * does clone3, whose flags are in memory, where no filter sees them: the C library takes clone in its place. */
static void refuse_others(struct making *making) {
    for (int number = 0; number < NUMBERS; number++) {
        if (making->is_decided[number] || making->error != 0) continue;
        char *name = making->library->syscall_resolve_num_arch(SCMP_NATIVE, number);
        if (name && strcmp(name, "clone3") != 0) decide(making, SCMP_ERRNO(EPERM), name, NULL);
        free(name);
    }
}
/* What the host permits goes first: it is permitted in whole. */
static void make_rules(struct making *making, const char *const *permitted, bool has_children) {
    for (const char *const *name = permitted; name && *name; name++) permit(making, *name);
    for (const char *const *name = usual_calls; *name; name++) permit(making, *name);
    permit_families(making);
    permit_clone(making);
    permit_signals(making, has_children);
    permit_value(making, "prlimit64", 0, 0);            /* its own limits, not those of another process */
    permit_value(making, "personality", 0, 0xFFFFFFFF); /* which asks for it */
    refuse_others(making);
}

treadle_status filter_calls(const treadle_plugin_rights *rights, char *reason, size_t capacity) {
    static struct library library;
    struct making making = {.library = &library};
    treadle_status status = TREADLE_OK;
    if (!find_library(&library, reason, capacity)) return TREADLE_E_NOT_SUPPORTED;
    for (const char *const *name = rights->calls; name && *name; name++) {
        if (library.syscall_resolve_name(*name) != SCMP_UNKNOWN) continue;
        say(reason, capacity, "libseccomp knows no system call %s", *name);
        if (!(rights->flags & TREADLE_RIGHTS_IF_POSSIBLE)) return TREADLE_E_NOT_SUPPORTED;
        status = TREADLE_IGNORED;
    }
    making.filter = library.init(SCMP_ERRNO(ENOSYS));
    if (!making.filter) return say(reason, capacity, "libseccomp makes no filter"), TREADLE_E_NOT_SUPPORTED;
    library.attr_set(making.filter, SCMP_OPTIMIZE, 2); /* older ones compare with each number in turn */
    making.error = library.attr_set(making.filter, SCMP_BAD_ARCHITECTURE, SCMP_ERRNO(ENOSYS)); /* calls by another processor's numbers */
    if (making.error == 0) making.error = library.attr_set(making.filter, SCMP_ALL_THREADS, 1);
    make_rules(&making, rights->calls, !(rights->flags & TREADLE_RIGHTS_NO_PROCESSES));
    if (making.error == 0) making.error = library.load(making.filter);
    library.release(making.filter);
    if (making.error == 0) return status;
    say(reason, capacity, "libseccomp cannot install the filter of system calls: %s", strerror(-making.error));
    return TREADLE_E_NOT_SUPPORTED;
}
