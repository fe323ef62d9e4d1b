/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * settling.h: the extension by which a test has a plugin make one thing of each kind in a scope of the test's. */
#ifndef TREADLE_TEST_SETTLING_H
#define TREADLE_TEST_SETTLING_H

#include "../c/scope_kinds.h"

#define SETTLING "example.settling/1"

struct settling {
    /* Makes one of a kind by the plugin's code, inside of a scope (NULL: of none), and in the one that the life names. */
    treadle_status (*make)(int kind, struct life *life, treadle_scope entered);
    /* Makes a routine of the plugin's code, which calls the life; and gives the plugin's code to a port of the host's. */
    treadle_status (*make_routine)(struct life *life);
    treadle_status (*watch)(treadle_message_port port);
    /* Registers a host language of the plugin's, with one timer that is due. */
    treadle_status (*make_host)(treadle_dispatch_fn dispatch, treadle_host *out_host);
    /* Calls a function of its host's. */
    void (*call)(void (*code)(void));
};

#endif
