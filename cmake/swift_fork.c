/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * swift_fork.c: linked into a library that brings the ordinary Swift runtime, whose locks know their owner by its thread's
 * id. The runtime asks the kernel for the id once, and the child of a fork goes on with its parent's: two threads that meet
 * at a lock there spin for ever. The child forgets it. */
#include <pthread.h>

/* 0 until it is asked for: swift::threading_impl::linux::ulock_get_tid()::tid */
extern _Thread_local int known_id __asm__("_ZZN5swift14threading_impl5linux13ulock_get_tidEvE3tid");

static void forget(void) { known_id = 0; }
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, forget); }
