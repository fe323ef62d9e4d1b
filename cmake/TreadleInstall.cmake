# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# Installs headers, libraries, the CMake package and the pkg-config files, treadle-trace and the pages of the manual. All of it finds
# its parts by relative paths, so the installed tree may be moved; but in /usr, which no one moves, the pkg-config files are absolute.
include(CMakePackageConfigHelpers)
set(treadle_package "${CMAKE_INSTALL_LIBDIR}/cmake/Treadle")
set(treadle_pkgconfig "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

configure_package_config_file(cmake/TreadleConfig.cmake.in TreadleConfig.cmake
  INSTALL_DESTINATION "${treadle_package}"
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(TreadleConfigVersion.cmake COMPATIBILITY SameMajorVersion)

file(RELATIVE_PATH treadle_prefix_from_pc
  "${CMAKE_INSTALL_PREFIX}/${treadle_pkgconfig}" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" treadle_prefix_from_pc "${treadle_prefix_from_pc}")
set(treadle_pc_needs ${treadle_static_needs})
list(REMOVE_ITEM treadle_pc_needs ffi) # which pkg-config asks for itself
list(TRANSFORM treadle_pc_needs PREPEND "-l")
list(JOIN treadle_pc_needs " " treadle_pc_needs)
configure_file(cmake/treadle.pc.in treadle.pc @ONLY)
configure_file(cmake/treadle-cf.pc.in treadle-cf.pc @ONLY)

# What the installation makes besides its files, for the uninstallation.
install(CODE "
  foreach(directory IN ITEMS \"${treadle_package}\" \"${treadle_pkgconfig}\" \"${CMAKE_INSTALL_LIBDIR}/.debug\"
      \"${CMAKE_INSTALL_INCLUDEDIR}/treadle/cpp\" \"${CMAKE_INSTALL_INCLUDEDIR}/treadle/compat/CoreFoundation\"
      \"${CMAKE_INSTALL_INCLUDEDIR}/treadle/compat/mach\"
      \"${CMAKE_INSTALL_DATADIR}/treadle\" \"${CMAKE_INSTALL_MANDIR}/man1\" \"${CMAKE_INSTALL_DOCDIR}\" \"${CMAKE_INSTALL_BINDIR}\" \"${CMAKE_INSTALL_LIBDIR}/treadle\")
    if(NOT IS_ABSOLUTE \"\${directory}\")
      set(directory \"\${CMAKE_INSTALL_PREFIX}/\${directory}\")
    endif()
    set(directory \"\$ENV{DESTDIR}\${directory}\")
    while(directory AND NOT EXISTS \"\${directory}\")
      file(APPEND \"${CMAKE_BINARY_DIR}/install_directories.txt\" \"\${directory}\n\")
      get_filename_component(directory \"\${directory}\" DIRECTORY)
    endwhile()
  endforeach()")
install(FILES "${treadle_shared}" "${treadle_cf_shared}" DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(FILES ${treadle_links} ${treadle_cf_links} "${treadle_static}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(treadle_debug) # where debuggers look for what belongs to a library of this folder
  install(FILES "${treadle_debug}" "${treadle_cf_debug}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/.debug")
endif()
# The program of isolated plugins, which the library finds by its own place.
install(PROGRAMS "${treadle_plugin_process}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/treadle")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES include/treadle.h include/treadle.hpp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
# The glue to other libraries' loops: headers alone, which need that library's.
install(DIRECTORY bindings/glue/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "treadle-*.h" PATTERN "treadle-*.hpp")
install(DIRECTORY include/treadle DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN "plugin.map")
install(DIRECTORY include/compat/CoreFoundation include/compat/mach DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/treadle/compat"
  FILES_MATCHING PATTERN "*.h")
# The module map goes beside the parts, because an include directory is shared with other packages.
install(FILES cmake/module.modulemap DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/treadle")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/TreadleConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/TreadleConfigVersion.cmake"
  DESTINATION "${treadle_package}")
# pkg-config leaves out -I/usr/include, but does not know it by a path that leads up from the file. Compilers must not be given it: as
# -isystem it comes before the headers of C++, which then do not find those of C. The prefix is known at the installation.
install(CODE "
  foreach(name IN ITEMS treadle treadle-cf)
    file(READ \"${CMAKE_CURRENT_BINARY_DIR}/\${name}.pc\" text)
    if(CMAKE_INSTALL_PREFIX MATCHES \"^/+usr/*\$\")
      string(REGEX REPLACE \"^prefix=[^\n]*\" \"prefix=/usr\" text \"\${text}\")
    endif()
    file(WRITE \"${CMAKE_CURRENT_BINARY_DIR}/installed/\${name}.pc\" \"\${text}\")
  endforeach()")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/installed/treadle.pc" "${CMAKE_CURRENT_BINARY_DIR}/installed/treadle-cf.pc"
  DESTINATION "${treadle_pkgconfig}")

# treadle-trace is two files of Python, which must be in one folder; the command is a link to the first.
install(PROGRAMS scripts/treadle-trace DESTINATION "${CMAKE_INSTALL_DATADIR}/treadle")
install(FILES scripts/treadle_traces.py DESTINATION "${CMAKE_INSTALL_DATADIR}/treadle")
file(RELATIVE_PATH treadle_trace "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_DATADIR}/treadle/treadle-trace")
file(CREATE_LINK "${treadle_trace}" "${CMAKE_CURRENT_BINARY_DIR}/treadle-trace" SYMBOLIC)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/treadle-trace" DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES docs/man/treadle-host.1 docs/man/treadle-trace.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")

# In a project that contains Treadle the manifest names what is the project's own, too.
if(top_level)
  configure_file(cmake/uninstall.cmake.in uninstall.cmake @ONLY)
  add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_BINARY_DIR}/uninstall.cmake" VERBATIM)
endif()
