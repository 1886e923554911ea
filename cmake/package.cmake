# Install tree: library, headers, CMake package, so that find_package(Switchyard) works.
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/Switchyard")
install(TARGETS switchyard EXPORT SwitchyardTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
foreach(folder switchyard onnxruntime)
  if(EXISTS "${PROJECT_SOURCE_DIR}/include/${folder}")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/${folder}" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
            COMPONENT development FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
install(EXPORT SwitchyardTargets NAMESPACE Switchyard:: DESTINATION ${config_dir} COMPONENT development)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/SwitchyardConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/SwitchyardConfig.cmake" INSTALL_DESTINATION ${config_dir})
# The C++ seam is same-version only.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/SwitchyardConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/SwitchyardConfig.cmake" "${PROJECT_BINARY_DIR}/SwitchyardConfigVersion.cmake"
        DESTINATION ${config_dir} COMPONENT development)
