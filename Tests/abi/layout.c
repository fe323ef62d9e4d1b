/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Where every public member lies, on machines with 64-bit longs and pointers.
 * Written by scripts/check-abi --update; it is compiled, never run. */
#include <treadle.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == size, #type)
#define MEMBER(type, member, offset) _Static_assert(offsetof(type, member) == offset, #type "." #member)

SIZE(treadle_block, 56);
MEMBER(treadle_block, struct_size, 0);
MEMBER(treadle_block, modes, 8);
MEMBER(treadle_block, mode_count, 16);
MEMBER(treadle_block, fn, 24);
MEMBER(treadle_block, routine, 32);
MEMBER(treadle_block, info, 40);
MEMBER(treadle_block, destroy, 48);
SIZE(treadle_descriptor_context, 96);
MEMBER(treadle_descriptor_context, struct_size, 0);
MEMBER(treadle_descriptor_context, info, 8);
MEMBER(treadle_descriptor_context, retain, 16);
MEMBER(treadle_descriptor_context, release, 24);
MEMBER(treadle_descriptor_context, describe, 32);
MEMBER(treadle_descriptor_context, equal, 40);
MEMBER(treadle_descriptor_context, hash, 48);
MEMBER(treadle_descriptor_context, get_fd, 56);
MEMBER(treadle_descriptor_context, ready, 64);
MEMBER(treadle_descriptor_context, ready_routine, 72);
MEMBER(treadle_descriptor_context, fd, 80);
MEMBER(treadle_descriptor_context, events, 84);
MEMBER(treadle_descriptor_context, flags, 88);
MEMBER(treadle_descriptor_context, reserved, 92);
SIZE(treadle_error_info, 272);
MEMBER(treadle_error_info, struct_size, 0);
MEMBER(treadle_error_info, code, 8);
MEMBER(treadle_error_info, os_errno, 12);
MEMBER(treadle_error_info, sequence, 16);
MEMBER(treadle_error_info, function, 24);
MEMBER(treadle_error_info, message, 88);
SIZE(treadle_event, 64);
MEMBER(treadle_event, struct_size, 0);
MEMBER(treadle_event, kind, 8);
MEMBER(treadle_event, value, 12);
MEMBER(treadle_event, token, 16);
MEMBER(treadle_event, loop, 24);
MEMBER(treadle_event, subject, 32);
MEMBER(treadle_event, mode, 40);
MEMBER(treadle_event, late_ns, 48);
MEMBER(treadle_event, descriptor, 56);
MEMBER(treadle_event, reserved, 60);
SIZE(treadle_host_config, 40);
MEMBER(treadle_host_config, struct_size, 0);
MEMBER(treadle_host_config, dispatch, 8);
MEMBER(treadle_host_config, thread_enter, 16);
MEMBER(treadle_host_config, thread_exit, 24);
MEMBER(treadle_host_config, user, 32);
SIZE(treadle_observer_context, 72);
MEMBER(treadle_observer_context, struct_size, 0);
MEMBER(treadle_observer_context, info, 8);
MEMBER(treadle_observer_context, retain, 16);
MEMBER(treadle_observer_context, release, 24);
MEMBER(treadle_observer_context, describe, 32);
MEMBER(treadle_observer_context, notify, 40);
MEMBER(treadle_observer_context, notify_routine, 48);
MEMBER(treadle_observer_context, activities, 56);
MEMBER(treadle_observer_context, once, 60);
MEMBER(treadle_observer_context, order, 64);
SIZE(treadle_argument, 24);
MEMBER(treadle_argument, kind, 0);
MEMBER(treadle_argument, reserved, 4);
MEMBER(treadle_argument, value, 8);
MEMBER(treadle_argument, size, 16);
SIZE(treadle_routine_config, 56);
MEMBER(treadle_routine_config, struct_size, 0);
MEMBER(treadle_routine_config, code, 8);
MEMBER(treadle_routine_config, signature, 16);
MEMBER(treadle_routine_config, arguments, 24);
MEMBER(treadle_routine_config, argument_count, 32);
MEMBER(treadle_routine_config, info, 40);
MEMBER(treadle_routine_config, destroy, 48);
SIZE(treadle_source_context, 112);
MEMBER(treadle_source_context, struct_size, 0);
MEMBER(treadle_source_context, info, 8);
MEMBER(treadle_source_context, retain, 16);
MEMBER(treadle_source_context, release, 24);
MEMBER(treadle_source_context, describe, 32);
MEMBER(treadle_source_context, equal, 40);
MEMBER(treadle_source_context, hash, 48);
MEMBER(treadle_source_context, schedule, 56);
MEMBER(treadle_source_context, cancel, 64);
MEMBER(treadle_source_context, perform, 72);
MEMBER(treadle_source_context, schedule_routine, 80);
MEMBER(treadle_source_context, cancel_routine, 88);
MEMBER(treadle_source_context, perform_routine, 96);
MEMBER(treadle_source_context, order, 104);
SIZE(treadle_timer_context, 88);
MEMBER(treadle_timer_context, struct_size, 0);
MEMBER(treadle_timer_context, info, 8);
MEMBER(treadle_timer_context, retain, 16);
MEMBER(treadle_timer_context, release, 24);
MEMBER(treadle_timer_context, describe, 32);
MEMBER(treadle_timer_context, fire, 40);
MEMBER(treadle_timer_context, fire_routine, 48);
MEMBER(treadle_timer_context, fire_at, 56);
MEMBER(treadle_timer_context, interval_ns, 64);
MEMBER(treadle_timer_context, tolerance_ns, 72);
MEMBER(treadle_timer_context, order, 80);
