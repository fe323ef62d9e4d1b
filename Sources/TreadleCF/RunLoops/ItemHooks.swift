// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import CTreadleCF

// The callbacks that every item gives to Treadle. Their info is the reference of the object here, and each
// retain holds the object, so that it outlives whatever may still call with it.

func retainItem(_ info: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let slot = Slot.hold(UInt(bitPattern: info)), let base = base(slot) else { return info }
  let kept = base.pointee.client.retain.map { $0(base.pointee.client.info) } ?? base.pointee.client.info
  if !base.pointee.client.isRetained {
    base.pointee.client.isRetained = true
    base.pointee.client.info = kept
  }
  return info
}

func releaseItem(_ info: UnsafeMutableRawPointer?) {
  guard let slot = Slot.hold(UInt(bitPattern: info)), let base = base(slot) else { return }
  base.pointee.client.release?(base.pointee.client.info)
  slot.drop()
  slot.drop()
}

func describeItem(_ info: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<CChar>?, _ capacity: Int) {
  guard let buffer, capacity > 0 else { return }
  buffer[0] = 0
  guard let slot = Slot.hold(UInt(bitPattern: info)) else { return }
  if let base = base(slot), let describe = base.pointee.client.describe {
    let text = describe(base.pointee.client.info)
    if text != 0 {
      texts(text, "CFCopyDescription", ()) { text in
        var bytes = text.utf8()
        let count = min(bytes.count, capacity &- 1)
        treadle_cf_copy(buffer, bytes.bytes, count)
        buffer[count] = 0
        bytes.free()
      }
      cfRelease(text)
    }
  }
  slot.drop()
}

private func base(_ slot: Slot) -> UnsafeMutablePointer<ItemBase>? {
  switch slot.kind {
  case .source, .timer, .observer, .messagePort, .machPort:
    slot.pointer.pointee.body?.assumingMemoryBound(to: ItemBase.self)
  default: nil
  }
}

/// Makes Treadle's side of an item; without it the item is given up.
func finish(_ item: UInt, _ create: (inout OpaquePointer?) -> Int32) -> UInt {
  guard let slot = Slot.hold(item), let base = base(slot) else { return 0 }
  var handle: OpaquePointer?
  let status = create(&handle)
  base.pointee.handle = handle
  slot.drop()
  if status >= 0 { return item }
  slot.drop()
  return 0
}
