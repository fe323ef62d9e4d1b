/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * container.c: runs a program under a filter like the default one of container engines (Docker, Podman): calls that manage
 * the machine, trace other processes or make namespaces give EPERM; clone3, whose flags a filter cannot see, and calls newer
 * than the filter give ENOSYS, so that the C library falls back on what it used before.
 * Usage: container PROGRAM [ARGUMENT...] */
#include "../c/refuse.h"

#include <unistd.h>

static const uint32_t refused[] = {
    SYS_acct, SYS_add_key, SYS_bpf, SYS_clock_adjtime, SYS_clock_settime, SYS_delete_module, SYS_fanotify_init,
    SYS_finit_module, SYS_fsconfig, SYS_fsmount, SYS_fsopen, SYS_fspick, SYS_get_mempolicy, SYS_init_module, SYS_io_uring_enter,
    SYS_io_uring_register, SYS_io_uring_setup, SYS_kcmp, SYS_kexec_load, SYS_keyctl, SYS_lookup_dcookie, SYS_mbind, SYS_mount,
    SYS_move_mount, SYS_move_pages, SYS_open_by_handle_at, SYS_open_tree, SYS_perf_event_open, SYS_pidfd_getfd, SYS_pivot_root,
    SYS_process_madvise, SYS_process_vm_readv, SYS_process_vm_writev, SYS_ptrace, SYS_quotactl, SYS_reboot, SYS_request_key,
    SYS_set_mempolicy, SYS_setdomainname, SYS_sethostname, SYS_setns, SYS_settimeofday, SYS_swapoff, SYS_swapon, SYS_syslog,
    SYS_umount2, SYS_unshare, SYS_userfaultfd, SYS_vhangup,
};
enum { REFUSED = sizeof refused / sizeof *refused, NEWEST = 450 }; /* the last call that Linux 6.0 has */
/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET */
#define NAMESPACES 0x7e020000

int main(int count, char **arguments) {
    struct sock_filter filter[4 + 2 * REFUSED + 8];
    unsigned short length = 0;
    const struct sock_filter load = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    const struct sock_filter eperm = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    const struct sock_filter enosys = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    if (count < 2) return fprintf(stderr, "usage: container PROGRAM [ARGUMENT...]\n"), 2;
#define ADD(...) filter[length++] = (struct sock_filter)__VA_ARGS__
    filter[length++] = load;
    for (int i = 0; i < REFUSED; i++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1));
        filter[length++] = eperm;
    }
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0));
    ADD(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, NEWEST, 0, 1));
    filter[length++] = enosys;
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NAMESPACES, 0, 1));
    filter[length++] = eperm;
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    if (!install_filter(filter, length)) return perror("seccomp"), 125;
    execv(arguments[1], arguments + 1);
    return perror(arguments[1]), 126;
}
