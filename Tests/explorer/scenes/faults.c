/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * faults.c: the explorer's own test. Each scene has a fault that must be found, of a kind that the others rely on. */
#include "owner.h"

#include <stdlib.h>

static int plain;
static counter flag;
static void *write_and_tell(void *info) {
    plain = 1;
    count(&flag);
    return info;
}
FAULT(a_flag_that_orders_nothing, "a data race") {
    explore_from_here();
    pthread_t other = start(write_and_tell, NULL);
    if (counted(&flag)) REQUIRE(plain == 1);
    join(other);
}
/* Two fields in the same 8 bytes are no race; two writes of one field are. */
static struct {
    uint16_t mine, theirs, shared;
} fields;
static void *write_fields(void *is_other) {
    is_other ? (fields.theirs = 1) : (fields.mine = 1);
    fields.shared = 1;
    return is_other;
}
FAULT(a_field_that_two_write, "a data race") {
    explore_from_here();
    pthread_t other = start(write_fields, &fields);
    write_fields(NULL);
    join(other);
}

static int *freed_memory;
static void *use_it(void *info) {
    *(volatile int *)freed_memory = 1;
    return info;
}
FAULT(memory_that_is_used_after_it_was_freed, "freed memory is used") {
    freed_memory = malloc(sizeof *freed_memory);
    explore_from_here();
    free(freed_memory);
    join(start(use_it, NULL));
}

/* Each writes its own flag, then looks at the other's: without a fence both may miss it. */
static counter flags[2], missed;
static void *write_then_look(void *info) {
    int self = info != NULL;
    count(&flags[self]);
    if (!counted(&flags[1 - self])) count(&missed);
    return info;
}
FAULT(two_that_miss_each_other, "faults.c:") {
    explore_from_here();
    pthread_t other = start(write_then_look, &flags);
    write_then_look(NULL);
    join(other);
    REQUIRE(counted(&missed) < 2);
}

FAULT(a_wake_up_that_is_lost, "deadlock") {
    pthread_t owner = start_owner(NULL);
    if (!treadle_loop_is_waiting(loop)) REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}
