/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * crash.c: tells which plugin it was that crashed. The handler keeps to what does no second harm, and the program then
 * ends as it would have without it. */
#include "host.h"

#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

/* --- Where the code of plugins is ---------------------------------------------------------------- */

enum { MOST_CODE = 256 };

/* One is being used while its end is not 0. The names are those of the plugins, which live for ever. */
static struct code {
    _Atomic uintptr_t start, end;
    const char *_Atomic id;
} all_code[MOST_CODE];

struct search {
    uintptr_t address, start, end;
};

static int look_at(struct dl_phdr_info *image, size_t size, void *info) {
    struct search *search = info;
    uintptr_t start = UINTPTR_MAX, end = 0;
    bool has_address = false;
    (void)size;
    for (int i = 0; i < image->dlpi_phnum; i++) {
        if (image->dlpi_phdr[i].p_type != PT_LOAD) continue;
        uintptr_t from = image->dlpi_addr + image->dlpi_phdr[i].p_vaddr, to = from + image->dlpi_phdr[i].p_memsz;
        if (from <= search->address && search->address < to) has_address = true;
        if (!(image->dlpi_phdr[i].p_flags & PF_X)) continue;
        if (from < start) start = from;
        if (to > end) end = to;
    }
    if (has_address && end) search->start = start, search->end = end;
    return has_address;
}

void note_code(const char *id, const void *address) {
    struct search search = {.address = (uintptr_t)address};
    if (!dl_iterate_phdr(look_at, &search) || !search.end) return;
    for (int i = 0; i < MOST_CODE; i++) {
        if (atomic_load(&all_code[i].end)) continue;
        atomic_store(&all_code[i].id, id);
        atomic_store(&all_code[i].start, search.start);
        atomic_store(&all_code[i].end, search.end);
        return;
    }
}

void forget_code(const char *id) {
    for (int i = 0; i < MOST_CODE; i++)
        if (atomic_load(&all_code[i].id) == id) atomic_store(&all_code[i].end, 0);
}

/* --- What the program was doing ------------------------------------------------------------------ */

static _Thread_local const char *volatile called_id, *volatile called_where;

void enter_call(const char *id, const char *where) {
    called_where = where, called_id = id;
    snprintf(progress->where, sizeof progress->where, "%s", where);
}
void leave_call(void) {
    called_id = NULL;
    *progress->where = 0;
}

/* --- The handler --------------------------------------------------------------------------------- */

static const char *id_at(uintptr_t address) {
    for (int i = 0; i < MOST_CODE; i++)
        if (atomic_load(&all_code[i].start) <= address && address < atomic_load(&all_code[i].end)) return atomic_load(&all_code[i].id);
    return NULL;
}

static void registers_of(const ucontext_t *context, uintptr_t *out_code, uintptr_t *out_stack) {
#if defined(__x86_64__)
    *out_code = (uintptr_t)context->uc_mcontext.gregs[REG_RIP], *out_stack = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    *out_code = context->uc_mcontext.pc, *out_stack = context->uc_mcontext.sp;
#else
    (void)context;
    *out_code = *out_stack = 0;
#endif
}

/* The kernel reads, so that memory that is not there is no second crash. */
static ssize_t read_memory(uintptr_t from, void *to, size_t size) {
    struct iovec here = {to, size}, there = {(void *)from, size};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0);
}

/* Whether there is a call in front of it. Much else on a stack looks like an address of code, from calls that are over. */
static bool is_behind_call(uintptr_t address) {
#if defined(__x86_64__)
    unsigned char at[7];
    if (!id_at(address - 7) || read_memory(address - 7, at, sizeof at) != sizeof at) return false;
    return at[2] == 0xE8 || at[5] == 0xFF || at[4] == 0xFF || at[1] == 0xFF || at[0] == 0xFF;
#else
    return id_at(address - 4) != NULL;
#endif
}

/* Whose code the thread was in, or would have returned to: the next address on its stack that leads into a plugin. */
static const char *find_on_stack(const ucontext_t *context) {
    enum { WORDS = 256, PIECES = 32 };
    uintptr_t code, stack, words[WORDS];
    registers_of(context, &code, &stack);
    const char *id = id_at(code);
    for (int piece = 0; piece < PIECES && !id && stack; piece++, stack += sizeof words) {
        ssize_t size = read_memory(stack, words, sizeof words);
        for (ssize_t i = 0; i < size / (ssize_t)sizeof *words && !id; i++)
            if (id_at(words[i]) && is_behind_call(words[i])) id = id_at(words[i]);
        if (size < (ssize_t)sizeof words) break;
    }
    return id;
}

/* The same by what the compilers have written for unwinding, which knows the calls that go on from those that are over. Where
 * that leads astray, and crashes, nothing has come of it. */
static _Thread_local volatile sig_atomic_t is_unwinding;
static _Thread_local sigjmp_buf astray;
static const char *find_by_unwinding(void) {
    void *frames[64];
    const char *volatile id = NULL;
    if (sigsetjmp(astray, 1) == 0) {
        is_unwinding = 1;
        int count = backtrace(frames, 64);
        for (int i = 0; i < count && !id; i++) id = id_at((uintptr_t)frames[i]);
    }
    is_unwinding = 0;
    return id;
}

static void append(char *line, size_t size, const char *text) {
    size_t at = strlen(line);
    while (*text && at + 1 < size) line[at++] = *text++;
    line[at] = 0;
}

static void crashed(int number, siginfo_t *info, void *context) {
    char line[256] = "treadle-host: ";
    (void)info;
    if (is_unwinding) siglongjmp(astray, 1);
    /* Of code whose file is gone nothing can be read: its address is enough. */
    uintptr_t code, stack;
    registers_of(context, &code, &stack);
    const char *culprit = id_at(code), *called = called_id;
    if (!culprit) culprit = find_by_unwinding();
    if (!culprit) culprit = find_on_stack(context);
    if (culprit || called) {
        /* The one that is started may have others started before it. */
        bool is_called = called && (!culprit || strcmp(culprit, called) == 0 || strstr(called_where, "start"));
        append(line, sizeof line, culprit ? culprit : called);
        append(line, sizeof line, " crashed ");
        append(line, sizeof line, is_called ? called_where : "while it was called");
        append(line, sizeof line, "\n");
        if (write(STDERR_FILENO, line, strlen(line)) < 0) {} /* nobody is there to be told */
    }
    signal(number, SIG_DFL);
    raise(number);
}

/* --- exit ----------------------------------------------------------------------------------------- */

static bool is_exit_expected;
void expect_exit(void) { is_exit_expected = true; }

/* A plugin has called exit, which ends all others as well. */
static void tell_exit(void) {
    if (is_exit_expected) return;
    const char *culprit = find_by_unwinding(), *called = called_id;
    if (!culprit) culprit = called;
    complain("%s has ended the program: exit was called%s%s", culprit ? culprit : "a plugin", called ? " " : "", called ? called_where : "");
}

void watch_exit(void) { atexit(tell_exit); }

void watch_crashes(void) {
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    struct sigaction action = {.sa_sigaction = crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    void *frame;
    backtrace(&frame, 1); /* loads what it needs */
    /* So that the main thread can tell of a stack that has no room left. */
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &action, NULL);
}
