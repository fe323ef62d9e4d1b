/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * refuse.h: a process that may not make a system call, as in a sandbox: a filter answers in the kernel's place. The file
 * stands alone, since check.h includes it: TREADLE_TEST_REFUSE, such as "preadv2:EPERM", is what every test is refused. */
#ifndef TREADLE_TEST_REFUSE_H
#define TREADLE_TEST_REFUSE_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The calls that Treadle can do without. Of some only one kind is meant: where the argument has the bits. */
struct refusable {
    const char *name;
    uint32_t number;
    int argument; /* -1: whatever the arguments are */
    uint32_t mask, bits;
};
static const struct refusable refusables[] = {
    {"preadv2", SYS_preadv2, -1, 0, 0},
    {"timerfd_create", SYS_timerfd_create, -1, 0, 0},
    {"timerfd_settime", SYS_timerfd_settime, -1, 0, 0},
    {"membarrier", SYS_membarrier, -1, 0, 0},
    {"futex_lock_pi", SYS_futex, 1, 127, 6},
    {"mmap_fixed_noreplace", SYS_mmap, 3, 0x100000, 0x100000},
    {"mremap_again", SYS_mremap, 1, UINT32_MAX, 0},
    {"fcntl_getfd", SYS_fcntl, 1, UINT32_MAX, 1},
    {"prctl_timerslack", SYS_prctl, 0, UINT32_MAX, 29},
    {"prctl_get_timerslack", SYS_prctl, 0, UINT32_MAX, 30},
    {"sched_yield", SYS_sched_yield, -1, 0, 0},
    {"setsockopt_passrights", SYS_setsockopt, 2, UINT32_MAX, 83},
    {"getcpu", SYS_getcpu, -1, 0, 0},
    {NULL, 0, 0, 0, 0},
};

/* From here on, in this process and its children; false where that is not permitted. */
__attribute__((unused)) static bool install_filter(struct sock_filter *filter, unsigned short length) {
    struct sock_fprog program = {.len = length, .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
__attribute__((unused)) static bool refuse_call(const struct refusable *call, int error) {
    /* The low half of the argument, which is all that these calls look at. */
    uint32_t at = (uint32_t)offsetof(struct seccomp_data, args) + 8 * (uint32_t)(call->argument < 0 ? 0 : call->argument);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, call->mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install_filter(filter, sizeof filter / sizeof *filter);
}
__attribute__((unused)) static bool refuse_by_name(const char *name, size_t length, int error) {
    for (const struct refusable *call = refusables; call->name; call++) {
        if (strlen(call->name) == length && memcmp(call->name, name, length) == 0) return refuse_call(call, error);
    }
    return false;
}

/* What the environment asks for: "CALL:EPERM" or "CALL:ENOSYS". */
__attribute__((unused)) static void refuse_as_asked(void) {
    const char *asked = getenv("TREADLE_TEST_REFUSE");
    const char *end = asked ? strchr(asked, ':') : NULL;
    if (!asked || !*asked) return;
    if (!end || !refuse_by_name(asked, (size_t)(end - asked), strcmp(end, ":EPERM") == 0 ? EPERM : ENOSYS)) {
        fprintf(stderr, "%s cannot be refused here\n", asked);
        exit(1);
    }
}
/* Whether that is one of the calls whose names begin so. */
__attribute__((unused)) static bool is_refused(const char *name) {
    const char *asked = getenv("TREADLE_TEST_REFUSE");
    return asked && strncmp(asked, name, strlen(name)) == 0;
}
#endif
