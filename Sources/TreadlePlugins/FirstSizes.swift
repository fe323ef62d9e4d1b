// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

package import CTreadle
import TreadleBase

// How large each struct was in the first release that has it. Written by make generate.

extension treadle_extension_descriptor: GrowingStruct { package static var firstSize: Int { 32 } }
extension treadle_plugin_description: GrowingStruct { package static var firstSize: Int { 160 } }
extension treadle_plugin_limits: GrowingStruct { package static var firstSize: Int { 32 } }
extension treadle_plugin_restart: GrowingStruct { package static var firstSize: Int { 48 } }
extension treadle_plugin_rights: GrowingStruct { package static var firstSize: Int { 32 } }
extension treadle_plugin_setting: GrowingStruct { package static var firstSize: Int { 56 } }
