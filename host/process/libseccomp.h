/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libseccomp.h: what filter.c uses of libseccomp's interface 2, under names of its own: its header need not be installed. */
#ifndef LIBSECCOMP_H
#define LIBSECCOMP_H

#include <stdint.h>

typedef void *scmp_filter;
struct scmp_comparison {
    unsigned argument;
    int how;
    uint64_t value, other; /* of a masked comparison: the mask, and what is left */
};
enum { SCMP_NOT_EQUAL = 1, SCMP_EQUAL = 4, SCMP_GREATER = 6, SCMP_MASKED_EQUAL = 7 };
enum { SCMP_BAD_ARCHITECTURE = 2, SCMP_ALL_THREADS = 4, SCMP_OPTIMIZE = 8 }; /* attributes */
enum { SCMP_NATIVE = 0, SCMP_UNKNOWN = -1 };
#define SCMP_ALLOW 0x7fff0000u
#define SCMP_ERRNO(number) (0x00050000u | (uint32_t)(number))

#endif
