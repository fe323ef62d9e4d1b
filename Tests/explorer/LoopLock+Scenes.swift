// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleSystem

// LoopLock, and gates inside of it, for the scenes of loop_lock.c alone: the explorer's build of the library has this file in TreadleBase.

private func lock(_ memory: UnsafeMutableRawPointer) -> UnsafeMutablePointer<LoopLock> {
  memory.assumingMemoryBound(to: LoopLock.self)
}

@_cdecl("explored_lock_size")
public func exploredLockSize() -> Int { MemoryLayout<LoopLock>.size }
@_cdecl("explored_lock_begin")
public func exploredLockBegin(_ memory: UnsafeMutableRawPointer) { lock(memory).pointee.beginBias() }
@_cdecl("explored_lock_end")
public func exploredLockEnd(_ memory: UnsafeMutableRawPointer) { lock(memory).pointee.endBias() }
@_cdecl("explored_lock_enter")
public func exploredLockEnter(_ memory: UnsafeMutableRawPointer, _ isOwner: Bool) { lock(memory).pointee.lock(isOwner: isOwner) }
@_cdecl("explored_lock_leave")
public func exploredLockLeave(_ memory: UnsafeMutableRawPointer) { lock(memory).pointee.unlock() }
@_cdecl("explored_gate_lock")
public func exploredGateLock(_ memory: UnsafeMutableRawPointer) { memory.assumingMemoryBound(to: Gate.self).pointee.lock() }
@_cdecl("explored_gate_unlock")
public func exploredGateUnlock(_ memory: UnsafeMutableRawPointer) { memory.assumingMemoryBound(to: Gate.self).pointee.unlock() }
@_cdecl("explored_lock_is_held")
public func exploredLockIsHeld(_ memory: UnsafeMutableRawPointer) -> Bool { lock(memory).pointee.isHeld }
