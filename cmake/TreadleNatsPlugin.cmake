# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# The plugin treadle-nats: message ports over NATS, by libnats. It links nothing of Treadle.
find_package(PkgConfig REQUIRED)
pkg_check_modules(treadle_libnats REQUIRED IMPORTED_TARGET libnats)
file(GLOB treadle_nats_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/plugins/nats/*.c")
add_library(treadle-nats MODULE ${treadle_nats_sources})
add_dependencies(treadle-nats treadle_machine)
set_source_files_properties(${treadle_nats_sources} PROPERTIES OBJECT_DEPENDS "${treadle_machine}")
target_link_libraries(treadle-nats PRIVATE Treadle::plugin PkgConfig::treadle_libnats)
target_compile_definitions(treadle-nats PRIVATE _GNU_SOURCE)
set_target_properties(treadle-nats PROPERTIES
  PREFIX "" C_STANDARD 11 C_STANDARD_REQUIRED ON C_VISIBILITY_PRESET hidden)
install(TARGETS treadle-nats LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/treadle")
install(FILES plugins/nats/treadle_nats.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
