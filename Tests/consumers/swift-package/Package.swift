// swift-tools-version: 6.1
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// A Swift package that depends on a version of Treadle, as docs/guide/swift.md says: scripts/tagged-swift builds it.

import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(url: "https://github.com/treadle/treadle", from: "1.0.0")],
  targets: [
    .executableTarget(name: "consumer", dependencies: [.product(name: "Treadle", package: "treadle")]),
    .executableTarget(name: "main-actor", dependencies: [.product(name: "Treadle", package: "treadle")]),
  ]
)
