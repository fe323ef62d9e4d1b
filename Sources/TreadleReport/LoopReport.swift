// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import TreadleCore
package import TreadleBase

/// A loop in words: what it does, then its modes in the order in which they were made, each with its members. The caller
/// holds the loop, and no lock; what it says of one item and of another may be of different moments.
extension Loop {
  package func report(_ text: inout FixedText) throws(Failure) {
    text.append("run loop of thread ")
    text.append(Int64(threadID))
    text.append((isWaiting ? ", waiting" : ", not waiting") as StaticString)
    try withCurrentModeName { name throws(Failure) in
      guard let name else { return }
      text.append(", in mode ")
      text.append(name)
    }
    var members = try Members(of: self, in: nil)
    defer { members.free() }
    var modes = try HeldModes(of: self)
    defer { modes.free() }
    var groups = try members.byMode()
    defer { groups.free() }
    modes.forEach { report($0, groups, &text) }
  }

  private func report(_ mode: Mode, _ groups: MembersByMode, _ text: inout FixedText) {
    text.append("\n  mode ")
    if let name = mode.name { text.append(quoted: name) }
    if mode.isCommon { text.append(", common") }
    groups.forEachItem(of: mode) { item in
      text.append("\n    ")
      item.reportLine(&text, in: mode)
    }
  }
}
