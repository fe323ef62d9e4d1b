// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

/// What a closure is to be, as checked by the boundary.
package struct ClosurePlan {
  package let signature: Signature
  package let handler: ClosureHandler
  /// In the size of the signature's result, in the client's memory; nil: zeros.
  package var defaultResult: UnsafeRawPointer?
  package var mayAllocate = false
  package var keepsCode = false
  /// nil: the calling thread handles the calls.
  package var carrier: CarrierPlan?

  package init(_ signature: Signature, _ handler: ClosureHandler) {
    self.signature = signature
    self.handler = handler
  }
}
