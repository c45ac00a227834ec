# What `cmake --install` puts where, all or nothing. Components: generator (the program), runtime (the shared library), development (the rest).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/convtgen)
set(made ${PROJECT_BINARY_DIR}/package)

# The completions, which the program prints itself. Each stands with its folder below share.
set(completions "")
set(entries "")
if(NOT CMAKE_CROSSCOMPILING)
  set(entries bash=bash-completion/completions/convtgen zsh=zsh/site-functions/_convtgen fish=fish/vendor_completions.d/convtgen.fish)
endif()
foreach(entry IN LISTS entries)
  string(REGEX REPLACE "^[a-z]+=" ${made}/ script ${entry})
  list(APPEND completions ${script})
endforeach()

# Nothing is installed of a tree that was built in part.
convtgen_check_before_install(generator FILES $<TARGET_FILE:convtgen> ${completions})
if(TARGET convtgen_shared)
  convtgen_check_before_install(runtime FILES $<TARGET_FILE:convtgen_shared>)
endif()
convtgen_check_before_install(development FILES $<TARGET_FILE:convtgen_static>)

install(TARGETS convtgen EXPORT convtgen_cli RUNTIME COMPONENT generator)
install(EXPORT convtgen_cli DESTINATION ${package} NAMESPACE convtgen:: FILE convtgenCli.cmake COMPONENT development)
if(NOT CMAKE_CROSSCOMPILING)
  foreach(entry IN LISTS entries)
    string(REGEX MATCH "^([a-z]+)=(.+)/([^/]+)$" matched ${entry})
    set(shell ${CMAKE_MATCH_1})
    set(script ${made}/${CMAKE_MATCH_2}/${CMAKE_MATCH_3})
    file(MAKE_DIRECTORY ${made}/${CMAKE_MATCH_2})
    add_custom_command(OUTPUT ${script} COMMAND convtgen completion ${shell} > ${script} DEPENDS convtgen
                       COMMENT "Making the completion for ${shell}" VERBATIM)
    install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_2} COMPONENT generator)
  endforeach()
  add_custom_target(convtgen_completions ALL DEPENDS ${completions})
endif()

# The libraries; a static one has to be asked for, and brings its dependencies.
if(TARGET convtgen_shared)
  install(TARGETS convtgen_shared EXPORT convtgen_shared
          LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
          INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT convtgen_shared DESTINATION ${package} NAMESPACE convtgen:: FILE convtgenShared.cmake COMPONENT development)
endif()
install(TARGETS convtgen_static EXPORT convtgen_static
        ARCHIVE COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT convtgen_static DESTINATION ${package} NAMESPACE convtgen:: FILE convtgenStatic.cmake COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/convtgen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# The CMake package.
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/convtgenConfig.cmake.in ${made}/convtgenConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${made}/convtgenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${made}/convtgenConfig.cmake ${made}/convtgenConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/ConvtgenAddKernels.cmake ${CMAKE_CURRENT_LIST_DIR}/ConvtgenArchitectures.cmake
              ${CMAKE_CURRENT_LIST_DIR}/ConvtgenLayers.cmake
        DESTINATION ${package} COMPONENT development)

# pkg-config. Requires.private would ask for the dependencies' files where only the shared library is used, too.
set(private_libraries "-lsodium -lboost_context -lstdc++ -lpthread -ldl -lm")
if(NOT CONVTGEN_STATIC)
  string(PREPEND private_libraries "-lfmt ")
endif()
set(public_libraries "")
if(NOT TARGET convtgen_shared)
  set(public_libraries " ${private_libraries}")
endif()
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/convtgen.pc.in ${made}/convtgen.pc @ONLY)
install(FILES ${made}/convtgen.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# `uninstall` removes what installations from this build folder wrote down, and the folders that this leaves empty.
if(PROJECT_IS_TOP_LEVEL)
  install(CODE "file(APPEND \"${PROJECT_BINARY_DIR}/install_prefixes.txt\" \"\${CMAKE_INSTALL_PREFIX}\\n\")" ALL_COMPONENTS)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake VERBATIM)
endif()
