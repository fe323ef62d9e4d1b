/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * confine.c: a process gives up rights, before code runs in it that is not trusted. Nothing here can be taken back. */
#include "CTreadleSystem.h"
#include "CTreadleConfine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* --- Limits -------------------------------------------------------------------------------------------- */

/* beyond: so much more until the end is certain. */
static bool limit(int which, uint64_t most, uint64_t beyond) {
    struct rlimit now;
    if (most == 0) return true;
    if (most > INT64_MAX - 1) most = INT64_MAX - 1;
    if (getrlimit(which, &now) != 0) return false;
    struct rlimit then = {.rlim_cur = now.rlim_max < most ? now.rlim_max : (rlim_t)most};
    then.rlim_max = now.rlim_max < most + beyond ? now.rlim_max : (rlim_t)(most + beyond);
    return setrlimit(which, &then) == 0;
}

static bool is_of_cgroups(int fd) {
    struct statfs found;
    if (fstatfs(fd, &found) != 0) return false;
    return found.f_type == CGROUP2_SUPER_MAGIC || found.f_type == CGROUP_SUPER_MAGIC || (errno = ENOTSUP, false);
}
int32_t treadle_system_enter_cgroup(const char *path) {
    int32_t result = -1;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int list = directory < 0 || !is_of_cgroups(directory) ? -1 : openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (list >= 0 && write(list, "0", 1) == 1) result = 0; /* 0: the one that writes */
    if (result != 0) result = -errno;
    if (list >= 0) close(list);
    if (directory >= 0) close(directory);
    return result;
}

/* --- Files: Landlock, whose headers may be older than the kernel ----------------------------------------- */

struct ruleset {
    uint64_t files, network, scoped;
};
struct __attribute__((packed)) path_rule {
    uint64_t allowed;
    int32_t parent;
};
enum {
    EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIRECTORY = 1 << 3,
    TO_VERSION_1 = (1 << 13) - 1, TO_VERSION_2 = (1 << 14) - 1, TO_VERSION_3 = (1 << 15) - 1, TO_VERSION_5 = (1 << 16) - 1,
    TRUNCATE = 1 << 14, DEVICE_CONTROL = 1 << 15,
    OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE_CONTROL,
    READS = EXECUTE | READ_FILE | READ_DIRECTORY
};
static uint64_t known_rights(long version) {
    return version >= 5 ? TO_VERSION_5 : version >= 3 ? TO_VERSION_3 : version == 2 ? TO_VERSION_2 : TO_VERSION_1;
}
static bool allow(int set, const char *const *paths, uint64_t rights) {
    for (; paths && *paths; paths++) {
        struct stat found;
        struct path_rule rule = {.allowed = rights, .parent = open(*paths, O_PATH | O_CLOEXEC)};
        if (rule.parent < 0) {
            if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) continue;
            return false;
        }
        bool is_allowed = fstat(rule.parent, &found) == 0;
        if (is_allowed && !S_ISDIR(found.st_mode)) rule.allowed &= OF_A_FILE;
        is_allowed = is_allowed && syscall(SYS_landlock_add_rule, set, 1, &rule, 0) == 0;
        int error = errno;
        close(rule.parent);
        errno = error;
        if (!is_allowed) return false;
    }
    return true;
}
/* What the loader reads, and what programs take for granted. */
static const char *const common[] = {
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/proc/self",
    "/dev/zero", "/dev/random", "/dev/urandom", NULL,
};
static const char *const common_writable[] = {"/dev/null", NULL};

/* The folder of the library, where its own libraries may be: by its path, and without links. */
static bool allow_folder(int set, const char *library, uint64_t rights) {
    char *real = realpath(library, NULL), *copies[] = {strdup(library), real};
    bool is_allowed = copies[0] != NULL;
    for (int i = 0; is_allowed && i < 2; i++) {
        char *slash = copies[i] ? strrchr(copies[i], '/') : NULL;
        if (slash) slash[slash == copies[i]] = 0;
        const char *const folder[] = {!copies[i] ? NULL : slash ? copies[i] : ".", NULL};
        is_allowed = allow(set, folder, rights);
    }
    int error = errno;
    free(copies[0]), free(real);
    errno = error;
    return is_allowed;
}
static bool confine_files(const struct treadle_system_confinement *confinement) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    if (version < 1) return false;
    struct ruleset set = {.files = known_rights(version)};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof set.files, 0);
    if (fd < 0) return false;
    uint64_t reads = READS & set.files;
    bool is_done = allow(fd, common, reads) && allow(fd, common_writable, set.files) &&
                   (!confinement->library || allow_folder(fd, confinement->library, reads)) &&
                   allow(fd, confinement->readable, reads) && allow(fd, confinement->writable, set.files) &&
                   syscall(SYS_landlock_restrict_self, fd, 0) == 0;
    int error = errno;
    close(fd);
    errno = error;
    return is_done;
}

/* --- A filter of system calls ------------------------------------------------------------------------------ */

#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#define OTHER_NUMBERS 0x40000000u /* those of x32, which would pass by other numbers */
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#endif

static bool install(struct sock_filter *filter, size_t length) {
    struct sock_fprog program = {.len = (unsigned short)length, .filter = filter};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
#ifdef MACHINE
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define REFUSE(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define PERMIT BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Calls of another machine's numbers, such as 32-bit ones, are refused in whole. */
#define BEGIN LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0), REFUSE(ENOSYS), LOAD(nr)
#ifdef OTHER_NUMBERS
#define OWN_NUMBERS BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, OTHER_NUMBERS, 0, 1), REFUSE(ENOSYS)
#else
#define OWN_NUMBERS BPF_STMT(BPF_MISC | BPF_TAX, 0)
#endif
/* io_uring makes sockets without a call of its own for each. */
static bool confine_network(void) {
    struct sock_filter filter[] = {
        BEGIN, OWN_NUMBERS,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1), REFUSE(EPERM),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0), REFUSE(EACCES),
        PERMIT,
    };
    return install(filter, sizeof filter / sizeof *filter);
}
/* A thread is a clone with CLONE_THREAD. The arguments of clone3 are in memory, where a filter does not see them: the C library falls back
 * to clone if there is no such call. */
static bool confine_processes(void) {
    struct sock_filter filter[] = {
        BEGIN, OWN_NUMBERS,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1), REFUSE(ENOSYS),
#ifdef SYS_fork
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 0, 1), REFUSE(EPERM),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 0, 1), REFUSE(EPERM),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
        LOAD(args[0]), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x10000 /* CLONE_THREAD */, 1, 0), REFUSE(EPERM),
        PERMIT,
    };
    return install(filter, sizeof filter / sizeof *filter);
}
#else
static bool confine_network(void) { return errno = ENOSYS, false; }
static bool confine_processes(void) { return errno = ENOSYS, false; }
#endif

int32_t treadle_system_confine(const struct treadle_system_confinement *confinement) {
    bool is_done = limit(RLIMIT_AS, confinement->address_space, 0) && limit(RLIMIT_CPU, confinement->processor_seconds, 1) &&
                   limit(RLIMIT_NOFILE, confinement->descriptors, 0) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   (!confinement->only_named_files || confine_files(confinement)) &&
                   (!confinement->no_network || confine_network()) && (!confinement->no_processes || confine_processes());
    return is_done ? 0 : -errno;
}
