# Compiler, linker and launcher settings shared by every target of the tree.
#
#   sy_flags            interface target that every target links
#   sy_set_isa_flags()  per-file instruction-set flags, chosen by the file's name

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(SWITCHYARD_CCACHE ccache)
  if(SWITCHYARD_CCACHE)
    # base_dir makes worktrees share hits; the sloppiness is what precompiled headers need.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=1;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${SWITCHYARD_CCACHE}")
  endif()
endif()

find_program(SWITCHYARD_MOLD mold)

add_library(sy_flags INTERFACE)
# One code model for objects, executables and the shared library, so that they share precompiled headers.
target_compile_options(sy_flags INTERFACE -fPIC -pthread -Wall -Wextra -Wshadow -fno-math-errno -ffp-contract=off)
if(SWITCHYARD_WERROR)
  target_compile_options(sy_flags INTERFACE -Werror)
endif()
if(SWITCHYARD_MOLD)
  target_link_options(sy_flags INTERFACE -fuse-ld=mold)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside libstdc++ for correct code at -O2.
  target_compile_options(sy_flags INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow
                                            -Wno-stringop-overread -Wno-array-bounds -Wno-restrict)
endif()
if(SWITCHYARD_SANITIZE)
  target_compile_options(sy_flags INTERFACE -fsanitize=${SWITCHYARD_SANITIZE} -fno-omit-frame-pointer -g1)
  target_link_options(sy_flags INTERFACE -fsanitize=${SWITCHYARD_SANITIZE})
  if(SWITCHYARD_SANITIZE MATCHES "undefined")
    target_compile_options(sy_flags INTERFACE -fno-sanitize-recover=all)
    if(NOT SWITCHYARD_SANITIZE_ALL)
      # These two double the compile time (g++ 12: 17 s against 10 s for a 300-line file).
      target_compile_options(sy_flags INTERFACE -fno-sanitize=null,alignment)
    endif()
  endif()
endif()

if(SWITCHYARD_BUILD_FUZZ)
  target_compile_options(sy_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" _sy_cpu)
if(_sy_cpu MATCHES "^(x86_64|amd64)$")
  set(SWITCHYARD_X86 ON)
endif()
set(SWITCHYARD_AVX2_FLAGS -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt)
set(SWITCHYARD_AVX512_FLAGS ${SWITCHYARD_AVX2_FLAGS} -mavx512f -mavx512bw -mavx512vl -mavx512dq
                            -mprefer-vector-width=512)
set(SWITCHYARD_AVX512VNNI_FLAGS ${SWITCHYARD_AVX512_FLAGS} -mavx512vnni)

# A file named *_avx2.cc, *_avx512.cc or *_avx512vnni.cc is compiled for that level; elsewhere than on x86 it is left
# out of the list.
function(sy_set_isa_flags sources_variable)
  set(kept)
  foreach(source IN LISTS ${sources_variable})
    if(source MATCHES "_(avx2|avx512|avx512vnni)\\.cc$")
      if(NOT SWITCHYARD_X86)
        continue()
      endif()
      if(CMAKE_MATCH_1 STREQUAL "avx2")
        set(flags ${SWITCHYARD_AVX2_FLAGS})
      elseif(CMAKE_MATCH_1 STREQUAL "avx512vnni")
        set(flags ${SWITCHYARD_AVX512VNNI_FLAGS})
      else()
        set(flags ${SWITCHYARD_AVX512_FLAGS})
      endif()
      # Precompiled headers are built for the baseline, and these files use no standard templates anyway.
      set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "${flags}"
                                                         SKIP_PRECOMPILE_HEADERS ON)
    endif()
    if(source MATCHES "/math/vec_[a-z0-9_]+\\.cc$" AND NOT source MATCHES "_test\\.cc$")
      # Plain loops that the compiler is to vectorise: -O2 of g++ 12 leaves out most of them.
      set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3;-fno-trapping-math>"
                                                         SKIP_PRECOMPILE_HEADERS ON)
    endif()
    list(APPEND kept "${source}")
  endforeach()
  set(${sources_variable} "${kept}" PARENT_SCOPE)
endfunction()

set(SWITCHYARD_PCH_HEADERS
    <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <mutex>
    <numeric> <optional> <span> <string> <string_view> <tuple> <type_traits> <unordered_map>
    <unordered_set> <utility> <variant> <vector>)

# Gives a target the shared precompiled standard headers.
function(sy_use_pch target)
  if(NOT SWITCHYARD_PCH)
    return()
  endif()
  if(NOT TARGET sy_pch)
    file(WRITE "${PROJECT_BINARY_DIR}/generated/pch.cc" "")
    add_library(sy_pch OBJECT "${PROJECT_BINARY_DIR}/generated/pch.cc")
    target_link_libraries(sy_pch PRIVATE sy_flags)
    target_precompile_headers(sy_pch PRIVATE ${SWITCHYARD_PCH_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM sy_pch)
endfunction()

# The same for tests, with googletest in front of everything.
function(sy_use_test_pch target)
  if(NOT SWITCHYARD_PCH)
    return()
  endif()
  if(NOT TARGET sy_test_pch)
    file(WRITE "${PROJECT_BINARY_DIR}/generated/test_pch.cc" "")
    add_library(sy_test_pch OBJECT "${PROJECT_BINARY_DIR}/generated/test_pch.cc")
    target_link_libraries(sy_test_pch PRIVATE sy_flags GTest::gtest)
    target_precompile_headers(sy_test_pch PRIVATE ${SWITCHYARD_PCH_HEADERS} <gtest/gtest.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM sy_test_pch)
endfunction()
