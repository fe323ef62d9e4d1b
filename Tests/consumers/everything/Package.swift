// swift-tools-version: 6.1
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// Swift, C, CoreFoundation's names and Python in one process, whichever of them is first.

import PackageDescription

let package = Package(
  name: "everything",
  products: [.library(name: "SwiftPart", type: .dynamic, targets: ["SwiftPart"])],
  dependencies: [.package(name: "treadle", path: "../../..")],
  targets: [
    .systemLibrary(name: "CFNames", pkgConfig: "treadle-cf"),
    .target(name: "Parts", dependencies: ["CFNames"], linkerSettings: [.linkedLibrary("dl")]),
    .executableTarget(
      name: "everything", dependencies: [.product(name: "Treadle", package: "treadle"), "Parts"],
      swiftSettings: [.unsafeFlags(["-warnings-as-errors", "-strict-memory-safety"])]),
    .target(name: "SwiftPart", dependencies: [.product(name: "Treadle", package: "treadle")]),
  ]
)
