// swift-tools-version: 6.1
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import PackageDescription

// One source, two builds. Ordinary Swift, for Swift clients, the tests and the sanitizers; and with
// TREADLE_EMBEDDED=1 the static archive of Embedded Swift from which the shipped C library is linked
// (scripts/build-library does both steps). Embedded and ordinary modules do not mix, so that build
// has no test targets.
let embedded = Context.environment["TREADLE_EMBEDDED"] == "1"

var settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
if embedded {
  // Each function is a section, so that the linker can leave out those that nobody calls.
  settings += [
    .enableExperimentalFeature("Embedded"),
    .unsafeFlags(["-wmo", "-Xfrontend", "-function-sections"]),
  ]
}

// How many tables of 1,024 stubs the pool of closures has: 1 to 64.
let stubTables = Context.environment["TREADLE_STUB_TABLES"] ?? "1"

/// The boundary and the calls do little themselves: small code is quick enough there, but for timers, which say so.
let small = settings + (embedded ? [.unsafeFlags(["-Osize"])] : [])

/// Calls of the C library go straight through the table of addresses, which is complete from the start: no code between.
let direct: [CSetting] = embedded ? [.unsafeFlags(["-fno-plt", "-ffunction-sections"])] : []

var targets: [Target] = [
  // The contract: the installed headers are the ones that the compiler checks the library against.
  .systemLibrary(name: "CTreadle", path: "include"),
  .systemLibrary(name: "CFFI", pkgConfig: "libffi", providers: [.apt(["libffi-dev"])]),
  .target(name: "CTreadleSystem", cSettings: direct),
  .target(name: "CTreadleStubs", cSettings: direct + [.define("TREADLE_STUB_TABLES", to: stubTables)]),
  .target(name: "TreadleBase", dependencies: ["CTreadleSystem"], swiftSettings: settings),
  .target(name: "Treadle", dependencies: ["TreadleBase", "CTreadleSystem"], swiftSettings: settings),
  .target(
    name: "TreadleCalls", dependencies: ["Treadle", "TreadleBase", "CTreadleSystem", "CTreadleStubs", "CFFI"],
    swiftSettings: small),
  .target(
    name: "TreadleScopes", dependencies: ["Treadle", "TreadleCalls", "TreadleBase", "CTreadleSystem"], swiftSettings: small),
  .target(name: "TreadleReport", dependencies: ["Treadle", "TreadleBase", "CTreadleSystem"], swiftSettings: small),
  // Knows the headers for the types that plugins and hosts exchange, and for the table of functions.
  .target(
    name: "CTreadlePlugins",
    cSettings: direct + (embedded ? [.unsafeFlags(["-Os"])] : []) + [.headerSearchPath("../../include"), .define("_GNU_SOURCE")]),
  .target(
    name: "TreadlePlugins",
    dependencies: ["CTreadle", "CTreadlePlugins", "Treadle", "TreadleScopes", "TreadleBase", "CTreadleSystem"],
    swiftSettings: small),
  .target(
    name: "TreadleABI",
    dependencies: ["CTreadle", "Treadle", "TreadleCalls", "TreadleReport", "TreadleScopes", "TreadlePlugins", "TreadleBase", "CTreadleSystem"],
    swiftSettings: small),
  // CoreFoundation's names over the C interface: a library of its own, which knows the headers only.
  .target(
    name: "CTreadleCF", cSettings: [.headerSearchPath("../../include/compat"), .define("_GNU_SOURCE")]),
  .target(name: "TreadleCF", dependencies: ["CTreadle", "CTreadleCF"], swiftSettings: settings),
]
if !embedded {
  targets += [
    .testTarget(
      name: "TreadleTests", dependencies: ["CTreadle", "Treadle", "TreadleCalls", "TreadleReport", "TreadleABI", "TreadleBase", "CTreadleSystem", "CTreadleStubs"],
      swiftSettings: settings)
  ]
}

let package = Package(
  name: "treadle",
  products: [
    .library(name: "Treadle", targets: ["Treadle", "TreadleReport"]),
    // What the C library is linked from: scripts/build-library.
    .library(name: "TreadleABI", type: .static, targets: ["TreadleABI"]),
    .library(name: "TreadleCF", type: .static, targets: ["TreadleCF"]),
  ],
  targets: targets
)
