// swift-tools-version: 6.2
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors

import Foundation
import PackageDescription

// One source, two builds. Ordinary Swift, for the tests, the sanitizers, and Swift packages without an installed library; and
// with TREADLE_EMBEDDED=1 the static archive of Embedded Swift from which the shipped C library is linked
// (scripts/build-library does both steps). Embedded and ordinary modules do not mix, so that build
// has no test targets.
let embedded = Context.environment["TREADLE_EMBEDDED"] == "1"

// `import Treadle` is a layer over the C interface: over the installed library where pkg-config knows one that is new enough,
// else over the one that this package builds. TREADLE_LIBRARY=installed or source decides in place of pkg-config.
let header = (try? String(contentsOfFile: Context.packageDirectory + "/include/treadle/version.h", encoding: .utf8)) ?? ""
let version = ["MAJOR", "MINOR"].map { part in
  header.split(separator: "\n").first { $0.hasPrefix("#define TREADLE_VERSION_\(part) ") }?.split(separator: " ").last ?? "0"
}
func isInstalled() -> Bool {
  let question = Process()
  question.executableURL = URL(fileURLWithPath: "/usr/bin/env")
  let next = (Int(version[0]) ?? 0) + 1
  question.arguments = ["pkg-config", "--exists", "treadle >= \(version[0]).\(version[1]) treadle < \(next)"]
  question.standardError = FileHandle.nullDevice
  do { try question.run() } catch { return false }
  question.waitUntilExit()
  return question.terminationStatus == 0
}
let installed =
  switch Context.environment["TREADLE_LIBRARY"] {
  case "installed": true
  case "source": false
  default: !embedded && isInstalled()
  }

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

/// The boundary and the calls do little themselves: small code is quick enough there, but for timers, which say so. In the core
/// it is the other way round: what is rare says that it is to be small.
let small = settings + (embedded ? [.unsafeFlags(["-Osize"])] : [])

/// The functions of the headers have symbols of their own here (own_names.h), so that the exported names can lead elsewhere. A
/// package that others depend on by version may have unsafe flags as of tools version 6.2.
let ownNames: [SwiftSetting] = [.unsafeFlags(["-Xcc", "-DTREADLE_OWN_NAMES"])]

/// Calls of the C library go straight through the table of addresses, which is complete from the start: no code between.
let direct: [CSetting] = embedded ? [.unsafeFlags(["-fno-plt", "-ffunction-sections"])] : []

var targets: [Target] = [
  // The contract: the installed headers are the ones that the compiler checks the library against.
  .systemLibrary(name: "CTreadle", path: "include"),
  .systemLibrary(name: "CFFI", pkgConfig: "libffi", providers: [.apt(["libffi-dev"])]),
  .target(name: "CTreadleSystem", cSettings: direct + (embedded ? [.unsafeFlags(["-Os"])] : [])),
  .target(name: "CTreadleStubs", cSettings: direct + [.define("TREADLE_STUB_TABLES", to: stubTables)]),
  // The exported names, which lead to this copy's functions or to those of an earlier one.
  .target(
    name: "CTreadleNames", dependencies: ["CTreadleSystem"],
    cSettings: direct + (embedded ? [.unsafeFlags(["-Oz"])] : []) + [.headerSearchPath("../../include")]),
  .target(name: "TreadleBase", dependencies: ["CTreadleSystem"], swiftSettings: settings),
  .target(name: "TreadleCore", dependencies: ["TreadleBase", "CTreadleSystem"], swiftSettings: settings),
  .target(
    name: "TreadleCalls", dependencies: ["TreadleCore", "TreadleBase", "CTreadleSystem", "CTreadleStubs", "CFFI"],
    swiftSettings: small),
  .target(
    name: "TreadleScopes", dependencies: ["TreadleCore", "TreadleCalls", "TreadleBase", "CTreadleSystem"], swiftSettings: small),
  .target(name: "TreadleReport", dependencies: ["TreadleCore", "TreadleBase", "CTreadleSystem"], swiftSettings: small),
  .target(name: "TreadlePorts", dependencies: ["TreadleCalls", "TreadleCore", "TreadleBase", "CTreadleSystem"], swiftSettings: small),
  // Knows the headers for the types that plugins and hosts exchange, and for the table of functions.
  .target(
    name: "CTreadlePlugins", dependencies: ["CTreadleNames"],
    cSettings: direct + (embedded ? [.unsafeFlags(["-Os"])] : []) + [.headerSearchPath("../../include"), .headerSearchPath("../CTreadleNames"), .define("_GNU_SOURCE")]),
  .target(
    name: "TreadlePlugins",
    dependencies: [
      "CTreadle", "CTreadlePlugins", "TreadleCore", "TreadleCalls", "TreadlePorts", "TreadleScopes", "TreadleBase", "CTreadleSystem",
    ],
    swiftSettings: small + ownNames),
  .target(
    name: "TreadleABI",
    dependencies: ["CTreadle", "TreadleCore", "TreadleCalls", "TreadleReport", "TreadleScopes", "TreadlePorts", "TreadlePlugins", "TreadleBase", "CTreadleSystem", "CTreadleNames"],
    swiftSettings: small + ownNames),
  // CoreFoundation's names over the C interface: a library of its own, which knows the headers only.
  .target(
    name: "CTreadleCF", cSettings: [.headerSearchPath("../../include/compat"), .define("_GNU_SOURCE")]),
  .target(name: "TreadleCF", dependencies: ["CTreadle", "CTreadleCF"], swiftSettings: settings),
]
if !embedded {
  targets += [
    // Swift's interface: a layer over the C interface, which knows the headers only.
    .target(name: "Treadle", dependencies: ["CTreadle", "TreadleABI"], swiftSettings: settings),
    // Dates and times of Foundation: for who asks for it.
    .target(name: "TreadleFoundation", dependencies: ["Treadle"], swiftSettings: settings),
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
    .testTarget(name: "TreadleTests", dependencies: ["Treadle", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "TreadleFoundationTests", dependencies: ["Treadle", "TreadleFoundation", "TestSupport"], swiftSettings: settings),
    .testTarget(
      name: "TreadleCoreTests",
      dependencies: ["CTreadle", "TreadleCore", "TreadleCalls", "TreadleReport", "TreadlePorts", "TreadleABI", "TreadleBase", "CTreadleSystem", "CTreadleStubs", "TestSupport"],
      swiftSettings: settings),
  ]
}

var products: [Product] = [
  // What the C library is linked from: scripts/build-library.
  .library(name: "TreadleABI", type: .static, targets: ["TreadleABI"]),
  .library(name: "TreadleCF", type: .static, targets: ["TreadleCF"]),
]
let swiftProducts: [Product] = [
  .library(name: "Treadle", targets: ["Treadle"]), .library(name: "TreadleFoundation", targets: ["TreadleFoundation"]),
]
if !embedded { products += swiftProducts }

if installed {
  products = swiftProducts
  targets = [
    .systemLibrary(name: "CTreadle", path: "include", pkgConfig: "treadle"),
    .target(name: "Treadle", dependencies: ["CTreadle"], swiftSettings: settings),
    .target(name: "TreadleFoundation", dependencies: ["Treadle"], swiftSettings: settings),
  ]
}

let package = Package(name: "treadle", products: products, targets: targets)
