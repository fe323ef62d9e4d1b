/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * execinfo.h: for a build with a C library that has none (scripts/cross-tools). It cannot tell a stack. */
#ifndef TREADLE_LACKING_EXECINFO_H
#define TREADLE_LACKING_EXECINFO_H

static inline int backtrace(void **frames, int room) {
    (void)frames, (void)room;
    return 0;
}

#endif
