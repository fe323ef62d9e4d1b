// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadle
import TreadleBase

@implementation @_cdecl("treadle_version")
public func treadle_version() -> UInt32 {
  UInt32(TREADLE_VERSION_MAJOR) << 16 | UInt32(TREADLE_VERSION_MINOR) << 8 | UInt32(TREADLE_VERSION_PATCH)
}

/// A test compares it with the header's numbers.
private let versionText: StaticString = "1.0.0"

@implementation @_cdecl("treadle_version_string")
public func treadle_version_string() -> UnsafePointer<CChar>? { versionText.cText }
