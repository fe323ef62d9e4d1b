/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_calls_test.c: filters of system calls of isolated plugins, by libseccomp, in force before the plugin's first byte runs. This program
 * is the process of a plugin as well, without a filter, where TREADLE_TEST_NO_FILTER is set. */
#include "plugin_lines.h"

#include <dlfcn.h>
#include <fcntl.h>

#include "../../host/process/libseccomp.h"
#if __has_include(<seccomp.h>)
#include <seccomp.h>
_Static_assert(sizeof(struct scmp_arg_cmp) == sizeof(struct scmp_comparison), "size of a comparison");
_Static_assert(offsetof(struct scmp_arg_cmp, op) == offsetof(struct scmp_comparison, how), "how");
_Static_assert(offsetof(struct scmp_arg_cmp, datum_a) == offsetof(struct scmp_comparison, value), "value");
_Static_assert(offsetof(struct scmp_arg_cmp, datum_b) == offsetof(struct scmp_comparison, other), "other");
_Static_assert(SCMP_NOT_EQUAL == (int)SCMP_CMP_NE && SCMP_EQUAL == (int)SCMP_CMP_EQ && SCMP_GREATER == (int)SCMP_CMP_GT, "comparisons");
_Static_assert(SCMP_MASKED_EQUAL == (int)SCMP_CMP_MASKED_EQ && SCMP_OPTIMIZE == (int)SCMP_FLTATR_CTL_OPTIMIZE, "the newer ones");
_Static_assert(SCMP_BAD_ARCHITECTURE == (int)SCMP_FLTATR_ACT_BADARCH && SCMP_ALL_THREADS == (int)SCMP_FLTATR_CTL_TSYNC, "attributes");
_Static_assert(SCMP_NATIVE == SCMP_ARCH_NATIVE && SCMP_UNKNOWN == __NR_SCMP_ERROR, "numbers");
_Static_assert(SCMP_ALLOW == SCMP_ACT_ALLOW && SCMP_ERRNO(7) == SCMP_ACT_ERRNO(7), "actions");
#endif

#define CHECK_LINE(line)                                                                             \
    do {                                                                                             \
        if (!has_line(line "\n")) check_failed(__FILE__, __LINE__, "not " line " in:\n%s", lines); \
    } while (0)

static treadle_plugin_config filtered(const char *name, const treadle_plugin_rights *rights) {
    treadle_plugin_config config = isolated_config(name);
    config.rights = rights;
    return config;
}
static treadle_plugin_rights usual(uint32_t flags, const char *const *calls) {
    return (treadle_plugin_rights){.struct_size = sizeof(treadle_plugin_rights), .flags = TREADLE_RIGHTS_USUAL_CALLS | flags, .calls = calls};
}
static void look(const treadle_plugin_rights *rights) {
    treadle_plugin plugin;
    treadle_plugin_config config = filtered("filtered", rights);
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    unload(plugin);
}
/* Without libseccomp the tests that need it show how a load is refused; make test installs it. */
static bool has_filter(void) {
    treadle_plugin plugin;
    treadle_plugin_rights rights = usual(0, NULL);
    treadle_plugin_config config = filtered("filtered", &rights);
    if (dlopen("libseccomp.so.2", RTLD_NOW)) return true;
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_NOT_SUPPORTED, "libseccomp");
    printf("not run: libseccomp is not installed\n");
    return false;
}

