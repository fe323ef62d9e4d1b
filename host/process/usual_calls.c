/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * usual_calls.c: the system calls that TREADLE_RIGHTS_USUAL_CALLS permits, whatever their arguments. Those that depend on these are in
 * filter.c. What reads or changes another process's memory or descriptors, traces, mounts, loads code into the kernel, makes namespaces, sets
 * clocks, or opens a part of the kernel that few programs need and faults were found in (bpf, io_uring, keys, userfaultfd), is not here. */
#include "filter.h"

const char *const usual_calls[] = {
    /* Memory. */
    "brk", "cacheflush", "get_mempolicy", "madvise", "map_shadow_stack", "memfd_create", "memfd_secret", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mmap2",
    "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect", "set_mempolicy",
    /* Threads and waiting. */
    "arch_prctl", "exit", "exit_group", "futex", "futex_requeue", "futex_time64", "futex_wait", "futex_waitv", "futex_wake", "getcpu",
    "get_thread_area", "gettid", "membarrier", "pause", "restart_syscall", "riscv_flush_icache", "rseq", "sched_yield", "set_robust_list",
    "set_thread_area", "set_tid_address", "set_tls",
    /* Processes: who may create them is for TREADLE_RIGHTS_NO_PROCESSES. */
    "execve", "execveat", "fork", "getpgid", "getpgrp", "getpid", "getppid", "getrusage", "getsid", "pidfd_open", "prctl", "setpgid", "setsid",
    "times", "vfork", "wait4", "waitid", "waitpid",
    /* Time. */
    "alarm", "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64", "clock_nanosleep", "clock_nanosleep_time64", "getitimer",
    "gettimeofday", "nanosleep", "setitimer", "time", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_gettime64",
    "timer_settime", "timer_settime64", "timerfd_create", "timerfd_gettime", "timerfd_gettime64", "timerfd_settime", "timerfd_settime64",
    /* Signals: to whom they are sent is in filter.c. */
    "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait", "rt_sigtimedwait_time64", "sigaction",
    "sigaltstack", "signal", "signalfd", "signalfd4", "sigpending", "sigprocmask", "sigreturn", "sigsuspend",
    /* Reading and writing. */
    "close", "close_range", "copy_file_range", "dup", "dup2", "dup3", "fcntl", "fcntl64", "flock", "io_cancel", "io_destroy", "io_getevents",
    "io_pgetevents", "io_pgetevents_time64", "io_setup", "io_submit", "ioctl", "_llseek", "lseek", "pipe", "pipe2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev",
    "pwritev2", "read", "readahead", "readv", "sendfile", "sendfile64", "splice", "tee", "vmsplice", "write", "writev",
    /* Events. */
    "epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd", "eventfd2", "inotify_add_watch",
    "inotify_init", "inotify_init1", "inotify_rm_watch", "_newselect", "poll", "ppoll", "ppoll_time64", "pselect6", "pselect6_time64", "select",
    /* Files: which is for TREADLE_RIGHTS_NAMED_FILES. */
    "access", "cachestat", "chdir", "chmod", "chown", "chown32", "creat", "faccessat", "faccessat2", "fadvise64", "fadvise64_64", "fallocate",
    "arm_fadvise64_64", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchown32", "fchownat", "fdatasync", "fgetxattr", "flistxattr", "fremovexattr",
    "fsetxattr", "fstat", "fstat64", "fstatat64", "fstatfs", "fstatfs64", "fsync", "ftruncate", "ftruncate64", "futimesat", "getcwd", "getdents",
    "getdents64", "getxattr", "lchown", "lchown32", "lgetxattr", "link", "linkat", "listxattr", "llistxattr", "lremovexattr", "lsetxattr",
    "lstat", "lstat64", "mkdir", "mkdirat", "mknod", "mknodat", "name_to_handle_at", "newfstatat", "open", "openat", "openat2", "readlink",
    "readlinkat", "removexattr", "rename", "renameat", "renameat2", "rmdir", "setxattr", "stat", "stat64", "statfs", "statfs64", "statx",
    "symlink", "symlinkat", "sync", "sync_file_range", "sync_file_range2", "syncfs", "truncate", "truncate64", "umask", "unlink", "unlinkat",
    "utime", "utimensat", "utimensat_time64", "utimes",
    /* Sockets: of which families is in filter.c. */
    "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recv", "recvfrom", "recvmmsg",
    "recvmmsg_time64", "recvmsg", "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socketpair",
    /* Queues and memory of System V and POSIX, which the user's other processes may have, too. */
    "ipc", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedreceive_time64", "mq_timedsend", "mq_timedsend_time64",
    "mq_unlink", "msgctl", "msgget", "msgrcv", "msgsnd", "semctl", "semget", "semop", "semtimedop", "semtimedop_time64", "shmat", "shmctl",
    "shmdt", "shmget",
    /* Users, limits, priorities, the system's names and numbers. */
    "capget", "capset", "getegid", "getegid32", "geteuid", "geteuid32", "getgid", "getgid32", "getgroups", "getgroups32", "getpriority",
    "getrandom", "getresgid", "getresgid32", "getresuid", "getresuid32", "getrlimit", "getuid", "getuid32", "ioprio_get", "ioprio_set", "nice",
    "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler",
    "sched_rr_get_interval", "sched_rr_get_interval_time64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler",
    "setfsgid", "setfsgid32", "setfsuid", "setfsuid32", "setgid", "setgid32", "setgroups", "setgroups32", "setpriority", "setregid",
    "setregid32", "setresgid", "setresgid32", "setresuid", "setresuid32", "setreuid", "setreuid32", "setrlimit", "setuid", "setuid32",
    "sysinfo", "ugetrlimit", "uname",
    /* What gives up more. */
    "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "seccomp",
    NULL,
};
