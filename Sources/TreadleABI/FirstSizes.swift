// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadle
import TreadleBase

// How large each struct was in the first release that has it. Written by make generate.

extension treadle_call: GrowingStruct { package static var firstSize: Int { 56 } }
extension treadle_closure_config: GrowingStruct { package static var firstSize: Int { 136 } }
extension treadle_closure_info: GrowingStruct { package static var firstSize: Int { 56 } }
extension treadle_closure_pool_info: GrowingStruct { package static var firstSize: Int { 64 } }
extension treadle_descriptor_context: GrowingStruct { package static var firstSize: Int { 128 } }
extension treadle_error_info: GrowingStruct { package static var firstSize: Int { 272 } }
extension treadle_event: GrowingStruct { package static var firstSize: Int { 72 } }
extension treadle_host_config: GrowingStruct { package static var firstSize: Int { 40 } }
extension treadle_invocation_config: GrowingStruct { package static var firstSize: Int { 48 } }
extension treadle_invocation_options: GrowingStruct { package static var firstSize: Int { 72 } }
extension treadle_loop_counters: GrowingStruct { package static var firstSize: Int { 104 } }
extension treadle_message_content: GrowingStruct { package static var firstSize: Int { 40 } }
extension treadle_message_info: GrowingStruct { package static var firstSize: Int { 48 } }
extension treadle_message_port_context: GrowingStruct { package static var firstSize: Int { 128 } }
extension treadle_message_port_message: GrowingStruct { package static var firstSize: Int { 48 } }
extension treadle_notification_config: GrowingStruct { package static var firstSize: Int { 72 } }
extension treadle_observer_context: GrowingStruct { package static var firstSize: Int { 104 } }
extension treadle_plugin_config: GrowingStruct { package static var firstSize: Int { 80 } }
extension treadle_plugin_ending: GrowingStruct { package static var firstSize: Int { 24 } }
extension treadle_plugin_info: GrowingStruct { package static var firstSize: Int { 32 } }
extension treadle_port_context: GrowingStruct { package static var firstSize: Int { 96 } }
extension treadle_post: GrowingStruct { package static var firstSize: Int { 80 } }
extension treadle_pull: GrowingStruct { package static var firstSize: Int { 80 } }
extension treadle_request: GrowingStruct { package static var firstSize: Int { 112 } }
extension treadle_routine_config: GrowingStruct { package static var firstSize: Int { 56 } }
extension treadle_scope_config: GrowingStruct { package static var firstSize: Int { 32 } }
extension treadle_source_context: GrowingStruct { package static var firstSize: Int { 152 } }
extension treadle_thread_config: GrowingStruct { package static var firstSize: Int { 64 } }
extension treadle_timer_context: GrowingStruct { package static var firstSize: Int { 120 } }
