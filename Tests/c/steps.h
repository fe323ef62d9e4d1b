/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * steps.h: how many instructions a call takes, counted one by one: the parent process traces a child, which runs the program
 * and says when to count. It is the same on every machine, however busy, and needs no counters of the processor. On x86-64 it also tells which of them were locked. */
#ifndef TREADLE_TEST_STEPS_H
#define TREADLE_TEST_STEPS_H

#include "helpers.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>

/* Shared by the two. */
struct meter {
    atomic_bool is_counting;
    long steps, limit, locked;
    bool counts_locked; /* which takes three times as long */
};
static struct meter *meter;

/* In the child: the steps of call(info), or the limit if they are more. */
HELPER long steps_of(void (*call)(void *info), void *info) {
    raise(SIGUSR1); /* it never arrives: the parent counts from here on */
    call(info);
    atomic_store(&meter->is_counting, false);
    return meter->steps;
}

/* Whether the instruction that comes next has a lock prefix, exchanges memory, or is a full fence. */
#ifdef __x86_64__
HELPER bool is_next_locked(pid_t child) {
    struct user_regs_struct registers;
    unsigned char code[sizeof(long)];
    CHECK_INT(ptrace(PTRACE_GETREGS, child, NULL, &registers), 0);
    long word = ptrace(PTRACE_PEEKTEXT, child, (void *)registers.rip, NULL);
    memcpy(code, &word, sizeof code);
    size_t at = 0;
    for (; at < 4 && strchr("\xf0\x66\x64\xf2\xf3", code[at]); at++)
        if (code[at] == 0xf0) return true;
    if ((code[at] & 0xf0) == 0x40) at++;
    if ((code[at] == 0x86 || code[at] == 0x87) && code[at + 1] >> 6 != 3) return true;
    return code[at] == 0x0f && code[at + 1] == 0xae && code[at + 2] == 0xf0;
}
#else
HELPER bool is_next_locked(pid_t child) { return (void)child, false; }
#endif

/* The child was stopped by its signal. False if the machine does not permit steps. */
HELPER bool count_steps(pid_t child) {
    int status = 0;
    meter->steps = meter->locked = 0;
    atomic_store(&meter->is_counting, true);
    while (atomic_load(&meter->is_counting) && meter->steps < meter->limit) {
        if (meter->counts_locked) meter->locked += is_next_locked(child);
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0) return false;
        CHECK_INT(waitpid(child, &status, __WALL), child);
        if (!WIFSTOPPED(status)) check_failed(__FILE__, __LINE__, "the program ended in a call that was counted: %x", status);
        meter->steps++;
    }
    return ptrace(PTRACE_CONT, child, NULL, NULL) == 0;
}

/* Runs program(info) in a child whose steps can be counted, to its end. False if the machine does not permit that. */
HELPER bool run_counted(void (*program)(void *info), void *info, long limit) {
    int status = 0;
    bool is_permitted = true;
    if (!meter) meter = mmap(NULL, sizeof *meter, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(meter != MAP_FAILED);
    meter->limit = limit;
    /* One processor for both: to wake a sleeping one for every step takes five times as long. */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK_INT(sched_setaffinity(0, sizeof one, &one), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(77);
        raise(SIGSTOP);
        program(info);
        _exit(0);
    }
    CHECK_INT(waitpid(child, &status, __WALL), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return false;
    CHECK(WIFSTOPPED(status));
    CHECK_INT(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_EXITKILL), 0);
    CHECK_INT(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
    while (is_permitted && waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
        int signal = WSTOPSIG(status);
        if (signal == SIGUSR1) is_permitted = count_steps(child);
        else CHECK_INT(ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)signal), 0);
    }
    if (!is_permitted) return kill(child, SIGKILL), waitpid(child, &status, __WALL), false;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) check_failed(__FILE__, __LINE__, "the counted program ended with %x", status);
    return true;
}

#endif
