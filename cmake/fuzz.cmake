# libFuzzer targets: every *_fuzz.cc beside the code or in tests/fuzz becomes fuzz/<name>, linked with the objects of
# all layers. Needs clang.
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "SWITCHYARD_BUILD_FUZZ needs clang")
endif()
file(GLOB_RECURSE fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*_fuzz.cc"
     "${PROJECT_SOURCE_DIR}/tests/*_fuzz.cc")
get_property(layers GLOBAL PROPERTY sy_layers)
list(TRANSFORM layers PREPEND sy_ OUTPUT_VARIABLE objects)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  target_link_libraries(${name} PRIVATE ${objects})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz")
endforeach()
