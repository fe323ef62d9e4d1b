// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

public import CTreadle
import TreadleCore
import TreadleBase

@implementation @_cdecl("treadle_shutdown")
public func treadle_shutdown(_ timeout_ns: Int64) -> treadle_status {
  status("treadle_shutdown") { () throws(Failure) in try Shutdown.begin(timeout: timeout_ns) }
}
