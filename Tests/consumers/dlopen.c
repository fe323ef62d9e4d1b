/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * A host that loads the library by name at run time, calls it, and lets it go: the library stays,
 * since the thread's loop is still to be torn down by its code. */
#include <dlfcn.h>
#include <stdio.h>
#include <treadle.h>

#define LOAD(name) *(void **)&name = dlsym(library, "treadle_" #name)

int main(int count, char **arguments) {
    void *library = dlopen(count > 1 ? arguments[1] : "libtreadle.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    const char *(*version_string)(void);
    treadle_loop (*loop_current)(void);
    treadle_status (*loop_run)(treadle_loop, const char *, int64_t, uint32_t);
    treadle_status (*loop_wake)(treadle_loop);
    LOAD(version_string);
    LOAD(loop_current);
    LOAD(loop_run);
    LOAD(loop_wake);
    if (!version_string || !loop_current || !loop_run || !loop_wake) return 1;

    int finished = loop_run(loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED;
    dlclose(library);
    int alive = loop_wake(loop_current()) >= TREADLE_OK;
    printf("treadle %s: finished %d, alive after dlclose %d\n", version_string(), finished, alive);
    return 0;
}
