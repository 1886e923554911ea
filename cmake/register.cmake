# Registered by existing: every source of a registering folder offers `Register(REGISTRY&)` in the namespace
# `<folder namespace>::<file name>`; the generated file calls them all, in the order of their names.
#
#   sy_register_folder(TARGET target FOLDER kernels NAMESPACE switchyard::cpu::kernels
#                      REGISTRY switchyard::KernelRegistry HEADER switchyard/ep/kernel_registry.h)
#
# makes `void switchyard::cpu::kernels::RegisterAll(switchyard::KernelRegistry&)`; who calls it declares it. HEADER
# declares the registry. Not registering: tests, benchmarks, files of one instruction set, and whatever lies in a
# sub-folder. A file that forgets its Register fails at link time under its own name.
#
#   sy_register_names(... NAMES names... PARENT namespace)
#
# is the same for given names: `<parent>::<name>::Register(REGISTRY&)`.

set(SWITCHYARD_RESERVED_NAMES
    and and_eq asm auto bitand bitor bool break case catch char class compl concept const continue default delete
    do double else enum explicit export extern false float for friend goto if inline int long mutable namespace new
    not not_eq operator or or_eq private protected public register requires return short signed sizeof static
    struct switch template this throw true try typedef typename union unsigned using virtual void volatile while
    xor xor_eq)

function(sy_register_folder)
  cmake_parse_arguments(arg "" "TARGET;FOLDER;NAMESPACE;REGISTRY;HEADER" "" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER}/*.cc")
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz|avx2|avx512|avx512vnni)\\.cc$")
  list(SORT sources)
  set(names)
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    if(NOT name MATCHES "^[a-z][a-z0-9_]*$" OR name IN_LIST SWITCHYARD_RESERVED_NAMES)
      message(FATAL_ERROR "${source}: a registering file's name is a namespace; '${name}' can't be one")
    endif()
    list(APPEND names ${name})
  endforeach()
  sy_register_names(TARGET ${arg_TARGET} NAMES ${names} NAMESPACE ${arg_NAMESPACE} PARENT ${arg_NAMESPACE}
                    REGISTRY ${arg_REGISTRY} HEADER ${arg_HEADER})
endfunction()

function(sy_register_names)
  cmake_parse_arguments(arg "" "TARGET;NAMESPACE;PARENT;REGISTRY;HEADER" "NAMES" ${ARGN})
  if(NOT arg_NAMES AND NOT EXISTS "${PROJECT_SOURCE_DIR}/include/${arg_HEADER}")
    # An empty folder is built before its registry exists.
    return()
  endif()
  set(parameter "registry")
  if(NOT arg_NAMES)
    set(parameter "")
  endif()
  set(declarations "")
  set(calls "")
  foreach(name IN LISTS arg_NAMES)
    string(APPEND declarations "namespace ${arg_PARENT}::${name} {\nvoid Register(${arg_REGISTRY}& registry);\n}\n")
    string(APPEND calls "  ${arg_PARENT}::${name}::Register(registry);\n")
  endforeach()
  string(CONCAT content
    "#include \"${arg_HEADER}\"\n\n${declarations}\nnamespace ${arg_NAMESPACE} {\n"
    "void RegisterAll(${arg_REGISTRY}& registry);\n"
    "void RegisterAll(${arg_REGISTRY}& ${parameter}) {\n${calls}}\n}  // namespace ${arg_NAMESPACE}\n")

  string(REPLACE "::" "_" file_name "${arg_NAMESPACE}")
  set(generated "${PROJECT_BINARY_DIR}/generated/register_${file_name}.cc")
  file(CONFIGURE OUTPUT "${generated}" CONTENT "${content}" @ONLY)
  target_sources(${arg_TARGET} PRIVATE "${generated}")
endfunction()
