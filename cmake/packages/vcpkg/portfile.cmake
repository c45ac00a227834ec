# A port of vcpkg that builds the source archive, which lies next to this file:
#   vcpkg install convtgen --overlay-ports=<the folder of this one>
# Untested: no registry has taken it, and nobody has built it.
set(VCPKG_POLICY_DLLS_IN_STATIC_LIBRARY enabled)  # both libraries are built
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${CMAKE_CURRENT_LIST_DIR}/convtgen-${VERSION}.tar.gz")
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DCONVTGEN_TESTS=OFF -DCONVTGEN_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/convtgen)
vcpkg_copy_tools(TOOL_NAMES convtgen AUTO_CLEAN)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
