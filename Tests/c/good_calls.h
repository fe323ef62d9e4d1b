/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * good_calls.h: the rows of all_calls.h that follow from the declarations. Written by make generate. */
#define GOOD_CALLS(X) \
    X(treadle_version, 0, '-', 0, treadle_version()) \
    X(treadle_version_string, 0, '-', 0, treadle_version_string() != NULL) \
    X(treadle_last_error, 0, '-', 0, treadle_last_error(&TREADLE_INIT(treadle_error_info))) \
    X(treadle_status_name, 0, '-', 0, treadle_status_name(0) != NULL) \
    X(treadle_status_message, 0, '-', 0, treadle_status_message(0) != NULL) \
    X(treadle_time_now, 0, '-', 0, treadle_time_now()) \
    X(treadle_time_recent, 0, '-', 0, treadle_time_recent()) \
    X(treadle_time_from_seconds, 0, '-', 0, treadle_time_from_seconds(1, &h->out.i64)) \
    X(treadle_time_from_absolute, 0, '-', 0, treadle_time_from_absolute(1, &h->out.i64)) \
    X(treadle_time_to_absolute, 0, '-', 0, treadle_time_to_absolute(0)) \
    X(treadle_loop_current, 0, 'p', 0, treadle_loop_current() != NULL) \
    X(treadle_loop_main, 0, 'p', 0, treadle_loop_main() != NULL) \
    X(treadle_loop_copy_of_thread, 0, 's', 8, give_back(h, treadle_loop_copy_of_thread(thread_id(), (treadle_loop *)&h->out.pointer))) \
    X(treadle_loop_wake, U(LOOP), 'q', 0, treadle_loop_wake(h->of[LOOP])) \
    X(treadle_loop_is_waiting, U(LOOP), 'b', 0, treadle_loop_is_waiting(h->of[LOOP])) \
    X(treadle_loop_is_current, U(LOOP), 'b', 0, treadle_loop_is_current(h->of[LOOP])) \
    X(treadle_loop_get_thread_id, U(LOOP), 's', 4, treadle_loop_get_thread_id(h->of[LOOP], &h->out.i32)) \
    X(treadle_loop_copy_thread, U(LOOP), 's', 8, give_back(h, treadle_loop_copy_thread(h->of[LOOP], (treadle_thread *)&h->out.pointer))) \
    X(treadle_loop_get_current_mode, U(LOOP), 's', 8, treadle_loop_get_current_mode(h->of[LOOP], TEXT)) \
    X(treadle_loop_get_modes, U(LOOP), 's', 8, treadle_loop_get_modes(h->of[LOOP], TEXT)) \
    X(treadle_loop_get_counters, U(LOOP), 's', 0, treadle_loop_get_counters(h->of[LOOP], &TREADLE_INIT(treadle_loop_counters))) \
    X(treadle_loop_add_common_mode, U(LOOP), 's', 0, treadle_loop_add_common_mode(h->of[LOOP], h->mode)) \
    X(treadle_loop_is_common_mode, U(LOOP), 'b', 0, treadle_loop_is_common_mode(h->of[LOOP], h->mode)) \
    X(treadle_loop_get_next_fire, U(LOOP), 's', 8, treadle_loop_get_next_fire(h->of[LOOP], h->mode, &h->out.i64)) \
    X(treadle_source_create, 0, 's', 8, give_back(h, treadle_source_create(&TREADLE_INIT(treadle_source_context), (treadle_source *)&h->out.pointer))) \
    X(treadle_source_signal, U(SOURCE), 's', 0, treadle_source_signal(h->of[SOURCE])) \
    X(treadle_source_signal_and_wake, U(SOURCE), 's', 0, treadle_source_signal_and_wake(h->of[SOURCE])) \
    X(treadle_source_is_signalled, U(SOURCE), 'b', 0, treadle_source_is_signalled(h->of[SOURCE])) \
    X(treadle_descriptor_create, 0, 's', 8, give_back(h, treadle_descriptor_create(&(treadle_descriptor_context){.struct_size = sizeof(treadle_descriptor_context), .fd = h->copy, .events = TREADLE_READABLE, .ready = call_ready}, (treadle_descriptor *)&h->out.pointer))) \
    X(treadle_descriptor_set_events, U(DESCRIPTOR), 's', 0, treadle_descriptor_set_events(h->of[DESCRIPTOR], TREADLE_READABLE)) \
    X(treadle_descriptor_get_events, U(DESCRIPTOR), 's', 4, treadle_descriptor_get_events(h->of[DESCRIPTOR], &h->out.u32)) \
    X(treadle_descriptor_get_fd, U(DESCRIPTOR), 's', 4, treadle_descriptor_get_fd(h->of[DESCRIPTOR], &h->out.i32)) \
    X(treadle_port_create, 0, 's', 8, give_back(h, treadle_port_create(&TREADLE_INIT(treadle_port_context), (treadle_port *)&h->out.pointer))) \
    X(treadle_port_send, U(PORT), 's', 0, treadle_port_send(h->of[PORT], &TREADLE_INIT(treadle_message_content), 0)) \
    X(treadle_port_send_bytes, U(PORT), 's', 0, treadle_port_send_bytes(h->of[PORT], 0, (void *)h->text, 8, 0)) \
    X(treadle_port_get_count, U(PORT), 's', 8, treadle_port_get_count(h->of[PORT], &h->out.size, &(size_t){0})) \
    X(treadle_message_get_info, U(MESSAGE), 's', 0, treadle_message_get_info(h->of[MESSAGE], &TREADLE_INIT(treadle_message_info))) \
    X(treadle_message_get_component, U(MESSAGE), 's', 0, treadle_message_get_component(h->of[MESSAGE], 0, &(treadle_component){0})) \
    X(treadle_message_port_is_remote, U(MESSAGE_PORT), 'b', 0, treadle_message_port_is_remote(h->of[MESSAGE_PORT])) \
    X(treadle_message_port_get_name, U(MESSAGE_PORT), 's', 8, treadle_message_port_get_name(h->of[MESSAGE_PORT], TEXT)) \
    X(treadle_message_port_set_invalidated, U(MESSAGE_PORT), 's', 0, treadle_message_port_set_invalidated(h->of[MESSAGE_PORT], NULL)) \
    X(treadle_message_port_check, U(MESSAGE_PORT), 's', 0, treadle_message_port_check(h->of[MESSAGE_PORT])) \
    X(treadle_timer_create, 0, 's', 8, give_back(h, treadle_timer_create(&TREADLE_INIT(treadle_timer_context), (treadle_timer *)&h->out.pointer))) \
    X(treadle_timer_fire, U(TIMER), 's', 0, treadle_timer_fire(h->of[TIMER])) \
    X(treadle_timer_get_next_fire, U(TIMER), 's', 8, treadle_timer_get_next_fire(h->of[TIMER], &h->out.i64)) \
    X(treadle_timer_set_time, U(TIMER), 's', 0, treadle_timer_set_time(h->of[TIMER], 0, 0)) \
    X(treadle_timer_get_interval, U(TIMER), 's', 8, treadle_timer_get_interval(h->of[TIMER], &h->out.i64)) \
    X(treadle_timer_set_tolerance, U(TIMER), 's', 0, treadle_timer_set_tolerance(h->of[TIMER], 0)) \
    X(treadle_timer_get_tolerance, U(TIMER), 's', 8, treadle_timer_get_tolerance(h->of[TIMER], &h->out.i64)) \
    X(treadle_observer_create, 0, 's', 8, give_back(h, treadle_observer_create(&TREADLE_INIT(treadle_observer_context), (treadle_observer *)&h->out.pointer))) \
    X(treadle_observer_get_activities, U(OBSERVER), 's', 4, treadle_observer_get_activities(h->of[OBSERVER], &h->out.u32)) \
    X(treadle_observer_repeats, U(OBSERVER), 'b', 0, treadle_observer_repeats(h->of[OBSERVER])) \
    X(treadle_loop_post, U(LOOP), 's', 0, treadle_loop_post(h->of[LOOP], call_nothing, (void *)h->text)) \
    X(treadle_loop_post_in, U(LOOP), 's', 0, treadle_loop_post_in(h->of[LOOP], &(treadle_post){.struct_size = sizeof(treadle_post), .fn = call_nothing})) \
    X(treadle_signature_parse, 0, 's', 8, treadle_signature_parse("i", (treadle_signature *)&h->out.pointer)) \
    X(treadle_signature_get_argument_count, U(SIGNATURE), 's', 8, treadle_signature_get_argument_count(h->of[SIGNATURE], &h->out.size)) \
    X(treadle_signature_get_layout, U(SIGNATURE), 's', 8, treadle_signature_get_layout(h->of[SIGNATURE], 0, &h->out.size, &(size_t){0})) \
    X(treadle_signature_describe, U(SIGNATURE), 's', 8, treadle_signature_describe(h->of[SIGNATURE], TEXT)) \
    X(treadle_routine_call, U(ROUTINE), 's', 0, treadle_routine_call(h->of[ROUTINE], NULL, (void *)h->text, 0)) \
    X(treadle_thread_create, 0, 's', 8, give_back(h, treadle_thread_create(&(treadle_thread_config){.struct_size = sizeof(treadle_thread_config), .fn = call_entry}, (treadle_thread *)&h->out.pointer))) \
    X(treadle_thread_declare_ready, 0, 's', 0, treadle_thread_declare_ready()) \
    X(treadle_thread_current, 0, 'p', 0, treadle_thread_current() != NULL) \
    X(treadle_thread_main, 0, 'p', 0, treadle_thread_main() != NULL) \
    X(treadle_is_multithreaded, 0, '-', 0, treadle_is_multithreaded()) \
    X(treadle_thread_get_id, U(THREAD), 's', 4, treadle_thread_get_id(h->of[THREAD], &h->out.i32)) \
    X(treadle_thread_copy_loop, U(THREAD), 's', 8, give_back(h, treadle_thread_copy_loop(h->of[THREAD], (treadle_loop *)&h->out.pointer))) \
    X(treadle_thread_get_state, U(THREAD), 's', 4, treadle_thread_get_state(h->of[THREAD], &h->out.u32)) \
    X(treadle_thread_is_cancelled, U(THREAD), 'b', 0, treadle_thread_is_cancelled(h->of[THREAD])) \
    X(treadle_thread_is_detached, U(THREAD), 'b', 0, treadle_thread_is_detached(h->of[THREAD])) \
    X(treadle_thread_set_stack_size, U(THREAD), 's', 0, treadle_thread_set_stack_size(h->of[THREAD], 65536)) \
    X(treadle_thread_get_stack_size, U(THREAD), 's', 8, treadle_thread_get_stack_size(h->of[THREAD], &h->out.size)) \
    X(treadle_thread_set_name, U(THREAD), 's', 0, treadle_thread_set_name(h->of[THREAD], "key")) \
    X(treadle_thread_get_name, U(THREAD), 's', 8, treadle_thread_get_name(h->of[THREAD], TEXT)) \
    X(treadle_thread_set_priority, U(THREAD), 's', 0, treadle_thread_set_priority(h->of[THREAD], 0.5)) \
    X(treadle_thread_get_priority, U(THREAD), 's', 8, treadle_thread_get_priority(h->of[THREAD], &h->out.real, &(int32_t){0})) \
    X(treadle_thread_set_policy, U(THREAD), 's', 0, treadle_thread_set_policy(h->of[THREAD], 0)) \
    X(treadle_thread_get_policy, U(THREAD), 's', 4, treadle_thread_get_policy(h->of[THREAD], &h->out.u32)) \
    X(treadle_thread_set_value, U(THREAD), 's', 0, treadle_thread_set_value(h->of[THREAD], "key", (void *)h->text, call_nothing)) \
    X(treadle_thread_get_value, U(THREAD), 's', 8, treadle_thread_get_value(h->of[THREAD], "key", &h->out.pointer)) \
    X(treadle_thread_use_value, U(THREAD), 's', 0, treadle_thread_use_value(h->of[THREAD], "key", call_use, (void *)h->text)) \
    X(treadle_thread_remove_value, U(THREAD), 's', 0, treadle_thread_remove_value(h->of[THREAD], "key")) \
    X(treadle_thread_sleep_until, 0, 's', 0, treadle_thread_sleep_until(0)) \
    X(treadle_invocation_create, 0, 's', 8, give_back(h, treadle_invocation_create(&(treadle_invocation_config){.struct_size = sizeof(treadle_invocation_config), .code = (void (*)(void))call_invoked, .signature = "i^vO^v"}, (treadle_invocation *)&h->out.pointer))) \
    X(treadle_invocation_set_argument, U(INVOCATION), 's', 0, treadle_invocation_set_argument(h->of[INVOCATION], 0, (void *)h->text, 8)) \
    X(treadle_invocation_set_buffer, U(INVOCATION), 's', 0, treadle_invocation_set_buffer(h->of[INVOCATION], 1, (void *)h->text, 8)) \
    X(treadle_invocation_get_argument, U(INVOCATION), 's', 0, treadle_invocation_get_argument(h->of[INVOCATION], 0, (void *)h->text, 8)) \
    X(treadle_invocation_get_buffer, U(INVOCATION), 's', 0, treadle_invocation_get_buffer(h->of[INVOCATION], 1, (void *)h->text, 8)) \
    X(treadle_invocation_get_state, U(INVOCATION), 's', 4, treadle_invocation_get_state(h->of[INVOCATION], &h->out.u32)) \
    X(treadle_closure_get_info, U(CLOSURE), 's', 0, treadle_closure_get_info(h->of[CLOSURE], &TREADLE_INIT(treadle_closure_info))) \
    X(treadle_closure_pool_get_info, 0, 's', 0, treadle_closure_pool_get_info(&TREADLE_INIT(treadle_closure_pool_info))) \
    X(treadle_lock_create, 0, 's', 8, give_back(h, treadle_lock_create(0, (treadle_lock *)&h->out.pointer))) \
    X(treadle_condition_create, 0, 's', 8, give_back(h, treadle_condition_create((treadle_condition *)&h->out.pointer))) \
    X(treadle_condition_signal, U(CONDITION), 's', 0, treadle_condition_signal(h->of[CONDITION])) \
    X(treadle_condition_broadcast, U(CONDITION), 's', 0, treadle_condition_broadcast(h->of[CONDITION])) \
    X(treadle_has_last_resort, 0, '-', 0, treadle_has_last_resort()) \
    X(treadle_scope_create, 0, 's', 8, give_back(h, treadle_scope_create(&TREADLE_INIT(treadle_scope_config), (treadle_scope *)&h->out.pointer))) \
    X(treadle_host_register, 0, 's', 8, treadle_host_register(&(treadle_host_config){.struct_size = sizeof(treadle_host_config), .dispatch = call_dispatch}, (treadle_host *)&h->out.pointer)) \
    X(treadle_host_get_dropped, U(HOST), 's', 8, treadle_host_get_dropped(h->of[HOST], &h->out.u64)) \
    X(treadle_host_take_retired, U(HOST), 's', 8, treadle_host_take_retired(h->of[HOST], (void *)h->text, 8, &h->out.size)) \
    X(treadle_host_get_retired_count, U(HOST), 'p', 0, treadle_host_get_retired_count(h->of[HOST]) != NULL) \
    X(treadle_host_post, U(HOST) | U(LOOP), 's', 0, treadle_host_post(h->of[HOST], 0, h->of[LOOP])) \
    X(treadle_plugin_get_info, U(PLUGIN), 's', 0, treadle_plugin_get_info(h->of[PLUGIN], &TREADLE_INIT(treadle_plugin_info))) \
    X(treadle_plugin_copy_setting, U(PLUGIN), 's', 8, treadle_plugin_copy_setting(h->of[PLUGIN], "key", TEXT))
