/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * odd.c: a library that says it is a copy of Treadle, in a way that KIND chooses: the runtime of another major version (MAJOR),
 * of an older (OLDER) or newer minor one (NEWER), one that leads to another (OTHER), with a record that lies (RECORD), or with
 * notes that do (NOTES). Its functions answer 42, and its last error is one that it counts. */
#include <stdint.h>
#include <string.h>
#include <treadle.h>

enum { MAJOR = 1, OLDER, NEWER, OTHER, RECORD, NOTES };
enum { RUNTIME = 1, LEADS_ELSEWHERE };

__attribute__((used, visibility("hidden"))) uint64_t odd_answer(void) { return 42; }
static uint64_t failures;
__attribute__((used, visibility("hidden"))) int32_t odd_fail(void) { return failures++, TREADLE_E_CLOSED; }
__attribute__((used, visibility("hidden"))) treadle_status odd_last_error(treadle_error_info *info) {
    info->code = failures ? TREADLE_E_CLOSED : 0;
    info->sequence = failures;
    strcpy(info->function, failures ? "odd_fail" : "");
    strcpy(info->message, failures ? "odd has failed" : "");
    return TREADLE_OK;
}

/* By their places in list.h: the last error, what fails, and from loop_current on what answers. An older version ends behind
 * loop_request_stop. */
#define TO(function) ".long " #function " - .\n"
__asm__(".pushsection .rodata.odd, \"a\", %progbits\n.balign 4\n"
        ".hidden odd_own\n.globl odd_own\nodd_own:\n"
        ".rept 11\n" TO(odd_fail) ".endr\n" TO(odd_last_error) ".rept 29\n" TO(odd_fail) ".endr\n"
        ".rept 1024\n" TO(odd_answer) ".endr\n"
        ".hidden odd_lies\n.globl odd_lies\nodd_lies:\n.rept 1024\n.long 0x7ffffff0\n.endr\n"
        ".popsection\n");
extern const int32_t odd_own[], odd_lies[] __attribute__((visibility("hidden")));

/* As in Sources/CTreadleNames/names.c. */
struct copy {
    char magic[8];
    uint32_t size, version, count, state;
    const int32_t *own;
};
#define IS(n) (KIND == n)
__attribute__((used, visibility("hidden"))) struct copy odd_copies[] = {
    {"treadle", sizeof(struct copy), IS(MAJOR) ? 99 << 16 | 3 << 8 | 7 : IS(OLDER) ? 1 << 16 : 1 << 16 | 200 << 8,
        IS(OLDER) ? 48 : 1000, IS(OTHER) ? LEADS_ELSEWHERE : RUNTIME, IS(RECORD) ? odd_lies : odd_own},
    {"treadl?", sizeof(struct copy), 1 << 16, 1000, RUNTIME, odd_own},               /* another magic */
    {"treadle", sizeof(struct copy) - 1, 1 << 16, 1000, RUNTIME, odd_own},           /* cut */
    {"treadle", sizeof(struct copy), 1 << 16, UINT32_MAX, RUNTIME, odd_own},         /* more functions than there is room */
    {"treadle", sizeof(struct copy), 1 << 16, 1000, RUNTIME, NULL},                  /* none */
    {"treadle", sizeof(struct copy), 1 << 16, 1000, RUNTIME, (const int32_t *)1},    /* at an odd place */
    {"treadle", sizeof(struct copy), 1 << 16, 1000, RUNTIME, (const int32_t *)~3ull}, /* at the end of all memory */
};

#define NOTE(words) __asm__(".pushsection .note.treadle, \"a\", %note\n.balign 4\n" words ".popsection\n");
#define TREADLE ".asciz \"Treadle\"\n"
#if KIND == 5 /* RECORD */
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies - .\n")
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies + 32 - .\n")
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies + 64 - .\n")
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies + 96 - .\n")
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies + 128 - .\n")
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies + 160 - .\n")
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies + 192 - .\n")
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies + 4 - .\n")  /* not aligned */
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_own - .\n")         /* where nobody may write */
#elif KIND == 6 /* NOTES */
NOTE(".long 8, 4, 1\n" TREADLE ".long 0x7ffffff0\n")          /* far outside */
NOTE(".long 8, 4, 1\n" TREADLE ".long -0x7ffffff0\n")         /* on the other side */
NOTE(".long 8, 4, 2\n" TREADLE ".long odd_copies - .\n")      /* another type */
NOTE(".long 8, 4, 1\n.asciz \"treadle\"\n.long odd_copies - .\n") /* another name */
NOTE(".long 7, 4, 1\n" TREADLE ".long odd_copies - .\n")      /* another length of it */
NOTE(".long 8, 8, 1\n" TREADLE ".long odd_copies - ., 0\n")   /* more than an offset */
NOTE(".long 0, 0, 1\n")                                       /* nothing */
#if LAST == 1
NOTE(".long 8, 400, 1\n" TREADLE ".long odd_copies - .\n")    /* longer than it is */
#elif LAST == 2
NOTE(".long 0xffffffff, 0xffffffff, 1\n" TREADLE)             /* longer than everything */
#elif LAST == 3
NOTE(".long 8, 4, 1\n" TREADLE)                               /* cut before its end */
#else
NOTE(".long 8, 4\n")                                          /* cut in its head */
#endif
#else
NOTE(".long 8, 4, 1\n" TREADLE ".long odd_copies - .\n")
#endif
