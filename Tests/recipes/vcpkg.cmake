# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# Runs a port without vcpkg (scripts/check-recipes): its functions, as far as the port of Treadle uses them.
#
#   cmake -DPORTFILE=... -DPORT=... -DCURRENT_PACKAGES_DIR=... -DCURRENT_BUILDTREES_DIR=... -DSCRATCH=... -P vcpkg.cmake
cmake_minimum_required(VERSION 3.21)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command} ended with ${result}")
  endif()
endfunction()

# SCRATCH keeps what Swift has compiled of this checkout; the rest is as the port says.
function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR NOT VCPKG_BUILD_TYPE STREQUAL "release")
    message(FATAL_ERROR "the port asks for what is not checked here: ${arg_UNPARSED_ARGUMENTS} ${VCPKG_BUILD_TYPE}")
  endif()
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${CURRENT_BUILDTREES_DIR}/rel" -DCMAKE_BUILD_TYPE=Release
    "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" -DCMAKE_INSTALL_LIBDIR=lib "-DTREADLE_SCRATCH=${SCRATCH}" ${arg_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --build "${CURRENT_BUILDTREES_DIR}/rel" --target install)
endfunction()

# The CMake package moves to share/PACKAGE_NAME, one folder up, and finds its prefix from there.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  if(NOT IS_DIRECTORY "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
    message(FATAL_ERROR "there is no ${arg_CONFIG_PATH} in the package")
  endif()
  set(share "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}")
  file(MAKE_DIRECTORY "${share}")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME)
    file(READ "${file}" text)
    string(REGEX REPLACE "get_filename_component\\(PACKAGE_PREFIX_DIR \"\\\${CMAKE_CURRENT_LIST_DIR}/[./]*\" ABSOLUTE\\)"
      "get_filename_component(PACKAGE_PREFIX_DIR \"\${CMAKE_CURRENT_LIST_DIR}/../../\" ABSOLUTE)" text "${text}")
    file(WRITE "${share}/${name}" "${text}")
  endforeach()
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}")
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB files "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc")
  if(NOT files)
    message(FATAL_ERROR "the package has no files for pkg-config")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE "${arg_FILE_LIST}" "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

include("${PORTFILE}")
