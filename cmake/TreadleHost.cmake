# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# The command treadle-host: loads plugins, runs them and shows what they do. It finds its library by a relative path.
file(GLOB treadle_host_sources CONFIGURE_DEPENDS host/*.c)
add_executable(treadle-host ${treadle_host_sources})
add_dependencies(treadle-host treadle_library)
set_source_files_properties(${treadle_host_sources} PROPERTIES OBJECT_DEPENDS "${treadle_machine}")
target_link_libraries(treadle-host PRIVATE Treadle::treadle ${CMAKE_DL_LIBS} m)
target_compile_definitions(treadle-host PRIVATE _GNU_SOURCE)
set_target_properties(treadle-host PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
file(RELATIVE_PATH treadle_host_library "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
set_target_properties(treadle-host PROPERTIES INSTALL_RPATH "$ORIGIN/${treadle_host_library}" BUILD_RPATH_USE_ORIGIN ON)
install(TARGETS treadle-host RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES host/treadle_host.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
