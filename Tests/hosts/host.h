/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host.h: what the runners in C and C++ share. A runner is called with the name of a case, and prints "NAME: pass", "NAME: fail (why)" or
 * "NAME: not applicable (why)". */
#ifndef TREADLE_TEST_HOST_H
#define TREADLE_TEST_HOST_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *case_name;
static inline void require_failed(const char *file, int line, const char *condition) {
    const char *slash = strrchr(file, '/');
    printf("%s: fail (%s:%d: %s)\n", case_name, slash ? slash + 1 : file, line, condition);
    fflush(stdout);
    _exit(1);
}
#define REQUIRE(condition) ((condition) ? (void)0 : require_failed(__FILE__, __LINE__, #condition))

struct host_case {
    const char *name;
    void (*run)(void);
    const char *why_not;
};

static inline long resident_pages(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    REQUIRE(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages;
}
static inline int open_descriptors(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    REQUIRE(folder);
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}
/* Runs a function in twenty child processes, which end as a program does when main returns. */
static inline void ends_well(void (*child)(void)) {
    for (int i = 0; i < 20; i++) {
        int status = -1;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(60);
            child();
            exit(0);
        }
        REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
        REQUIRE(status == 0);
    }
}

static inline int run_case(const struct host_case *cases, int count, char **arguments) {
    for (; cases->name; cases++) {
        if (count < 2 || strcmp(cases->name, arguments[1]) != 0) continue;
        case_name = cases->name;
        if (cases->run) cases->run();
        if (cases->run) printf("%s: pass\n", case_name);
        else printf("%s: not applicable (%s)\n", case_name, cases->why_not);
        return 0;
    }
    fprintf(stderr, "usage: %s CASE\n", arguments[0]);
    return 2;
}

#endif
