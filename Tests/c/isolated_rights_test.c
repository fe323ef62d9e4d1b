/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_rights_test.c: limits and rights of isolated plugins, in force before the plugin's first byte runs. */
#include "plugin_lines.h"

#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char folder[64];

#define CHECK_LINE(line)                                                                             \
    do {                                                                                             \
        if (!has_line(line "\n")) check_failed(__FILE__, __LINE__, "not " line " in:\n%s", lines); \
    } while (0)

static void make_folder(void) {
    char path[96];
    snprintf(folder, sizeof folder, "/tmp/treadle-rights-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/write", folder);
    CHECK_INT(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/read", folder);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
}
static void remove_folder(void) {
    static const char *const inside[] = {"write/new", "write", "read", ""};
    char path[96];
    for (size_t i = 0; i < COUNT(inside); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, inside[i]);
        remove(path);
    }
}
static treadle_plugin_config confined(const treadle_plugin_limits *limits, const treadle_plugin_rights *rights, const char *spins) {
    static const char *settings[5] = {"folder", folder, "spin"};
    treadle_plugin_config config = isolated_config("confined");
    settings[3] = spins;
    config.settings = settings;
    config.limits = limits;
    config.rights = rights;
    return config;
}
/* Loads and starts it; whether it can be loaded with these rights. */
static bool look(const treadle_plugin_limits *limits, const treadle_plugin_rights *rights) {
    treadle_plugin plugin;
    treadle_plugin_config config = confined(limits, rights, "false");
    treadle_status status = treadle_plugin_load(&config, &plugin);
    if (status == TREADLE_E_NOT_SUPPORTED) return false;
    CHECK_INT(status, TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    unload(plugin);
    return true;
}

TEST(without_rights_a_process_has_those_of_its_user, "PLUG-10") {
    make_folder();
    CHECK(look(NULL, NULL));
    CHECK_LINE("another file: yes");
    CHECK_LINE("writing a named file: yes");
    CHECK_LINE("a new file: yes");
    CHECK_LINE("the internet: yes");
    CHECK_LINE("a process: yes");
    CHECK_LINE("new privileges: yes");
    remove_folder();
}
TEST(files_are_limited_to_those_that_are_named, "PLUG-10") {
    char writable[96];
    make_folder();
    snprintf(writable, sizeof writable, "%s/write", folder);
    const char *const reads[] = {folder, "/nowhere", NULL}, *const writes[] = {writable, NULL};
    treadle_plugin_rights rights = {.struct_size = sizeof rights, .flags = TREADLE_RIGHTS_NAMED_FILES, .readable = reads, .writable = writes};
    if (!look(NULL, &rights)) {
        CHECK_ERROR_SAYS("Landlock");
        rights.flags |= TREADLE_RIGHTS_IF_POSSIBLE;
        CHECK(look(NULL, &rights));
        CHECK_LINE("this kernel does not limit files by name (Landlock)");
        return remove_folder();
    }
    CHECK_LINE("another file in the constructor: refused");
    CHECK_LINE("another file: refused");
    CHECK_LINE("another file on a thread: refused");
    CHECK_LINE("a named file: yes");
    CHECK_LINE("writing a named file: refused");
    CHECK_LINE("a new file: yes");
    CHECK_LINE("new privileges: refused");
    CHECK_LINE("the internet: yes");
    remove_folder();
}
TEST(network_and_processes_are_refused, "PLUG-10") {
    treadle_plugin_rights rights = {.struct_size = sizeof rights, .flags = TREADLE_RIGHTS_NO_NETWORK | TREADLE_RIGHTS_NO_PROCESSES};
    if (!look(NULL, &rights)) return;
    CHECK_LINE("the internet: refused");
    CHECK_LINE("a socket of this machine: yes");
    CHECK_LINE("a process: refused");
    CHECK_LINE("another file on a thread: yes");
    CHECK_LINE("new privileges: refused");
}
TEST(memory_and_descriptors_are_limited, "PLUG-10") {
    treadle_plugin_limits limits = {.struct_size = sizeof limits, .address_space = (uint64_t)8 << 30, .descriptors = 64};
    CHECK(look(&limits, NULL));
    if (is_way("musl")) { /* the same errors in that library's words */
        CHECK_LINE("much memory: Out of memory");
        CHECK_LINE("many descriptors: No file descriptors available");
    } else {
        CHECK_LINE("much memory: Cannot allocate memory");
        CHECK_LINE("many descriptors: Too many open files");
    }
}
TEST(a_plugin_ends_when_its_processor_time_is_used_up, "PLUG-10 PLUG-5") {
    treadle_plugin plugin;
    treadle_plugin_limits limits = {.struct_size = sizeof limits, .processor_seconds = 1};
    treadle_plugin_config config = confined(&limits, NULL, "true");
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_ERROR(treadle_plugin_start(plugin), TREADLE_E_PLUGIN, "SIGXCPU");
    unload(plugin);
}
/* A control group of this test's own; of any kind where there is one, or of memory, with a limit. False: none can be made here. */
static char group[96];
static bool limit_by(const char *name, const char *value) {
    char path[160];
    snprintf(path, sizeof path, "%s/%s", group, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, value, strlen(value)) > 0;
    if (fd >= 0) close(fd);
    return is_written;
}
static bool make_group(bool limits_memory) {
    static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"};
    for (size_t i = 0; i < COUNT(places); i++) {
        snprintf(group, sizeof group, "%s/treadle-test-%d", places[i], (int)getpid());
        char path[160];
        struct stat list;
        if (mkdir(group, 0700) != 0) continue;
        snprintf(path, sizeof path, "%s/cgroup.procs", group);
        bool is_group = stat(path, &list) == 0;
        bool is_limited = limit_by("memory.max", "536870912") || limit_by("memory.limit_in_bytes", "536870912");
        if (!limit_by("memory.swap.max", "0")) limit_by("memory.memsw.limit_in_bytes", "536870912");
        if (is_group && (is_limited || !limits_memory)) return true;
        CHECK_INT(rmdir(group), 0);
    }
    return false;
}
/* The last process of it may be on its way out. */
static void remove_group(void) {
    while (rmdir(group) != 0) {
        CHECK_INT(errno, EBUSY);
        sched_yield();
    }
}
static treadle_plugin start_in_group(const char *what) {
    treadle_plugin plugin;
    treadle_plugin_limits limits = {.struct_size = sizeof limits, .cgroup = group};
    treadle_plugin_config config = isolated_config("isolated");
    config.settings = (const char *const[]){"what", what, NULL};
    config.limits = &limits;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    return plugin;
}
static bool is_in_group(pid_t process) {
    char path[64], text[4096] = "";
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)process);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && read(fd, text, sizeof text - 1) > 0 && close(fd) == 0);
    return strstr(text, strrchr(group, '/')) != NULL;
}
TEST(a_process_is_in_the_control_group_that_its_host_names, "PLUG-10") {
    if (!make_group(false)) skip("no control group can be made here");
    treadle_plugin plugin = start_in_group("start:pid");
    await_line("pid ");
    CHECK(is_in_group((pid_t)atoi(strstr(lines, "pid ") + 4)));
    CHECK(!is_in_group(getpid()));
    unload(plugin);
    remove_group();
}
TEST(a_process_that_uses_more_memory_than_its_control_group_has_is_ended, "PLUG-10 PLUG-5") {
    if (!make_group(true)) skip("no control group that limits memory can be made here");
    treadle_plugin plugin = start_in_group("set:use");
    CHECK_ERROR(treadle_plugin_set(plugin, "size", "5"), TREADLE_E_PLUGIN, "SIGKILL");
    unload(plugin);
    remove_group();
}
TEST(a_control_group_that_cannot_be_entered_is_refused_by_its_name, "PLUG-10 ABI-7") {
    static const char *const wrong[] = {"/nowhere", "/tmp", "/dev/null"};
    treadle_plugin plugin;
    treadle_plugin_limits limits = {.struct_size = sizeof limits};
    treadle_plugin_config config = confined(&limits, NULL, "false");
    for (size_t i = 0; i < COUNT(wrong); i++) {
        limits.cgroup = wrong[i];
        CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_NOT_SUPPORTED, wrong[i]);
    }
    limits.cgroup = "";
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "cgroup");
    treadle_plugin_rights rights = {.struct_size = sizeof rights, .flags = TREADLE_RIGHTS_IF_POSSIBLE};
    limits.cgroup = "/nowhere";
    make_folder();
    CHECK(look(&limits, &rights));
    CHECK_LINE("the process cannot enter the cgroup /nowhere");
    remove_folder();
}
TEST(bad_rights_are_refused_by_name, "PLUG-10 ABI-7") {
    treadle_plugin plugin;
    const char *const reads[] = {"/tmp", NULL};
    treadle_plugin_limits limits = {.struct_size = 3};
    treadle_plugin_rights rights = {.struct_size = sizeof rights, .flags = 1u << 31};
    treadle_plugin_config config = confined(&limits, NULL, "false");
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "limits");
    config = confined(NULL, &rights, "false");
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "rights");
    rights.flags = TREADLE_RIGHTS_NO_NETWORK;
    rights.readable = reads;
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "rights");
    rights.readable = NULL;
    config.flags = 0;
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "rights");
}

TEST_MAIN()
