/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "CTreadleSystem.h"

__thread struct treadle_system_thread treadle_system_thread_state;
struct treadle_system_life treadle_system_present_life;
__thread struct treadle_system_failure treadle_system_failure_state;
struct treadle_system_process treadle_system_process_state;
uint32_t treadle_system_eras;
uint32_t treadle_system_thread_numbers;
uint32_t treadle_system_pool_numbers;
uint32_t treadle_system_host_eras;
uint64_t treadle_system_message_numbers;
struct treadle_system_registry treadle_system_notifications, treadle_system_last_resort;
void *treadle_system_chunks[TREADLE_SYSTEM_CHUNKS][TREADLE_SYSTEM_KINDS];

uint32_t treadle_system_trace_sessions;
uint64_t treadle_system_flows;
bool treadle_system_trace_counts;
struct treadle_system_trace_anchor treadle_system_trace_began;
void *treadle_system_trace_ring_list;
uint32_t treadle_system_trace_ring_count;
void *treadle_system_label_table[TREADLE_SYSTEM_LABELS];

static void *log_handler;
void treadle_system_keep_log_handler(void *memory) { log_handler = memory; }

static void *forgotten;
void treadle_system_forget(void *memory) {
    *(void **)memory = forgotten;
    forgotten = memory;
}
