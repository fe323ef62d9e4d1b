/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

#include <pthread.h>

static pthread_key_t key;

static void destructor(void *value) {
    (void)value;
    libtreadle_thread_exits();
}

int32_t treadle_system_install_hooks(void (*child)(void)) {
    int32_t error = pthread_key_create(&key, destructor);
    if (error) return -error;
    error = pthread_atfork(NULL, NULL, child);
    if (error) pthread_key_delete(key);
    return -error;
}

int32_t treadle_system_watch_thread(void) { return -pthread_setspecific(key, &key); }
