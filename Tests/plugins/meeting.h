/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * meeting.h: the extension by which one plugin calls another, which ends it meanwhile. */
#ifndef TREADLE_TEST_MEETING_H
#define TREADLE_TEST_MEETING_H

#include <treadle.h>

#define MEETING "example.meeting/1"

struct meeting {
    /* Calls back, ends the plugin `who` by its own code, and calls back again. What the end has come to. */
    treadle_status (*meet)(treadle_plugin who, int64_t timeout_ns, void (*back)(void));
};

#endif
