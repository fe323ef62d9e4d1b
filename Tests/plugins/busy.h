/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * busy.h: the extension by which a test has a plugin make one thing, and the one of its callbacks that is to be told. */
#ifndef TREADLE_TEST_BUSY_H
#define TREADLE_TEST_BUSY_H

#include "script.h"

#define BUSY "test.busy/1"

struct busy {
    /* Makes it in a callback of the plugin on this loop, or, with NULL, here. What it calls goes to the loop `home`, in `mode`.
     * The script is told of `reached`, and of "made" when all is made. */
    treadle_status (*begin)(treadle_loop on, treadle_loop home, const char *maker, const char *reached, const char *mode);
};

#endif
