# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# The plugin treadle-python-plugin, which makes files of Python plugins of any host; left out where libpython's development
# files are not there. It links nothing of Treadle.
find_package(Python3 COMPONENTS Interpreter Development.Embed)
if(NOT Python3_Development.Embed_FOUND OR NOT Python3_Interpreter_FOUND)
  message(STATUS "There is no libpython: treadle-python-plugin is left out")
  return()
endif()
# The interpreter itself: not that of a venv, nor a script that looks for it.
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys._base_executable)"
  OUTPUT_VARIABLE treadle_python OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
add_library(treadle-python-plugin MODULE bindings/python/plugin/treadle_python_plugin.c)
add_dependencies(treadle-python-plugin treadle_machine)
set_source_files_properties(bindings/python/plugin/treadle_python_plugin.c PROPERTIES OBJECT_DEPENDS "${treadle_machine}")
target_include_directories(treadle-python-plugin PRIVATE include)
target_link_libraries(treadle-python-plugin PRIVATE Python3::Python)
target_compile_definitions(treadle-python-plugin PRIVATE
  _GNU_SOURCE TREADLE_PLUGIN "TREADLE_PYTHON_PROGRAM=\"${treadle_python}\"")
set_target_properties(treadle-python-plugin PROPERTIES
  PREFIX "" C_STANDARD 11 C_STANDARD_REQUIRED ON C_VISIBILITY_PRESET hidden INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS treadle-python-plugin LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/treadle")
install(FILES bindings/python/plugin/treadle_python.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
