// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// Calling clients, whose exceptions end here (THR-19).

#include "CTreadleSystem.h"
#include <unwind.h>

/* Swift's (ObjectCall). */
void libtreadle_abandon_calls(void);

/* The personality of the frame below. An exception that looks for its handler beyond this frame is told that there is none, so
 * that it ends the program where it is thrown, as the language demands. Unwinding that looks for none passes: the end of a
 * thread by pthread_exit, or by cancellation. */
__attribute__((visibility("hidden"), used)) _Unwind_Reason_Code libtreadle_ends_exceptions(
    int version, _Unwind_Action actions, uint64_t language, struct _Unwind_Exception *exception, struct _Unwind_Context *context) {
    (void)version, (void)language, (void)exception, (void)context;
    if (!(actions & _UA_FORCE_UNWIND)) return _URC_FATAL_PHASE1_ERROR;
    /* They lie on the stack that goes. */
    struct treadle_system_thread *thread = treadle_system_thread();
    if (thread->object_call) libtreadle_abandon_calls();
    /* Each begins with the function that ends it, which puts the one around it in its place. */
    while (thread->message_call) (*(void (**)(void *))thread->message_call)(thread->message_call);
    thread->closure_call = thread->host_call = thread->invocation_call = thread->scope_call = NULL;
    return _URC_CONTINUE_UNWIND;
}

/* Registers of arguments that the function does not have are not looked at, on any processor that the library knows. */
__attribute__((noinline)) uintptr_t treadle_system_call_client(void *code, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {
    __asm__ volatile(".cfi_personality 0x1b, libtreadle_ends_exceptions");
    uintptr_t result = ((uintptr_t(*)(uintptr_t, uintptr_t, uintptr_t, uintptr_t))code)(a, b, c, d);
    __asm__ volatile("" : "+r"(result));
    return result;
}

__attribute__((noinline)) void treadle_system_call_clients(void (*body)(void *), void *context) {
    /* 0x1b: four bytes, counted from where they are. */
    __asm__ volatile(".cfi_personality 0x1b, libtreadle_ends_exceptions");
    body(context);
    __asm__ volatile(""); /* no jump in place of the call, which would leave no frame */
}
