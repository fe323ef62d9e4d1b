# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# Treadle for projects that use vcpkg, from a checkout: vcpkg install treadle --overlay-ports=packaging/vcpkg. It takes the system's libffi
# (libffi-dev) and is compiled by Swift 6.3 or later, which must be in PATH.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# The library is compiled in one way, whatever the project is compiled by. The package has programs: treadle-host, treadle-trace.
set(VCPKG_BUILD_TYPE release)
set(VCPKG_POLICY_ALLOW_EXES_IN_BIN enabled)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DTREADLE_PYTHON_PLUGIN=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME treadle CONFIG_PATH lib/cmake/Treadle)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
