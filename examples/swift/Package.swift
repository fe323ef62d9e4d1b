// swift-tools-version: 6.1
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import PackageDescription

let package = Package(
  name: "examples",
  dependencies: [.package(name: "treadle", path: "../..")],
  targets: ["chat", "demo", "plugin-host"].map {
    .executableTarget(name: $0, dependencies: [.product(name: "Treadle", package: "treadle")])
  }
)
