// swift-tools-version: 6.1
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// A Swift package that uses Treadle's package by its path.

import PackageDescription

let package = Package(
  name: "consumer",
  dependencies: [.package(name: "treadle", path: "../../..")],
  targets: [
    .executableTarget(name: "consumer", dependencies: [.product(name: "Treadle", package: "treadle")]),
    .executableTarget(name: "main-actor", dependencies: [.product(name: "Treadle", package: "treadle")]),
  ]
)
