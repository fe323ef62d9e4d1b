/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

#include <pthread.h>

/* glibc's pthread_atfork is a function of four words that is linked into each library: this is what it calls. */
#ifdef __GLIBC__
extern void *__dso_handle __attribute__((visibility("hidden")));
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library);
static int watch_forks(void (*child)(void)) { return __register_atfork(NULL, NULL, child, &__dso_handle); }
#else
static int watch_forks(void (*child)(void)) { return pthread_atfork(NULL, NULL, child); }
#endif

static pthread_key_t key;

static void destructor(void *value) {
    (void)value;
    libtreadle_thread_exits();
}

int32_t treadle_system_install_hooks(void (*child)(void)) {
    int32_t error = pthread_key_create(&key, destructor);
    if (error) return -error;
    error = watch_forks(child);
    if (error) pthread_key_delete(key);
    return -error;
}

int32_t treadle_system_watch_thread(void) { return -pthread_setspecific(key, &key); }
