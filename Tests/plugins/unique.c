/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * unique.c: says that it may be unmapped, but has a unique name, as C++ makes them: the loader keeps it. */
#define PROBE_ID "org.example.unique"
#include "probe.h"

__asm__(".data\n.globl treadle_test_unique\n.type treadle_test_unique, %gnu_unique_object\n.size treadle_test_unique, 8\n"
        "treadle_test_unique: .quad 0\n.text");
extern char treadle_test_unique[8];
char *treadle_test_where = treadle_test_unique;
