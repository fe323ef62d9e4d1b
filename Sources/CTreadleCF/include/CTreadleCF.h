/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleCF.h: what Swift cannot reach by itself for the CoreFoundation-compatible library: static storage,
 * atomics on it, the C library, variable arguments, blocks, exported constants. References are uintptr_t here. */
#ifndef CTREADLE_CF_H
#define CTREADLE_CF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For the importer: this pointer is never NULL. */
#ifdef __clang__
#define TREADLE_CF_NONNULL _Nonnull
#pragma clang diagnostic ignored "-Wnullability-completeness"
#else
#define TREADLE_CF_NONNULL
#endif

/* --- Slots of objects ---------------------------------------------------------------------------------- */

/* A reference is tag, generation, slot number, four zero bits. Treadle's own handles are odd. */
#define TREADLE_CF_TAG ((uintptr_t)0xCF)
#define TREADLE_CF_STATIC(slot) ((TREADLE_CF_TAG << 56) | ((uintptr_t)(slot) << 4))
enum { TREADLE_CF_CHUNKS = 4096, TREADLE_CF_SLOTS_OF_CHUNK = 4096 };

/* The slots of the constants. */
enum {
    TREADLE_CF_ALLOCATOR_SYSTEM = 1,
    TREADLE_CF_ALLOCATOR_MALLOC,
    TREADLE_CF_ALLOCATOR_MALLOC_ZONE,
    TREADLE_CF_ALLOCATOR_NULL,
    TREADLE_CF_NULL,
    TREADLE_CF_TRUE,
    TREADLE_CF_FALSE,
    TREADLE_CF_DEFAULT_MODE,
    TREADLE_CF_COMMON_MODES,
    TREADLE_CF_SOCKET_COMMAND,
    TREADLE_CF_SOCKET_NAME,
    TREADLE_CF_SOCKET_VALUE,
    TREADLE_CF_SOCKET_RESULT,
    TREADLE_CF_SOCKET_ERROR,
    TREADLE_CF_SOCKET_REGISTER,
    TREADLE_CF_SOCKET_RETRIEVE,
    TREADLE_CF_FIRST_FREE
};

struct treadle_cf_slot {
    uint64_t word; /* generation << 32 | count; the count's highest bit: never freed */
    uint32_t kind;
    uint32_t next; /* the next free slot */
    void *body;
};
extern struct treadle_cf_slot *treadle_cf_chunks[TREADLE_CF_CHUNKS] __attribute__((visibility("hidden")));

/* The rest of what the process shares, beside the lock that guards it. */
struct treadle_cf_state {
    uint32_t used, free_slots;           /* LOCK_SLOTS: slots 1...used have been used; the first free one */
    uintptr_t constant_strings;          /* LOCK_SHARED */
    uintptr_t sockets;                   /* LOCK_SOCKETS */
    void *watcher;                       /* published: the loop of the thread that watches remote ports */
};
extern struct treadle_cf_state treadle_cf_state __attribute__((visibility("hidden")));
static inline struct treadle_cf_state *TREADLE_CF_NONNULL treadle_cf_shared(void) { return &treadle_cf_state; }

