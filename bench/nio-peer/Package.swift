// swift-tools-version: 6.1
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// A hop to an event loop of SwiftNIO, for `await_perform` and `await_actor` of ../swift-interface. A package of its own: without SwiftNIO's
// sources it cannot be built, and is left out.

import PackageDescription

let package = Package(
  name: "nio-bench",
  dependencies: [.package(url: "https://github.com/apple/swift-nio", exact: "2.101.2")],
  targets: [
    .executableTarget(
      name: "nio-bench",
      dependencies: [.product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio")])
  ]
)
