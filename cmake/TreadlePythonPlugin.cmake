# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# The plugin treadle-python-plugin, which makes files of Python plugins of any host; left out where libpython's development
# files are not there. It links nothing of Treadle.
#
# TREADLE_PYTHON chooses the interpreter. By default that is the system's, not one that comes first in somebody's PATH.
find_program(TREADLE_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH DOC "The Python that the plugin is built for")
find_program(TREADLE_PYTHON python3)
# What it says of itself: the interpreter, not that of a venv, nor a script that looks for it; its headers, and its library. It is asked
# by each configuration, so that another choice, or another version, is seen.
set(treadle_question "import os, sys, sysconfig as s; print(sys._base_executable, s.get_path('include'), \
os.path.join(s.get_config_var('LIBDIR') or '', s.get_config_var('LDLIBRARY') or ''), sep=';')")
set(treadle_python "")
if(TREADLE_PYTHON)
  execute_process(COMMAND "${TREADLE_PYTHON}" -c "${treadle_question}"
    OUTPUT_VARIABLE treadle_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
list(LENGTH treadle_python treadle_answers)
if(treadle_answers EQUAL 3)
  list(GET treadle_python 2 treadle_libpython)
  list(GET treadle_python 1 treadle_python_headers)
  list(GET treadle_python 0 treadle_python)
endif()
if(NOT EXISTS "${treadle_python_headers}/Python.h" OR NOT EXISTS "${treadle_libpython}" OR NOT treadle_libpython MATCHES "\\.so")
  message(STATUS "There is no libpython of ${TREADLE_PYTHON}: treadle-python-plugin is left out")
  return()
endif()
add_library(treadle-python-plugin MODULE bindings/python/plugin/treadle_python_plugin.c)
add_dependencies(treadle-python-plugin treadle_machine)
set_source_files_properties(bindings/python/plugin/treadle_python_plugin.c PROPERTIES OBJECT_DEPENDS "${treadle_machine}")
target_include_directories(treadle-python-plugin SYSTEM PRIVATE "${treadle_python_headers}")
target_link_libraries(treadle-python-plugin PRIVATE Treadle::plugin "${treadle_libpython}")
target_compile_definitions(treadle-python-plugin PRIVATE _GNU_SOURCE "TREADLE_PYTHON_PROGRAM=\"${treadle_python}\"")
set_target_properties(treadle-python-plugin PROPERTIES PREFIX "" C_STANDARD 11 C_STANDARD_REQUIRED ON C_VISIBILITY_PRESET hidden)
# The plugin says where libpython is if the loader does not know. But somebody's home folder is not named: others would load what
# its owner puts there.
string(FIND "${treadle_libpython}" "$ENV{HOME}/" treadle_in_home)
if(treadle_libpython MATCHES "^(/home|/root)/" OR (treadle_in_home EQUAL 0 AND NOT "$ENV{HOME}" STREQUAL ""))
  message(STATUS "${treadle_libpython} is in a home folder, which treadle-python-plugin does not name: the loader must be told, as by "
    "LD_LIBRARY_PATH. TREADLE_PYTHON chooses another Python")
else()
  get_filename_component(treadle_libpython "${treadle_libpython}" DIRECTORY)
  if(NOT treadle_libpython IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    set_target_properties(treadle-python-plugin PROPERTIES INSTALL_RPATH "${treadle_libpython}")
  endif()
endif()
install(TARGETS treadle-python-plugin LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/treadle" COMPONENT plugin)
install(FILES bindings/python/plugin/treadle_python.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
