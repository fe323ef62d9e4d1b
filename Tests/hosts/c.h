/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * c.h: what the files of the runner in C share. */
#ifndef TREADLE_TEST_HOST_C_H
#define TREADLE_TEST_HOST_C_H

#include <treadle.h>

#include "host.h"

#define MILLISECOND ((int64_t)1000000)
#define OK(call) REQUIRE((call) >= 0)
#define REFUSED(call, status, word) (REQUIRE((call) == (status)), require_error(word, __LINE__))

extern const struct host_case item_cases[], thread_cases[];
extern treadle_loop loop; /* the calling thread's */
extern char seen[256];    /* what the callbacks of a case note */
void note(const char *word);
void fire_note(treadle_timer timer, void *info);
void perform_note(treadle_source source, void *info);
treadle_thread start_worker(void);

/* The text of the last error has a word. */
static inline void require_error(const char *word, int line) {
    treadle_error_info info = {.struct_size = sizeof info};
    treadle_last_error(&info);
    if (!strstr(info.message, word)) require_failed("c.h", line, info.message);
}
static inline void end(treadle_object item) { OK(treadle_invalidate(item)), OK(treadle_release(item)); }
static inline treadle_status run(const char *mode, int64_t timeout, uint32_t flags) { return treadle_loop_run(loop, mode, timeout, flags); }

#endif