static inline struct treadle_cf_slot *treadle_cf_slot(uint32_t slot) {
    struct treadle_cf_slot *chunk = __atomic_load_n(&treadle_cf_chunks[(slot >> 12) & 4095], __ATOMIC_ACQUIRE);
    return chunk ? chunk + (slot & 4095) : NULL;
}
static inline void treadle_cf_set_chunk(uint32_t index, struct treadle_cf_slot *chunk) {
    __atomic_store_n(&treadle_cf_chunks[index & 4095], chunk, __ATOMIC_RELEASE);
}
/* Adds one to the count of a living object of this generation. */
static inline bool treadle_cf_hold(struct treadle_cf_slot *slot, uint32_t generation) {
    uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
    for (;;) {
        uint32_t count = (uint32_t)word;
        if ((uint32_t)(word >> 32) != generation || count == 0 || count == 0x7FFFFFFF) return false;
        if (count & 0x80000000) return true;
        if (__atomic_compare_exchange_n(&slot->word, &word, word + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) return true;
    }
}
/* Takes one from the count; true for the last. */
static inline bool treadle_cf_drop(struct treadle_cf_slot *slot) {
    if (__atomic_load_n(&slot->word, __ATOMIC_RELAXED) & 0x80000000) return false;
    return ((uint32_t)__atomic_sub_fetch(&slot->word, 1, __ATOMIC_ACQ_REL)) == 0;
}
static inline uint64_t treadle_cf_word(struct treadle_cf_slot *slot) { return __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE); }
static inline void treadle_cf_set_word(struct treadle_cf_slot *slot, uint64_t word) {
    __atomic_store_n(&slot->word, word, __ATOMIC_RELEASE);
}
static inline uint32_t treadle_cf_load(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static inline void treadle_cf_store(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

/* The offset between the clocks that dates are made with. */
extern int64_t treadle_cf_offset __attribute__((visibility("hidden")));
static inline int64_t treadle_cf_load_offset(void) { return __atomic_load_n(&treadle_cf_offset, __ATOMIC_RELAXED); }
static inline void treadle_cf_store_offset(int64_t offset) { __atomic_store_n(&treadle_cf_offset, offset, __ATOMIC_RELAXED); }
/* The calling thread's timer that fires, or 0. */
uintptr_t treadle_cf_firing(void);
void treadle_cf_set_firing(uintptr_t timer); /* after the other */

/* --- Locks: guard the table of slots; the constant strings and the dates of timers; the sockets; the ports --- */

enum { TREADLE_CF_LOCK_SLOTS, TREADLE_CF_LOCK_SHARED, TREADLE_CF_LOCK_SOCKETS, TREADLE_CF_LOCK_PORTS, TREADLE_CF_LOCKS };
void treadle_cf_lock(int32_t which);
void treadle_cf_unlock(int32_t which);
/* True once, for the caller that fills in the constants; others wait until that is done. */
bool treadle_cf_begin(void);
void treadle_cf_began(void);

/* Puts memory where there is none yet; what is there then: of several threads that make the same, one's is kept. */
static inline void *treadle_cf_publish(void **place, void *made) {
    void *known = NULL;
    return __atomic_compare_exchange_n(place, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? made : known;
}
/* Takes it away again, if it is still that. */
static inline void treadle_cf_unpublish(void **place, void *known) {
    __atomic_compare_exchange_n(place, &known, NULL, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
static inline void *treadle_cf_published(void **place) { return __atomic_load_n(place, __ATOMIC_ACQUIRE); }

/* --- Memory and text ----------------------------------------------------------------------------------- */

void *treadle_cf_allocate(size_t size); /* never asks malloc for nothing */
void *treadle_cf_reallocate(void *memory, size_t size);
void treadle_cf_free(void *memory);
void treadle_cf_copy(void *to, const void *from, size_t size); /* may overlap; size 0 allows NULL */
int32_t treadle_cf_compare(const void *one, const void *other, size_t size);
size_t treadle_cf_length(const char *text);
int32_t treadle_cf_text_of_double(char *buffer, size_t size, double value);
int32_t treadle_cf_text_of_integer(char *buffer, size_t size, int64_t value);
int32_t treadle_cf_text_of_pointer(char *buffer, size_t size, uintptr_t value);
double treadle_cf_double_of_text(const char *text);
void treadle_cf_print_line(const char *text, size_t size); /* to standard error */
uint16_t treadle_cf_mac_roman(uint8_t byte);               /* of the upper half */
/* The first bad call of a function writes a line to standard error, if TREADLE_DEBUG is set. */
void treadle_cf_complain(const char *function);
/* The first status of a function that says something else, likewise. */
void treadle_cf_tell_status(const char *function, const char *status, const char *message);
/* A status that says that a descriptor is not watched, likewise; each is told. */
void treadle_cf_tell_refusal(const char *function, int32_t fd, const char *status, const char *message, int32_t error);
double treadle_cf_now(void); /* seconds since 2001, by the wall clock */

/* --- Sockets: the result, or -errno ------------------------------------------------------------------- */

enum { TREADLE_CF_ADDRESS_SIZE = 128 };
struct treadle_cf_address {
    uint8_t bytes[TREADLE_CF_ADDRESS_SIZE];
    uint32_t size;
};
int32_t treadle_cf_socket(int32_t family, int32_t type, int32_t protocol);
int32_t treadle_cf_is_open(int32_t fd);
int32_t treadle_cf_close(int32_t fd);
int32_t treadle_cf_is_stream(int32_t fd);   /* 1, or 0 for the other kinds and what is no socket */
int32_t treadle_cf_connects(int32_t fd);    /* 1 for what CoreFoundation takes for a stream socket: not for packets */
int32_t treadle_cf_is_in_use(int32_t fd);   /* 1: it listens or is connected */
int32_t treadle_cf_listen(int32_t fd, const void *address, uint32_t size);
/* Sets the non-blocking mode; 1 if it was set already. */
int32_t treadle_cf_set_nonblocking(int32_t fd, bool on);
int32_t treadle_cf_connect(int32_t fd, const void *address, uint32_t size); /* in the non-blocking mode */
int32_t treadle_cf_in_progress(void);
/* What poll() sees now, in the terms of select(): a hang-up can be read, an error, or no descriptor, both. */
enum { TREADLE_CF_CAN_READ = 1, TREADLE_CF_CAN_WRITE = 2, TREADLE_CF_IS_BROKEN = 4 };
int32_t treadle_cf_poll(int32_t fd);
int32_t treadle_cf_error(int32_t fd);       /* -errno of the pending error, or 0 */
/* Until it can be written: 0, -ETIMEDOUT or another; seconds of 0 or less: without limit. */
int32_t treadle_cf_await_writable(int32_t fd, double seconds);
int32_t treadle_cf_timed_out(void);
void treadle_cf_keep_reserve(void); /* before the first accept */
int32_t treadle_cf_accept(int32_t fd, struct treadle_cf_address *out_address);
/* Receives what is there, without waiting; -EAGAIN if nothing is. */
int64_t treadle_cf_receive(int32_t fd, void *buffer, size_t size, struct treadle_cf_address *out_address);
int32_t treadle_cf_again(void);
/* Sends everything; 0, or the error. */
int32_t treadle_cf_send(int32_t fd, const void *bytes, size_t size, const void *address, uint32_t address_size, double seconds);
int32_t treadle_cf_name(int32_t fd, bool peer, struct treadle_cf_address *out_address);

/* --- Blocks -------------------------------------------------------------------------------------------- */

uintptr_t treadle_cf_block_copy(uintptr_t block); /* 0 if the process has no runtime for blocks */
void treadle_cf_block_release(uintptr_t block);
void treadle_cf_block_call(uintptr_t block);
void treadle_cf_block_call_timer(uintptr_t block, uintptr_t timer);
void treadle_cf_block_call_observer(uintptr_t block, uintptr_t observer, unsigned long activity);

/* --- The structs and callbacks of the public headers, with uintptr_t for every pointer ------------------ */

typedef uintptr_t (*treadle_cf_retain_fn)(uintptr_t info);
typedef void (*treadle_cf_release_fn)(uintptr_t info);
typedef uintptr_t (*treadle_cf_describe_fn)(uintptr_t info);
typedef unsigned char (*treadle_cf_equal_fn)(uintptr_t one, uintptr_t other);
typedef unsigned long (*treadle_cf_hash_fn)(uintptr_t value);
typedef void (*treadle_cf_schedule_fn)(uintptr_t info, uintptr_t loop, uintptr_t mode);
typedef void (*treadle_cf_perform_fn)(uintptr_t info);
typedef int (*treadle_cf_port_fn)(uintptr_t info);
typedef void (*treadle_cf_timer_fn)(uintptr_t timer, uintptr_t info);
typedef void (*treadle_cf_observer_fn)(uintptr_t observer, unsigned long activity, uintptr_t info);
typedef void (*treadle_cf_socket_fn)(uintptr_t socket, unsigned long kind, uintptr_t address, const void *data, uintptr_t info);
typedef void (*treadle_cf_descriptor_fn)(uintptr_t descriptor, unsigned long kinds, uintptr_t info);
typedef uintptr_t (*treadle_cf_message_fn)(uintptr_t port, int32_t id, uintptr_t data, uintptr_t info);
typedef void (*treadle_cf_mach_fn)(uintptr_t port, void *message, long size, uintptr_t info);
typedef void (*treadle_cf_invalidated_fn)(uintptr_t port, uintptr_t info);
typedef void (*treadle_cf_apply_fn)(uintptr_t value, uintptr_t context);
typedef void (*treadle_cf_apply_pair_fn)(uintptr_t key, uintptr_t value, uintptr_t context);
typedef long (*treadle_cf_comparator)(uintptr_t one, uintptr_t other, uintptr_t context);
typedef uintptr_t (*treadle_cf_value_retain_fn)(uintptr_t allocator, uintptr_t value);
typedef void (*treadle_cf_value_release_fn)(uintptr_t allocator, uintptr_t value);

/* The beginning of every context, and all of a timer's, an observer's, a socket's, a descriptor's and a port's. */
struct treadle_cf_context {
    long version;
    uintptr_t info;
    treadle_cf_retain_fn retain;
    treadle_cf_release_fn release;
    treadle_cf_describe_fn describe;
};
struct treadle_cf_source_context {
    struct treadle_cf_context base;
    treadle_cf_equal_fn equal;
    treadle_cf_hash_fn hash;
    treadle_cf_schedule_fn schedule; /* version 1 has get_port here, */
    treadle_cf_schedule_fn cancel;   /* and perform here, and nothing more */
    treadle_cf_perform_fn perform;
};
struct treadle_cf_port_context {
    struct treadle_cf_context base;
    treadle_cf_equal_fn equal;
    treadle_cf_hash_fn hash;
    treadle_cf_port_fn get_port;
    treadle_cf_perform_fn perform;
};
struct treadle_cf_value_callbacks {
    long version;
    treadle_cf_value_retain_fn retain;
    treadle_cf_value_release_fn release;
    treadle_cf_describe_fn describe;
    treadle_cf_equal_fn equal;
};
struct treadle_cf_key_callbacks {
    struct treadle_cf_value_callbacks base;
    treadle_cf_hash_fn hash;
};
struct treadle_cf_signature {
    int32_t family, type, protocol;
    uintptr_t address;
};
/* How a Mach message begins; mach/message.h. */
struct treadle_cf_mach_header {
    uint32_t bits, size, remote_port, local_port, voucher_port;
    int32_t id;
};
struct treadle_cf_range {
    long location, length;
};

#endif
