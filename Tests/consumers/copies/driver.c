/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * driver.c: loads libraries in the order in which they are named, those with a treadle_loop_current, and says which of them
 * have the first one's loop, which a loop of their own, and what the others are refused with. Is itself linked with the archive
 * where WITH_ARCHIVE is defined: then its own copy is the first; but where WITH_EARLY is, for a library calls another one in its
 * constructor, or this one (early.c). With "-" before a name the library is unloaded at once. */
#include <dlfcn.h>
#include <stdio.h>
#include <treadle.h>

#ifdef WITH_EARLY
extern treadle_loop early_loop;
#endif
static int calls;
static void count(void *info) { (void)info, calls++; }

static void *first, *first_run;
static void look_at(void *library, const char *kind) {
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    treadle_loop (*current)(void) = (treadle_loop (*)(void))dlsym(library, "treadle_loop_current");
    treadle_status (*last_error)(treadle_error_info *) = (treadle_status (*)(treadle_error_info *))dlsym(library, "treadle_last_error");
    treadle_status (*post)(treadle_loop, treadle_post_fn, void *) =
        (treadle_status (*)(treadle_loop, treadle_post_fn, void *))dlsym(library, "treadle_loop_post");
    treadle_status (*run)(treadle_loop, const char *, int64_t, uint32_t) =
        (treadle_status (*)(treadle_loop, const char *, int64_t, uint32_t))dlsym(library, "treadle_loop_run");
    if (!current || !last_error || !post || !run) {
        printf("%s", kind);
        return;
    }
    treadle_loop loop = current();
    if (!loop) {
        last_error(&error);
        printf("refused %d", error.code);
        return;
    }
    if (!first) first = loop, first_run = (void *)run;
    int before = calls;
    post(loop, count, NULL);
    ((treadle_status(*)(treadle_loop, const char *, int64_t, uint32_t))first_run)(loop, TREADLE_DEFAULT_MODE, 0, 0);
    printf(loop == (treadle_loop)first && calls == before + 1 ? "one" : "two");
}

int main(int count, char **paths) {
#ifdef WITH_ARCHIVE
    first = treadle_loop_current(), first_run = (void *)treadle_loop_run;
#endif
#ifdef WITH_EARLY
    printf(early_loop == first ? "early one " : "early two ");
#endif
    for (int i = 1; i < count; i++) {
        const char *path = paths[i] + (paths[i][0] == '-');
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
        if (i > 1) printf(" ");
        look_at(library, "other");
        if (paths[i][0] == '-') dlclose(library);
    }
    printf("\n");
    return 0;
}
