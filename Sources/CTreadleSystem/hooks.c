/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

#include <pthread.h>

static pthread_key_t key;
static void (*on_thread_exit)(void);

static void destructor(void *value) {
    (void)value;
    on_thread_exit();
}

int32_t treadle_system_install_hooks(void (*thread_exit)(void), void (*child)(void)) {
    on_thread_exit = thread_exit;
    int32_t error = pthread_key_create(&key, destructor);
    if (error) return -error;
    error = pthread_atfork(NULL, NULL, child);
    if (error) pthread_key_delete(key);
    return -error;
}

int32_t treadle_system_watch_thread(void) { return -pthread_setspecific(key, &key); }
