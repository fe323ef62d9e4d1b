# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# Builds both libraries by one command, and the targets for those who use them from the build tree.
set(treadle_directory "${CMAKE_CURRENT_BINARY_DIR}/lib")
set(treadle_soname "libtreadle.so.${PROJECT_VERSION_MAJOR}")
set(treadle_shared "${treadle_directory}/libtreadle.so.${PROJECT_VERSION}")
set(treadle_links "${treadle_directory}/${treadle_soname}" "${treadle_directory}/libtreadle.so")
set(treadle_static "${treadle_directory}/libtreadle.a")
set(treadle_plugin_process "${treadle_directory}/treadle-plugin-process")
set(treadle_cf_soname "libtreadle-cf.so.${PROJECT_VERSION_MAJOR}")
set(treadle_cf_shared "${treadle_directory}/libtreadle-cf.so.${PROJECT_VERSION}")
set(treadle_cf_links "${treadle_directory}/${treadle_cf_soname}" "${treadle_directory}/libtreadle-cf.so")
if(TREADLE_SYMBOLS STREQUAL "keep")
  set(treadle_symbols --symbols keep)
elseif(TREADLE_SYMBOLS)
  set(treadle_symbols --symbols separate)
  set(treadle_debug "${treadle_shared}.debug")
  set(treadle_cf_debug "${treadle_cf_shared}.debug")
endif()

# What the static library leaves to the program; the shared one names its own needs.
set(treadle_static_needs ffi pthread m)
if(TREADLE_RUNTIME STREQUAL "static")
  list(APPEND treadle_static_needs stdc++ dl)
endif()

file(GLOB_RECURSE treadle_sources CONFIGURE_DEPENDS
  "${CMAKE_CURRENT_SOURCE_DIR}/Sources/*" "${CMAKE_CURRENT_SOURCE_DIR}/include/*" "${CMAKE_CURRENT_SOURCE_DIR}/host/process/*")
list(APPEND treadle_sources
  "${CMAKE_CURRENT_SOURCE_DIR}/Package.swift"
  "${CMAKE_CURRENT_SOURCE_DIR}/scripts/build-archive"
  "${CMAKE_CURRENT_SOURCE_DIR}/scripts/clean-stale"
  "${CMAKE_CURRENT_SOURCE_DIR}/scripts/build-library"
  "${CMAKE_CURRENT_SOURCE_DIR}/scripts/build-cf"
  "${CMAKE_CURRENT_SOURCE_DIR}/scripts/split-symbols"
  "${CMAKE_CURRENT_SOURCE_DIR}/cmake/treadle-cf.map"
  "${CMAKE_CURRENT_SOURCE_DIR}/cmake/treadle.map")

# What the machine brings is looked at before each build: with another compiler or another libffi everything is built anew.
set(treadle_tools "${CMAKE_COMMAND}" -E env "SWIFT=${TREADLE_SWIFT}" "CC=${CMAKE_C_COMPILER}")
set(treadle_machine "${CMAKE_CURRENT_BINARY_DIR}/machine.txt")
add_custom_target(treadle_machine
  COMMAND ${treadle_tools} "${CMAKE_CURRENT_SOURCE_DIR}/scripts/clean-stale" --record "${treadle_machine}"
  BYPRODUCTS "${treadle_machine}"
  VERBATIM)

add_custom_command(
  OUTPUT "${treadle_shared}" ${treadle_links} ${treadle_debug} "${treadle_static}" "${treadle_plugin_process}"
  COMMAND ${treadle_tools} "${CMAKE_CURRENT_SOURCE_DIR}/scripts/build-library" --output "${treadle_directory}"
    --scratch "${TREADLE_SCRATCH}" --runtime "${TREADLE_RUNTIME}" --configuration "${TREADLE_CONFIGURATION}" ${treadle_symbols}
  DEPENDS ${treadle_sources} "${treadle_machine}"
  COMMENT "Building the Treadle library"
  VERBATIM)
add_custom_command(
  OUTPUT "${treadle_cf_shared}" ${treadle_cf_links} ${treadle_cf_debug}
  COMMAND ${treadle_tools} "${CMAKE_CURRENT_SOURCE_DIR}/scripts/build-cf" --output "${treadle_directory}"
    --scratch "${TREADLE_SCRATCH}" --runtime "${TREADLE_RUNTIME}" --configuration "${TREADLE_CONFIGURATION}" ${treadle_symbols}
  DEPENDS ${treadle_sources} "${treadle_machine}" "${treadle_shared}"
  COMMENT "Building the library with CoreFoundation's names"
  VERBATIM)
# In the default target only where somebody asked for Treadle itself.
if(TREADLE_INSTALL)
  set(treadle_all ALL)
endif()
add_custom_target(treadle_library ${treadle_all} DEPENDS "${treadle_shared}" ${treadle_links} "${treadle_static}")
add_dependencies(treadle_library treadle_machine)

add_library(Treadle::treadle SHARED IMPORTED GLOBAL)
set_target_properties(Treadle::treadle PROPERTIES
  IMPORTED_LOCATION "${treadle_shared}"
  IMPORTED_SONAME "${treadle_soname}"
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}/include;${CMAKE_CURRENT_SOURCE_DIR}/bindings/glue")
add_dependencies(Treadle::treadle treadle_library)

add_library(Treadle::treadle-static STATIC IMPORTED GLOBAL)
set_target_properties(Treadle::treadle-static PROPERTIES
  IMPORTED_LOCATION "${treadle_static}"
  INTERFACE_LINK_LIBRARIES "${treadle_static_needs}"
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}/include;${CMAKE_CURRENT_SOURCE_DIR}/bindings/glue")
add_dependencies(Treadle::treadle-static treadle_library)

# The C++ headers: the library and C++17.
foreach(kind "" "-static")
  add_library(Treadle::cpp${kind} INTERFACE IMPORTED GLOBAL)
  set_target_properties(Treadle::cpp${kind} PROPERTIES
    INTERFACE_LINK_LIBRARIES Treadle::treadle${kind}
    INTERFACE_COMPILE_FEATURES cxx_std_17)
endforeach()
# A plugin: the headers, which lead through the table that its host gives it, and one exported name. It links no library.
add_library(Treadle::plugin INTERFACE IMPORTED GLOBAL)
set_target_properties(Treadle::plugin PROPERTIES
  INTERFACE_COMPILE_DEFINITIONS TREADLE_PLUGIN
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}/include;${CMAKE_CURRENT_SOURCE_DIR}/bindings/glue"
  INTERFACE_LINK_OPTIONS "LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/include/treadle/plugin.map")
# CoreFoundation's names; built only for those who link it, or for the installation.
add_custom_target(treadle_cf_library ${treadle_all} DEPENDS "${treadle_cf_shared}" ${treadle_cf_links})
add_dependencies(treadle_cf_library treadle_library) # both use one scratch directory
add_library(Treadle::cf SHARED IMPORTED GLOBAL)
set_target_properties(Treadle::cf PROPERTIES
  IMPORTED_LOCATION "${treadle_cf_shared}"
  IMPORTED_SONAME "${treadle_cf_soname}"
  INTERFACE_LINK_LIBRARIES Treadle::treadle
  INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_SOURCE_DIR}/include/compat")
add_dependencies(Treadle::cf treadle_cf_library)
