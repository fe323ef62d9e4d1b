// swift-tools-version: 6.1
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// What the Swift interface costs beside the C interface, and what `await` costs. The package treadle is a layer over the library
// that pkg-config is told of (runner/swift_programs.py), so both ways use the one that is measured.

import PackageDescription

let package = Package(
  name: "swift-bench",
  dependencies: [.package(name: "treadle", path: "../..")],
  targets: [
    .systemLibrary(name: "CInterface", pkgConfig: "treadle"),
    .target(name: "CWork", dependencies: ["CInterface"]),
    .executableTarget(name: "swift-bench", dependencies: ["CWork", .product(name: "Treadle", package: "treadle")]),
  ]
)
