/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routine.h: signatures and routines: C functions of any signature as callbacks. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_ROUTINE_H
#define TREADLE_ROUTINE_H

#include "event.h"
#include "object.h"

TREADLE_BEGIN_DECLS

/** Parses a function signature, or returns the one that was parsed before: signatures are interned and
 *  never freed. The notation is the Objective-C type encoding, the result first:
 *    c C s S i I q Q   int8, uint8, int16, uint16, int32, uint32, int64, uint64
 *    f d B v           float, double, bool, void (result only)
 *    * ^X ^?           char pointer, pointer to anything, function pointer
 *    {name=...} [nX]   struct by value; array of n, inside structs and behind pointers
 *    r n N o O R V     qualifiers before a type, V only before the result. Invocations and closures heed
 *                      O (by copy), N (in and out), o (out) before pointers; the others change nothing
 *    ...               what follows are the variadic arguments of one call: "i*...id". C's promotions
 *                      are made: a float, or an integer narrower than int, is given as it is
 *  Digits after a type (frame offsets) are skipped. "i^vq" is int32_t f(void *, int64_t).
 *  Refused, with position and reason in the last error: l and L (their size depends on who reads
 *  them: use i, I, q or Q), unions, bit-fields, objects, arrays as arguments or results, empty or
 *  incomplete structs by value, more than 32 arguments, 32 levels of nesting, 1,024 characters, or
 *  4,096 bytes by value.
 *  A signature whose arguments and result all fit the processor's registers is called from an image of these; any other
 *  (structs by value, variadic arguments, many arguments), and on other processors than x86-64 and 64-bit Arm each, by
 *  libffi.
 *  [any] Errors: TREADLE_E_ARG for NULL; TREADLE_E_SIGNATURE; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_signature_parse(const char *encoding, treadle_signature *out_signature);

/** How many arguments a function of this signature takes.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_signature_get_argument_count(treadle_signature signature, size_t *out_count);

/** The size and the alignment of an argument, or with index -1 of the result (void: 0 and 1).
 *  [any] Errors: TREADLE_E_RANGE for an index that does not exist. Since 1.0. */
TREADLE_API treadle_status treadle_signature_get_layout(treadle_signature signature, int32_t index, size_t *out_size,
                                                        size_t *out_alignment);

/** Writes the signature as a C prototype, for messages: at most capacity bytes, NUL included; stores
 *  the full length, without NUL.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_signature_describe(treadle_signature signature, char *buffer, size_t capacity,
                                                      size_t *out_length);

/** Where an argument of a routine comes from. Since 1.0. */
enum {
    TREADLE_ARGUMENT_BOUND = 0,      /* the bytes given here, copied now */
    TREADLE_ARGUMENT_LOOP = 1,       /* the event's loop: a pointer argument */
    TREADLE_ARGUMENT_MODE = 2,       /* the event's mode: a pointer argument */
    TREADLE_ARGUMENT_SUBJECT = 3,    /* the source, timer, observer, descriptor source, port, or target: a pointer */
    TREADLE_ARGUMENT_VALUE = 4,      /* the activity, the readiness or the message's id: an integer of 32 bits or more */
    TREADLE_ARGUMENT_DESCRIPTOR = 5, /* the watched number: an integer of 32 bits or more */
    TREADLE_ARGUMENT_LATE = 6,       /* how late the timer is: an integer of 64 bits */
    TREADLE_ARGUMENT_EVENT = 7,      /* the event itself: a pointer */
    TREADLE_ARGUMENT_ARGUMENT = 8    /* a perform request's argument, or a port's message: a pointer */
};

/** One argument of a routine. Since 1.0. */
typedef struct treadle_argument {
    uint32_t kind;     /* TREADLE_ARGUMENT_... */
    uint32_t reserved; /* 0 */
    const void *value; /* TREADLE_ARGUMENT_BOUND: the argument's bytes; else NULL */
    size_t size;       /* their number: the size of the signature's type; else 0 */
} treadle_argument;

/** What a routine is made of. Since 1.0. */
typedef struct treadle_routine_config {
    size_t struct_size;                /* sizeof(treadle_routine_config) */
    void (*code)(void);                /* the function; cast its pointer */
    const char *signature;             /* its type, as treadle_signature_parse reads it */
    const treadle_argument *arguments; /* one for each argument of the signature */
    size_t argument_count;
    void *info;                 /* for destroy alone */
    void (*destroy)(void *info); /* called once: when the routine is freed, or is refused */
} treadle_routine_config;

/** Makes a routine: a call that is complete but for what an event supplies. Give it to the context of a
 *  source, timer, observer, descriptor, port or block, which keeps a reference. What the function returns is
 *  dropped then.
 *  [any] Errors, with destroy called but where the config cannot be read: TREADLE_E_ARG for NULL or a bad
 *  struct_size (these two), an unknown kind, a wrong number or size of arguments, or a kind that does not
 *  fit the argument's type; TREADLE_E_SIGNATURE as of treadle_signature_parse; TREADLE_E_TOO_NEW;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_routine_create(const treadle_routine_config *config, treadle_routine *out_routine);

/** Calls the routine here and now. event: where the arguments that an event supplies come from; NULL:
 *  they are 0. result: room for the result's type (see treadle_signature_get_layout), written in
 *  exactly that size; NULL with size 0 drops the result.
 *  [any] Errors: TREADLE_E_RANGE if result_size is neither 0 nor the result's size. Since 1.0. */
TREADLE_API treadle_status treadle_routine_call(treadle_routine routine, const treadle_event *event, void *result,
                                                size_t result_size);

/* The verbs of object.h, for a routine alone. */
TREADLE_TYPED_REFERENCES(routine)

TREADLE_END_DECLS
#endif