TEST(without_a_filter_a_plugin_makes_all_calls, "PLUG-10") {
    look(NULL);
    CHECK_LINE("kcmp in the constructor: made");
    CHECK_LINE("kcmp: made");
    CHECK_LINE("process_vm_readv: made");
    CHECK_LINE("unshare: made");
    CHECK_LINE("tkill: made");
    CHECK_LINE("the parent's limits: made");
    CHECK_LINE("a signal to the parent: made");
    CHECK(!has_line("ptrace: refused\n"));
    CHECK(!has_line("clone with a namespace: refused\n"));
}
TEST(calls_that_are_not_usual_are_refused, "PLUG-10") {
    treadle_plugin_rights rights = usual(0, NULL);
    if (!has_filter()) return;
    look(&rights);
    CHECK_LINE("kcmp in the constructor: refused");
    CHECK_LINE("kcmp: refused");
    CHECK_LINE("process_vm_readv: refused");
    CHECK_LINE("ptrace: refused");
    CHECK_LINE("mount: refused");
    CHECK_LINE("bpf: refused");
    CHECK_LINE("keyctl: refused");
    CHECK_LINE("unshare: refused");
    CHECK_LINE("io_uring_setup: refused");
    CHECK_LINE("tkill: refused");
    CHECK_LINE("clone with a namespace: refused");
    CHECK_LINE("clone3: Function not implemented");
    CHECK_LINE("a call that no kernel has: Function not implemented");
    CHECK_LINE("the parent's limits: refused");
    CHECK_LINE("a socket of the kernel's ciphers: refused");
    CHECK_LINE("a family with more bits than it has: refused");
}
TEST(usual_calls_are_made_under_a_filter, "PLUG-10") {
    treadle_plugin_rights rights = usual(0, NULL);
    if (!has_filter()) return;
    look(&rights);
    CHECK_LINE("personality: made");
    CHECK_LINE("a signal to the parent: made");
    CHECK_LINE("a signal to itself: made");
    CHECK_LINE("a signal to its thread: made");
    CHECK_LINE("its own limits: made");
    CHECK_LINE("a socket of the internet: made");
    CHECK_LINE("a socket of this machine: made");
    CHECK_LINE("a process: made");
    CHECK_LINE("a thread: made");
    CHECK_LINE("code: made");
    CHECK_LINE("a timer: made");
    CHECK_LINE("a file: made");
}
TEST(a_plugin_without_processes_signals_itself_alone, "PLUG-10") {
    treadle_plugin_rights rights = usual(TREADLE_RIGHTS_NO_PROCESSES | TREADLE_RIGHTS_NO_NETWORK, NULL);
    if (!has_filter()) return;
    look(&rights);
    CHECK_LINE("a signal to the parent: refused");
    CHECK_LINE("a signal to itself: made");
    CHECK_LINE("a signal to its thread: made");
    CHECK_LINE("a process: refused");
    CHECK_LINE("a thread: made");
    CHECK_LINE("a socket of the internet: Permission denied");
}
TEST(calls_that_a_host_names_are_made, "PLUG-10") {
    static const char *const calls[] = {"kcmp", "kcmp", "read", "kill", "personality", "clone", NULL};
    treadle_plugin_rights rights = usual(TREADLE_RIGHTS_NO_PROCESSES, calls);
    if (!has_filter()) return;
    look(&rights);
    CHECK_LINE("kcmp in the constructor: made");
    CHECK_LINE("kcmp: made");
    CHECK_LINE("process_vm_readv: refused");
    CHECK_LINE("a signal to the parent: made");
    CHECK_LINE("a process: refused");
}
TEST(calls_that_are_unknown_are_named, "PLUG-10") {
    treadle_plugin plugin;
    static const char *const calls[] = {"kcmp", "no_such_call", NULL};
    treadle_plugin_rights rights = usual(0, calls);
    if (!has_filter()) return;
    treadle_plugin_config config = filtered("filtered", &rights);
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_NOT_SUPPORTED, "libseccomp knows no system call no_such_call");
    rights.flags |= TREADLE_RIGHTS_IF_POSSIBLE;
    look(&rights);
    CHECK_LINE("1 libseccomp knows no system call no_such_call");
    CHECK_LINE("kcmp: made");
    CHECK_LINE("process_vm_readv: refused");
    rights.flags = TREADLE_RIGHTS_IF_POSSIBLE;
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "names system calls without TREADLE_RIGHTS_USUAL_CALLS");
}
TEST(a_crash_under_a_filter_is_told_with_its_place, "PLUG-10 PLUG-5") {
    treadle_plugin plugin;
    static const char *const settings[] = {"what", "start:segv", NULL};
    treadle_plugin_rights rights = usual(TREADLE_RIGHTS_NO_PROCESSES | TREADLE_RIGHTS_NO_NETWORK, NULL);
    if (!has_filter()) return;
    treadle_plugin_config config = filtered("isolated", &rights);
    config.host_name = "a test";
    config.settings = settings;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, "signal 11 (SIGSEGV) at isolated.so+0x");
    unload(plugin);
}
/* A process that finds no libseccomp refuses the load, or says that there is no filter. */
static void check_missing(const char *reason) {
    treadle_plugin plugin;
    treadle_plugin_rights rights = usual(0, NULL);
    treadle_plugin_config config = filtered("filtered", &rights);
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_NOT_SUPPORTED, reason);
    rights.flags |= TREADLE_RIGHTS_IF_POSSIBLE;
    look(&rights);
    CHECK(has_line(reason));
    CHECK_LINE("process_vm_readv: made");
}
TEST(where_libseccomp_is_missing_the_load_says_so, "PLUG-10") {
    char folder[] = "/tmp/treadle-calls-XXXXXX", path[64];
    const char *before = getenv("LD_LIBRARY_PATH");
    char *kept = before ? strdup(before) : NULL;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/libseccomp.so.2", folder);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* no library, and the loader looks no further */
    CHECK(fd >= 0 && close(fd) == 0);
    setenv("LD_LIBRARY_PATH", folder, 1);
    check_missing("the filter of system calls needs libseccomp: ");
    if (kept) setenv("LD_LIBRARY_PATH", kept, 1);
    else unsetenv("LD_LIBRARY_PATH");
    free(kept);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}
TEST(a_program_without_a_filter_says_so, "PLUG-10") {
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = 0;
    setenv("TREADLE_PLUGIN_PROCESS", self, 1);
    setenv("TREADLE_TEST_NO_FILTER", "1", 1);
    check_missing("the plugin's process is of a program that has no filter of system calls");
    unsetenv("TREADLE_TEST_NO_FILTER");
    unsetenv("TREADLE_PLUGIN_PROCESS");
}

int main(int count, char **arguments) {
    enum { SERVING = 3, ASKING };
    if (getenv("TREADLE_TEST_NO_FILTER")) return treadle_plugin_serve(SERVING, ASKING, NULL) == TREADLE_OK ? 0 : 1;
    return test_main(count, arguments);
}
