# A layer is a folder: its sources (sub-folders included) become the object library `sy_<name>`, the `*_test.cc`
# beside them and the files of folders named testing the executable `<name>_test`, which links the objects of the
# layer and of the layers below it.
#
#   sy_layer(base [DIR folder] [DEPS layers...] [LIBS libraries...] [EXCLUDE folders...])

function(sy_layer name)
  cmake_parse_arguments(arg "" "DIR" "DEPS;LIBS;EXCLUDE" ${ARGN})
  if(NOT arg_DIR)
    set(arg_DIR "${name}")
  endif()
  set(dir "${CMAKE_CURRENT_SOURCE_DIR}/${arg_DIR}")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${dir}/*.cc")
  foreach(folder IN LISTS arg_EXCLUDE)
    list(FILTER files EXCLUDE REGEX "/${arg_DIR}/${folder}/")
  endforeach()
  set(sources ${files})
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$|/testing/")
  set(tests ${files})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$|/testing/[^/]*\\.cc$")
  sy_set_isa_flags(sources)
  if(NOT sources)
    # A layer without code yet still is a target, so that the layers above can name it.
    set(sources "${PROJECT_BINARY_DIR}/generated/empty_${name}.cc")
    file(CONFIGURE OUTPUT "${sources}" CONTENT "" @ONLY)
  endif()

  add_library(sy_${name} OBJECT ${sources})
  target_include_directories(sy_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(sy_${name} PUBLIC sy_flags sy_fmt Threads::Threads ${arg_LIBS})
  sy_use_pch(sy_${name})

  set(closure ${name})
  foreach(dep IN LISTS arg_DEPS)
    get_property(below GLOBAL PROPERTY sy_closure_${dep})
    list(APPEND closure ${below})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set_property(GLOBAL PROPERTY sy_closure_${name} "${closure}")
  set_property(GLOBAL APPEND PROPERTY sy_layers ${name})

  if(SWITCHYARD_BUILD_TESTS AND tests)
    set_property(GLOBAL APPEND PROPERTY sy_layer_tests_${name} ${tests})
    list(TRANSFORM closure PREPEND sy_ OUTPUT_VARIABLE objects)
    sy_test(${name}_test SOURCES ${tests} LIBS ${objects} LABELS unit ${name})
  endif()
endfunction()

#   sy_test(name SOURCES files... [LIBS libraries...] [LABELS labels...])
function(sy_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS;LABELS" ${ARGN})
  sy_set_isa_flags(arg_SOURCES)
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${name} PRIVATE SWITCHYARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE sy_flags ${arg_LIBS} GTest::gtest GTest::gtest_main GTest::gmock)
  sy_use_test_pch(${name})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 DISCOVERY_MODE PRE_TEST
                       TEST_PREFIX "${name}." WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                       PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300)
endfunction()
