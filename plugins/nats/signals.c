/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signals.c: writing to a connection that the server has ended raises no signal in the program. */
#include <errno.h>
#include <time.h>

#include "nats_port.h"

static sigset_t pipe_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

void nats_begin_writing(struct nats_signals *signals) {
    sigset_t set = pipe_signal(), pending;
    signals->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &set, &signals->mask);
}
/* What has been raised meanwhile is taken away: it was raised for this thread. */
void nats_end_writing(const struct nats_signals *signals) {
    sigset_t set = pipe_signal();
    struct timespec now = {0, 0};
    if (!signals->was_pending)
        while (sigtimedwait(&set, NULL, &now) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &signals->mask, NULL);
}
