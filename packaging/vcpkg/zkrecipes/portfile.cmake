# The C and C++ library, of the checkout that this port is in. It needs cargo, which vcpkg has not.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# One build: what is shipped has no variant for debugging.
set(VCPKG_BUILD_TYPE release)
# Shared and static stand side by side, as zkrecipes::zkrecipes and zkrecipes::static. The files of CMake find both from where they are.
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)
vcpkg_execute_required_process(
    COMMAND "${SOURCE_PATH}/ffi/install.sh" PREFIX=/ "DESTDIR=${CURRENT_PACKAGES_DIR}" PROFILE=release
    WORKING_DIRECTORY "${SOURCE_PATH}"
    LOGNAME "install-${TARGET_TRIPLET}")
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
