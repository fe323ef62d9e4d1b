/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle-glue.h: passes of a run loop that another loop waits for. Shared by the headers for loops of other libraries, and
 * for use by further ones. */
#ifndef TREADLE_GLUE_H
#define TREADLE_GLUE_H

#include <treadle.h>
#include <unistd.h>

TREADLE_BEGIN_DECLS

/** Called when a pass inside of another loop did not end as usual: TREADLE_RUN_STOPPED when the run loop was stopped, or an
 *  error. Returns whether to go on; if not, the other loop waits for this one no more. Without such a function it goes on after a
 *  stop and TREADLE_E_CALLBACK, and not after other errors, which are reported (treadle_report_error).
 *  [callback] on the other loop's thread, outside of the pass. Since 1.0. */
typedef bool (*treadle_glue_fn)(treadle_status status, void *info);

/** Makes one pass, which does not wait, and returns whether to go on. A pass handles what is there at its beginning, so the
 *  other loop is never held up by posts that lead to posts.
 *  [owner] Since 1.0. */
static inline bool treadle_glue_pass(treadle_loop loop, const char *mode, treadle_glue_fn ended, void *info) {
    treadle_status status = treadle_loop_run(loop, mode, 0, TREADLE_RUN_WHEN_EMPTY);
    if (status == TREADLE_RUN_TIMED_OUT) return true;
    if (ended) return ended(status, info);
    if (status >= 0 || status == TREADLE_E_CALLBACK) return true;
    treadle_report_error(treadle_status_name(status), "a run loop inside of another loop ends");
    return false;
}

/** Opens the descriptor of a run loop's mode, and retains the loop: the caller closes the one, and releases the other.
 *  [owner] Errors: as treadle_loop_open_pollable; TREADLE_E_RANGE if the loop has 32,767 references. Since 1.0. */
static inline treadle_status treadle_glue_open(treadle_loop loop, const char *mode, int32_t *out_fd) {
    treadle_status status = treadle_loop_open_pollable(loop, mode, out_fd);
    if (status < 0) return status;
    status = treadle_retain(loop);
    if (status < 0) close(*out_fd), *out_fd = -1;
    return status;
}

/** To be called before each wait of the other loop: whatever has called third loops inside of the run loop, what was started of
 *  them is waited for (treadle_loop_prepare). An error is left to the next pass.
 *  [owner] Since 1.0. */
static inline void treadle_glue_prepare(treadle_loop loop, const char *mode) {
    int64_t date;
    treadle_loop_prepare(loop, mode, &date);
}

TREADLE_END_DECLS
#endif
