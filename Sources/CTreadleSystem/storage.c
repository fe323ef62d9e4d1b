/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

__thread struct treadle_system_thread treadle_system_thread_state;
struct treadle_system_process treadle_system_process_state;
uint32_t treadle_system_eras;
uint32_t treadle_system_thread_numbers;
uint32_t treadle_system_wait_gate[16];
uint32_t treadle_system_pool_numbers;
uint32_t treadle_system_barrier;
struct treadle_system_mutex treadle_system_start_mutex;
struct treadle_system_registry treadle_system_notifications, treadle_system_last_resort;
__attribute__((section(".bss.treadle_home"))) struct treadle_system_home treadle_system_home_state;

__attribute__((section(".rodata.treadle_mode_names"))) const struct treadle_system_mode_names treadle_system_mode_names_known = {
    .standard = "kCFRunLoopDefaultMode", .common = "kCFRunLoopCommonModes", .call = "TreadleCallMode"};

static void *forgotten;
void treadle_system_forget(void *memory) {
    *(void **)memory = forgotten;
    forgotten = memory;
}

static __thread struct treadle_system_failure failure __attribute__((tls_model("initial-exec")));
struct treadle_system_failure *treadle_system_failure(void) { return &failure; }
