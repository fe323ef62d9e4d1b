// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// Calling clients, whose exceptions end here (THR-19), and what a thread leaves behind that ends inside.

#include "CTreadleSystem.h"
#include <unwind.h>

/* A call of a client that is on the thread's stack. When the thread ends inside, its stack is unwound frame by frame, and the
 * frames that are left are overwritten by the clean-up of those around them. So a record that is to be ended lies on the stack
 * around the frame of its own call, which is where it is ended: everything inside has been left by then. */
struct client_frame {
    struct client_frame *outer;
    /* The innermost records when the call began. Those between them and the records of the outer frame are this call's. */
    void *host_call, *object_call, *message_call, *closure_call, *invocation_call, *scope_call;
};

static inline void begin(struct treadle_system_thread *thread, struct client_frame *frame) {
    *frame = (struct client_frame){thread->client_frame, thread->host_call, thread->object_call, thread->message_call,
                                   thread->closure_call, thread->invocation_call, thread->scope_call};
    thread->client_frame = frame;
}

/* Ends the records up to an outer one. Each begins with the function that ends it, which makes the one around it the innermost. */
static void end_records(void **innermost, void *outer) {
    while (*innermost && *innermost != outer) (*(void (**)(void *))*innermost)(*innermost);
}

static void abandon(struct treadle_system_thread *thread) {
    static const struct client_frame none;
    const struct client_frame *frame = thread->client_frame, *outer = frame && frame->outer ? frame->outer : &none;
    if (frame) {
        /* Records inside of the frame are gone. */
        thread->host_call = frame->host_call, thread->object_call = frame->object_call, thread->message_call = frame->message_call;
        thread->client_frame = frame->outer;
    }
    thread->closure_call = outer->closure_call, thread->invocation_call = outer->invocation_call, thread->scope_call = outer->scope_call;
    end_records(&thread->object_call, outer->object_call);
    end_records(&thread->host_call, outer->host_call);
    end_records(&thread->message_call, outer->message_call);
}

void treadle_system_forget_calls(void) {
    struct treadle_system_thread *thread = treadle_system_thread();
    thread->host_call = thread->object_call = thread->message_call = NULL;
    thread->closure_call = thread->invocation_call = thread->scope_call = NULL;
    for (struct client_frame *frame = thread->client_frame; frame; frame = frame->outer)
        *frame = (struct client_frame){.outer = frame->outer};
}

/* The personality of the frames below. An exception that looks for its handler beyond them is told that there is none, so
 * that it ends the program where it is thrown, as the language demands. Unwinding that looks for none passes: the end of a
 * thread by pthread_exit, or by cancellation. */
__attribute__((visibility("hidden"), used)) _Unwind_Reason_Code libtreadle_ends_exceptions(
    int version, _Unwind_Action actions, uint64_t language, struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    (void)version, (void)language, (void)exception, (void)context;
    if (!(actions & _UA_FORCE_UNWIND)) return _URC_FATAL_PHASE1_ERROR;
    abandon(treadle_system_thread());
    return _URC_CONTINUE_UNWIND;
}

/* Registers of arguments that the function does not have are not looked at, on any processor that the library knows. */
__attribute__((noinline)) uintptr_t treadle_system_call_client(void *code, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {
    __asm__ volatile(".cfi_personality 0x1b, libtreadle_ends_exceptions");
    struct treadle_system_thread *thread = treadle_system_thread();
    struct client_frame frame;
    begin(thread, &frame);
    uintptr_t result = ((uintptr_t(*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t))code)(a, b, c, d);
    thread->client_frame = frame.outer;
    return result;
}

__attribute__((noinline)) void treadle_system_call_clients(void (*body)(void *), void *context) {
    /* 0x1b: four bytes, counted from where they are. */
    __asm__ volatile(".cfi_personality 0x1b, libtreadle_ends_exceptions");
    struct treadle_system_thread *thread = treadle_system_thread();
    struct client_frame frame;
    begin(thread, &frame);
    body(context);
    thread->client_frame = frame.outer;
}
