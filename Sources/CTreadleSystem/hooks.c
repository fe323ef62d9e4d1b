/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_key_t key;

static void destructor(void *value) {
    (void)value;
    libtreadle_thread_exits();
}

int32_t treadle_system_install_hooks(void (*child)(void)) {
    int32_t error = pthread_key_create(&key, destructor);
    if (error) return -error;
    error = pthread_atfork(NULL, NULL, child);
    if (error) {
        pthread_key_delete(key);
        return -error;
    }
    /* Where the kernel does not know this, or a sandbox refuses it, the forks that the C library tells of are all we see. */
    if (sysconf(_SC_PAGESIZE) <= TREADLE_SYSTEM_PAGE)
        madvise(&treadle_system_present_life, sizeof treadle_system_present_life, MADV_WIPEONFORK);
    return 0;
}

int32_t treadle_system_watch_thread(void) { return -pthread_setspecific(key, &key); }
