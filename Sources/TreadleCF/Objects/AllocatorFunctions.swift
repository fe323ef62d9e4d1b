// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

@_cdecl("CFAllocatorGetTypeID") public func cfAllocatorGetTypeID() -> UInt { Kind.allocator.typeID }
@_cdecl("CFNullGetTypeID") public func cfNullGetTypeID() -> UInt { Kind.null.typeID }
@_cdecl("CFAllocatorGetDefault") public func cfAllocatorGetDefault() -> UInt { Constants.systemAllocator }

@_cdecl("CFAllocatorAllocate")
public func cfAllocatorAllocate(_ allocator: UInt, _ size: Int, _ hint: UInt) -> UnsafeMutableRawPointer? {
  allocator == Constants.nullAllocator || size <= 0 ? nil : treadle_cf_allocate(size)
}

@_cdecl("CFAllocatorReallocate")
public func cfAllocatorReallocate(
  _ allocator: UInt, _ memory: UnsafeMutableRawPointer?, _ size: Int, _ hint: UInt
) -> UnsafeMutableRawPointer? {
  if allocator == Constants.nullAllocator || size < 0 { return nil }
  if size > 0 { return treadle_cf_reallocate(memory, size) }
  treadle_cf_free(memory)
  return nil
}

@_cdecl("CFAllocatorDeallocate")
public func cfAllocatorDeallocate(_ allocator: UInt, _ memory: UnsafeMutableRawPointer?) {
  if allocator != Constants.nullAllocator { treadle_cf_free(memory) }
}

/// Gives up memory that a client handed over with a no-copy creation.
func deallocate(_ memory: UnsafeRawPointer?, _ deallocator: UInt) {
  if deallocator != Constants.nullAllocator { treadle_cf_free(UnsafeMutableRawPointer(mutating: memory)) }
}
