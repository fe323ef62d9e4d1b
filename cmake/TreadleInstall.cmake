# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
# Installs headers, libraries, the CMake package and the pkg-config file. All of it finds its parts by
# relative paths, so the installed tree may be moved.
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
list(TRANSFORM treadle_static_needs PREPEND "-l" OUTPUT_VARIABLE treadle_pc_needs)
list(JOIN treadle_pc_needs " " treadle_pc_needs)
configure_file(cmake/treadle.pc.in treadle.pc @ONLY)
configure_file(cmake/treadle-cf.pc.in treadle-cf.pc @ONLY)

# What the installation makes besides its files, for the uninstallation.
install(CODE "
  foreach(directory IN ITEMS \"${treadle_package}\" \"${treadle_pkgconfig}\" \"${CMAKE_INSTALL_LIBDIR}/.debug\"
      \"${CMAKE_INSTALL_INCLUDEDIR}/treadle/cpp\" \"${CMAKE_INSTALL_INCLUDEDIR}/treadle/compat/CoreFoundation\"
      \"${CMAKE_INSTALL_INCLUDEDIR}/treadle/compat/mach\"
      \"${CMAKE_INSTALL_DOCDIR}\" \"${CMAKE_INSTALL_BINDIR}\" \"${CMAKE_INSTALL_LIBDIR}/treadle\")
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
if(TREADLE_SYMBOLS) # where debuggers look for what belongs to a library of this folder
  install(FILES "${treadle_debug}" "${treadle_cf_debug}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/.debug")
endif()
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
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/treadle.pc" "${CMAKE_CURRENT_BINARY_DIR}/treadle-cf.pc" DESTINATION "${treadle_pkgconfig}")

# In a project that contains Treadle the manifest names what is the project's own, too.
if(top_level)
  configure_file(cmake/uninstall.cmake.in uninstall.cmake @ONLY)
  add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_BINARY_DIR}/uninstall.cmake" VERBATIM)
endif()
