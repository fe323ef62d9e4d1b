# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# The programs of every CMake consumer, with the shared and with the static library.
foreach(language c cpp)
  add_executable(${language}-shared "${CMAKE_CURRENT_LIST_DIR}/main.${language}")
  target_link_libraries(${language}-shared PRIVATE Treadle::treadle)
  add_executable(${language}-static "${CMAKE_CURRENT_LIST_DIR}/main.${language}")
  target_link_libraries(${language}-static PRIVATE Treadle::treadle-static)
  target_compile_features(${language}-shared PRIVATE c_std_99 cxx_std_11)
  target_compile_features(${language}-static PRIVATE c_std_99 cxx_std_11)
endforeach()
# The C++ wrapper brings what it needs: the library, its headers and C++17.
foreach(kind "" "-static")
  add_executable(hpp${kind} "${CMAKE_CURRENT_LIST_DIR}/wrapper.cpp")
  target_link_libraries(hpp${kind} PRIVATE Treadle::cpp${kind})
endforeach()
add_executable(cf "${CMAKE_CURRENT_LIST_DIR}/cf.c")
target_link_libraries(cf PRIVATE Treadle::cf)
# Plugins, in C and as a class in C++: headers, the macro and the version script, and nothing to link.
add_library(plugin-c MODULE "${CMAKE_CURRENT_LIST_DIR}/../../examples/plugins/watcher.c")
target_compile_definitions(plugin-c PRIVATE _GNU_SOURCE)
add_library(plugin-cpp MODULE "${CMAKE_CURRENT_LIST_DIR}/../../examples/plugins/pulse.cpp")
target_compile_features(plugin-cpp PRIVATE cxx_std_17)
foreach(language c cpp)
  target_link_libraries(plugin-${language} PRIVATE Treadle::plugin)
  set_target_properties(plugin-${language} PROPERTIES PREFIX "")
endforeach()
# Installed programs look for the library beside them.
include(GNUInstallDirs)
set_target_properties(c-shared cf PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
install(TARGETS c-shared cf RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
