/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host.h: what the runners in C and C++ share. A runner is called with the names of cases, and prints "NAME: pass", "NAME: fail (why)" or
 * "NAME: not applicable (why)" for each of them. */
#ifndef TREADLE_TEST_HOST_H
#define TREADLE_TEST_HOST_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char *case_name;
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

/* Runs a case of one of the tables; false if there is none of this name. */
static inline int run_case(const struct host_case *const *tables, const char *name) {
    for (; *tables; tables++)
        for (const struct host_case *one = *tables; one->name; one++) {
            if (strcmp(one->name, name) != 0) continue;
            case_name = name;
            if (one->run) one->run();
            if (one->run) printf("%s: pass\n", name);
            else printf("%s: not applicable (%s)\n", name, one->why_not);
            return 1;
        }
    fprintf(stderr, "there is no case %s\n", name);
    return 0;
}

#endif
