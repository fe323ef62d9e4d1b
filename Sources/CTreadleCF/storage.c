/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Static storage, locks, memory, text. */
#include "CTreadleCF.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct treadle_cf_slot *treadle_cf_chunks[TREADLE_CF_CHUNKS];
struct treadle_cf_state treadle_cf_state;
int64_t treadle_cf_offset;

static pthread_key_t firing;
static void make_keys(void) { pthread_key_create(&firing, NULL); }
static void prepare_keys(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_keys);
}
uintptr_t treadle_cf_firing(void) {
    prepare_keys();
    return (uintptr_t)pthread_getspecific(firing);
}
void treadle_cf_set_firing(uintptr_t timer) { pthread_setspecific(firing, (void *)timer); }

static pthread_mutex_t locks[TREADLE_CF_LOCKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                                   PTHREAD_MUTEX_INITIALIZER};
void treadle_cf_lock(int32_t which) { pthread_mutex_lock(&locks[which]); }
void treadle_cf_unlock(int32_t which) { pthread_mutex_unlock(&locks[which]); }

/* A fork while another thread holds a lock must not leave it locked in the child; and since all of them
 * are held around the fork, what they guard is whole there. */
static void before_fork(void) {
    for (int i = 0; i < TREADLE_CF_LOCKS; i++) pthread_mutex_lock(&locks[i]);
}
static void after_fork(void) {
    for (int i = TREADLE_CF_LOCKS; i > 0; i--) pthread_mutex_unlock(&locks[i - 1]);
}

static uint32_t started;
bool treadle_cf_begin(void) {
    if (__atomic_load_n(&started, __ATOMIC_ACQUIRE)) return false;
    treadle_cf_lock(TREADLE_CF_LOCK_SLOTS);
    if (!started) return true;
    treadle_cf_unlock(TREADLE_CF_LOCK_SLOTS);
    return false;
}
void treadle_cf_began(void) {
    pthread_atfork(before_fork, after_fork, after_fork);
    __atomic_store_n(&started, 1, __ATOMIC_RELEASE);
    treadle_cf_unlock(TREADLE_CF_LOCK_SLOTS);
}

void *treadle_cf_allocate(size_t size) { return calloc(1, size ? size : 1); }
void *treadle_cf_reallocate(void *memory, size_t size) { return realloc(memory, size ? size : 1); }
void treadle_cf_free(void *memory) { free(memory); }
void treadle_cf_copy(void *to, const void *from, size_t size) {
    if (size) memmove(to, from, size);
}
int32_t treadle_cf_compare(const void *one, const void *other, size_t size) { return size ? memcmp(one, other, size) : 0; }
size_t treadle_cf_length(const char *text) { return strlen(text); }
int32_t treadle_cf_text_of_double(char *buffer, size_t size, double value) {
    if (isinf(value)) return snprintf(buffer, size, value < 0 ? "-infinity" : "+infinity");
    return snprintf(buffer, size, value == 0 ? "0.0" : "%.17g", value);
}
int32_t treadle_cf_text_of_integer(char *buffer, size_t size, int64_t value) { return snprintf(buffer, size, "%lld", (long long)value); }
int32_t treadle_cf_text_of_pointer(char *buffer, size_t size, uintptr_t value) { return snprintf(buffer, size, "0x%lx", (unsigned long)value); }
double treadle_cf_double_of_text(const char *text) { return strtod(text, NULL); }
void treadle_cf_print_line(const char *text, size_t size) {
    flockfile(stderr);
    fwrite(text, 1, size, stderr);
    fputc('\n', stderr);
    funlockfile(stderr);
}
double treadle_cf_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)(now.tv_sec - 978307200) + (double)now.tv_nsec / 1e9;
}

static bool is_debugged(void) {
    const char *debug = secure_getenv("TREADLE_DEBUG");
    return debug && *debug;
}
static void tell_once(const char *function, const char *what, const char *more) {
    enum { MOST = 512 };
    static const char *told[MOST];
    static int count;
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    if (!is_debugged()) return;
    int saved = errno;
    pthread_mutex_lock(&guard);
    int known = 0;
    for (int i = 0; i < count && !known; i++) known = strcmp(told[i], function) == 0;
    if (!known && count < MOST) {
        told[count++] = function;
        fprintf(stderr, "treadle-cf: %s: %s%s\n", function, what, more);
    }
    pthread_mutex_unlock(&guard);
    errno = saved;
}
void treadle_cf_complain(const char *function) {
    tell_once(function, "an argument is NULL, released, of another type or out of range; no effect", "");
}
void treadle_cf_tell_status(const char *function, const char *status, const char *message) {
    char text[64];
    snprintf(text, sizeof text, "%s: ", status);
    tell_once(function, text, message);
}
void treadle_cf_tell_refusal(const char *function, int32_t fd, const char *status, const char *message, int32_t error) {
    if (!is_debugged()) return;
    int saved = errno;
    flockfile(stderr);
    fprintf(stderr, "treadle-cf: %s: descriptor %d is not watched as it should be: %s: %s", function, fd, status, message);
    if (error) fprintf(stderr, ": %s", strerror(error));
    fputc('\n', stderr);
    funlockfile(stderr);
    errno = saved;
}

static const uint16_t mac_roman[128] = {
    0x00C4, 0x00C5, 0x00C7, 0x00C9, 0x00D1, 0x00D6, 0x00DC, 0x00E1,
    0x00E0, 0x00E2, 0x00E4, 0x00E3, 0x00E5, 0x00E7, 0x00E9, 0x00E8,
    0x00EA, 0x00EB, 0x00ED, 0x00EC, 0x00EE, 0x00EF, 0x00F1, 0x00F3,
    0x00F2, 0x00F4, 0x00F6, 0x00F5, 0x00FA, 0x00F9, 0x00FB, 0x00FC,
    0x2020, 0x00B0, 0x00A2, 0x00A3, 0x00A7, 0x2022, 0x00B6, 0x00DF,
    0x00AE, 0x00A9, 0x2122, 0x00B4, 0x00A8, 0x2260, 0x00C6, 0x00D8,
    0x221E, 0x00B1, 0x2264, 0x2265, 0x00A5, 0x00B5, 0x2202, 0x2211,
    0x220F, 0x03C0, 0x222B, 0x00AA, 0x00BA, 0x03A9, 0x00E6, 0x00F8,
    0x00BF, 0x00A1, 0x00AC, 0x221A, 0x0192, 0x2248, 0x2206, 0x00AB,
    0x00BB, 0x2026, 0x00A0, 0x00C0, 0x00C3, 0x00D5, 0x0152, 0x0153,
    0x2013, 0x2014, 0x201C, 0x201D, 0x2018, 0x2019, 0x00F7, 0x25CA,
    0x00FF, 0x0178, 0x2044, 0x20AC, 0x2039, 0x203A, 0xFB01, 0xFB02,
    0x2021, 0x00B7, 0x201A, 0x201E, 0x2030, 0x00C2, 0x00CA, 0x00C1,
    0x00CB, 0x00C8, 0x00CD, 0x00CE, 0x00CF, 0x00CC, 0x00D3, 0x00D4,
    0xF8FF, 0x00D2, 0x00DA, 0x00DB, 0x00D9, 0x0131, 0x02C6, 0x02DC,
    0x00AF, 0x02D8, 0x02D9, 0x02DA, 0x00B8, 0x02DD, 0x02DB, 0x02C7,
};
uint16_t treadle_cf_mac_roman(uint8_t byte) { return mac_roman[byte & 127]; }
