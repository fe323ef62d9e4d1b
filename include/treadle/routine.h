/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routine.h: signatures and routines: C functions of any signature as callbacks. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_ROUTINE_H
#define TREADLE_ROUTINE_H

#include "event.h"
#include "object.h"

TREADLE_BEGIN_DECLS

/** Parses a function signature. Signatures are interned and never freed: an encoding that was parsed
 *  before gives the same handle. The notation is the Objective-C type encoding, the result first:
 *    c C s S i I q Q   int8, uint8, int16, uint16, int32, uint32, int64, uint64
 *    f d B v           float, double, bool, void (result only)
 *    * ^X ^?           char pointer, pointer to anything, function pointer
 *    {name=...} [nX]   struct by value; array of n, inside structs and behind pointers
 *    r n N o O R V     qualifiers before a type, V only before the result. Invocations and closures use
 *                      O (by copy), N (in and out), o (out) before pointers; the others have no effect
 *    ...               followed by the variadic arguments of one call: "i*...id". A float, or an integer
 *                      narrower than int, is passed in its own size and promoted as in C
 *  Digits after a type (frame offsets) are skipped. "i^vq" is int32_t f(void *, int64_t).
 *  Refused, with position and reason in the last error: l and L (their size depends on the platform: use i, I, q or Q),
 *  unions, bit-fields, objects, arrays as arguments or results, empty or incomplete structs by value, more than 32
 *  arguments, 32 levels of nesting, 1,024 characters, or 4,096 bytes by value.
 *  On x86-64 and 64-bit Arm, a function whose arguments and result all fit into registers is called through a prepared
 *  register image. All others (structs by value, variadic arguments, many arguments), and all functions on other
 *  processors, are called through libffi.
 *  [any, quick] Errors: TREADLE_E_ARG for NULL; TREADLE_E_SIGNATURE; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_signature_parse(const char *encoding, treadle_signature *out_signature);

/** The number of arguments of a function of this signature.
 *  [any, quick] Since 1.0. */
TREADLE_API treadle_status treadle_signature_get_argument_count(treadle_signature signature, size_t *out_count);

/** Stores the size and the alignment of an argument, or, for index -1, of the result (void: 0 and
 *  1).
 *  [any, quick] Errors: TREADLE_E_RANGE for an index that does not exist. Since 1.0. */
TREADLE_API treadle_status treadle_signature_get_layout(treadle_signature signature, int32_t index, size_t *out_size,
                                                        size_t *out_alignment);

/** Writes the signature as a C prototype, for messages: at most capacity bytes, NUL included; stores
 *  the full length, without NUL.
 *  [any] Since 1.0. */
TREADLE_API treadle_status treadle_signature_describe(treadle_signature signature, char *buffer, size_t capacity,
                                                      size_t *out_length);

/** The origin of a routine's argument. Since 1.0. */
enum {
    TREADLE_ARGUMENT_BOUND = 0,      /* the bytes at value, copied at creation */
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
    const void *value; /* TREADLE_ARGUMENT_BOUND: the argument's bytes; otherwise NULL */
    size_t size;       /* their number: the size of the signature's type; else 0 */
} treadle_argument;

/** The configuration of a routine. Since 1.0. */
typedef struct treadle_routine_config {
    size_t struct_size;                /* sizeof(treadle_routine_config) */
    void (*code)(void);                /* the function; cast its pointer */
    const char *signature;             /* its type, as treadle_signature_parse reads it */
    const treadle_argument *arguments; /* one for each argument of the signature */
    size_t argument_count;
    void *info;                 /* for destroy alone */
    void (*destroy)(void *info); /* called once: when the routine is freed, or if create fails */
} treadle_routine_config;

/** Creates a routine: a call with all its arguments except those that an event supplies. Set it in the
 *  context of a source, timer, observer, descriptor, port or post, which keeps a reference and ignores the
 *  function's result.
 *  [any] Errors, with destroy called unless the config cannot be read: TREADLE_E_ARG for NULL or a bad struct_size
 *  (these two), an unknown kind, a wrong number or size of arguments, or a kind that does not fit the argument's type;
 *  TREADLE_E_SIGNATURE as of treadle_signature_parse; TREADLE_E_CLOSED if the scope is closed; TREADLE_E_TOO_NEW;
 *  TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API treadle_status treadle_routine_create(const treadle_routine_config *config, treadle_routine *out_routine);

/** Calls the routine on the calling thread. event: supplies the arguments that are not bound; NULL: they
 *  are 0. result: storage of exactly the result's size (see treadle_signature_get_layout); NULL with size
 *  0 drops the result.
 *  [any] Errors: TREADLE_E_RANGE if result_size is neither 0 nor the result's size. Since 1.0. */
TREADLE_API treadle_status treadle_routine_call(treadle_routine routine, const treadle_event *event, void *result,
                                                size_t result_size);

/* The functions of object.h, typed for routines. */
TREADLE_TYPED_REFERENCES(routine)

TREADLE_END_DECLS
#endif
