/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_steps_fault_test.c: the protocol of load, start, restart and end, with each step of each side killed once: the host, the process
 * of the plugin in its first life and in the one that follows a restart, and the process that watches it. A step is a call of the C
 * library's (Tests/plugins/bare/steps.c). A host that lives gets a status for each call, and its close comes to an end; a host that is
 * killed leaves no process. */
#include "../plugins/isolated.h"
#include "plugin_lines.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SERVING = 3, REPORT = 6 }; /* descriptors of a plugin's process */

static char self[4096], mark[64];

/* --- The program of plugins, with steps --------------------------------------------------------------------- */

/* The test's program in its place, by TREADLE_PLUGIN_PROCESS. */
__attribute__((constructor)) static void begin_program(void) {
    const char *steps = getenv("TREADLE_TEST_STEPS");
    char program[4096];
    Dl_info found;
    for (int fd = SERVING; fd <= REPORT; fd++)
        if (fcntl(fd, F_GETFD) != 0) return;
    if (!steps || !dladdr((void *)(uintptr_t)treadle_version, &found)) return;
    snprintf(program, sizeof program, "%.*s/treadle-plugin-process", (int)(strrchr(found.dli_fname, '/') - found.dli_fname), found.dli_fname);
    if (getenv("TREADLE_TEST_STEP")) setenv("LD_PRELOAD", steps, 1);
    execl(program, "treadle-plugin-process", (char *)NULL);
    _exit(127);
}

/* --- A host, which is a process of its own ---------------------------------------------------------------------- */

static int ended_calls, life_meant;
static void note_end(void *info, treadle_plugin plugin, const treadle_plugin_ending *ending) {
    (void)info, (void)plugin;
    CHECK(ending->reason[0]);
    if (++ended_calls >= life_meant) unsetenv("TREADLE_TEST_STEP");
}
static pid_t process;
static void note_process(void *info, int32_t number) { (void)info, process = (pid_t)number; }

/* Until a process has come in the place of the one that has ended, or none comes. */
static void await_restart(void) {
    while (!has_line("has been started again") && !has_line("no restart left")) run_briefly();
    CHECK(!has_line("no restart left"));
}
static int be_host(void) {
    const char *settings[] = {"what", "set:checkpoint", NULL}, *number = getenv("TREADLE_TEST_STEP");
    treadle_plugin_restart restart = {.struct_size = sizeof restart, .most = 4, .within_ns = TREADLE_FOREVER};
    treadle_plugin_config config = isolated_config("isolated");
    treadle_plugin plugin = NULL;
    const void *found = NULL;
    char kept[16];
    life_meant = atoi(getenv("TREADLE_TEST_STEP_LIFE"));
    snprintf(kept, sizeof kept, "%s", number);
    config.settings = settings;
    config.ended = note_end;
    config.restart = &restart;
    if (life_meant == 2) unsetenv("TREADLE_TEST_STEP");
    treadle_status status = SANE(treadle_plugin_load(&config, &plugin));
    if (life_meant == 2) setenv("TREADLE_TEST_STEP", kept, 1);
    else unsetenv("TREADLE_TEST_STEP");
    if (status != TREADLE_OK) return 0;
    if (SANE(treadle_plugin_start(plugin)) == TREADLE_OK) {
        bool is_kept = SANE(treadle_plugin_set(plugin, "kept", "the state")) == TREADLE_OK;
        if (SANE(treadle_plugin_get_extension(plugin, ISOLATED_ID, &found)) == TREADLE_OK) {
            const struct isolated *functions = found;
            if (SANE(functions->each(note_process, NULL)) == TREADLE_OK) kill(process, SIGKILL);
            else is_kept = false;
            SANE(functions->call());
            if (is_kept) await_restart();
            if (is_kept) CHECK(has_line("restored the state"));
            SANE(functions->call());
        }
        SANE(treadle_plugin_set(plugin, "size", "5"));
    }
    unload(plugin);
    return 0;
}

/* --- The table -------------------------------------------------------------------------------------------------- */

/* Orphans are this process's, so that it sees the end of each. */
static void await_all(pid_t host, bool may_be_killed) {
    int status;
    for (pid_t ended; (ended = waitpid(-1, &status, 0)) > 0;) {
        if (ended != host) continue;
        bool is_good = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        bool is_killed = may_be_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        if (!is_good && !is_killed) check_failed(__FILE__, __LINE__, "a host has ended with the status %x", (unsigned)status);
    }
    CHECK(errno == ECHILD);
}
/* True if there was a step of this number. */
static bool kill_at(const char *role, const char *life, int step) {
    char number[16];
    struct stat found;
    bool is_host = strcmp(role, "host") == 0;
    snprintf(number, sizeof number, "%d", step);
    unlink(mark);
    pid_t host = fork();
    if (host == 0) {
        setenv("TREADLE_TEST_STEP", number, 1);
        setenv("TREADLE_TEST_STEP_ROLE", role, 1);
        setenv("TREADLE_TEST_STEP_LIFE", life, 1);
        setenv("TREADLE_TEST_STEP_MARK", mark, 1);
        setenv(is_host ? "LD_PRELOAD" : "TREADLE_PLUGIN_PROCESS", is_host ? getenv("TREADLE_TEST_STEPS") : self, 1);
        execl(self, self, "host", (char *)NULL);
        _exit(127);
    }
    await_all(host, is_host);
    progress();
    bool was_there = stat(mark, &found) == 0;
    unlink(mark);
    return was_there;
}
static void kill_each(const char *role, const char *life, int least, int apart) {
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    /* In a quick run some, and other ones each time. */
    if (scaled(16) >= 16) apart = 1;
    int at = 1 + (int)(treadle_time_now() % apart), last = 0;
    CHECK(length > 0);
    self[length] = 0;
    snprintf(mark, sizeof mark, "/tmp/treadle-step-%d", (int)getpid());
    setenv("TREADLE_TEST_STEPS", path_of("steps"), 1);
    CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    for (; kill_at(role, life, at); at += apart) last = at;
    CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    printf("%s %s: %d steps\n", role, life, last);
    CHECK(last >= least);
}
TEST(a_host_that_is_killed_at_any_step_leaves_no_process, "PLUG-5 PLUG-11") { kill_each("host", "1", 100, 32); }
TEST(a_plugins_process_that_is_killed_at_any_step_is_a_status, "PLUG-5 PLUG-11") { kill_each("plugin", "1", 20, 16); }
TEST(a_process_that_is_killed_at_any_step_of_a_restart_is_followed_by_the_next, "PLUG-5 PLUG-11") { kill_each("plugin", "2", 20, 16); }
TEST(a_watcher_that_is_killed_at_any_step_is_a_status, "PLUG-5 PLUG-11") { kill_each("watcher", "1", 4, 1); }

int main(int count, char **words) { return count == 2 && strcmp(words[1], "host") == 0 ? be_host() : test_main(count, words); }
