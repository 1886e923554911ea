# A text file that becomes a function of a target: std::string_view switchyard::<NAME>().
#
#   sy_embed_text(TARGET target FILE file NAME function HEADER header)
function(sy_embed_text)
  cmake_parse_arguments(arg "" "TARGET;FILE;NAME;HEADER" "" ${ARGN})
  set(path "${CMAKE_CURRENT_SOURCE_DIR}/${arg_FILE}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
  file(READ "${path}" text)
  set(output "${PROJECT_BINARY_DIR}/generated/embedded_${arg_NAME}.cc")
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT
"#include \"${arg_HEADER}\"

namespace switchyard {
std::string_view ${arg_NAME}() { return R\"embedded(${text})embedded\"; }
}  // namespace switchyard
")
  target_sources(${arg_TARGET} PRIVATE "${output}")
endfunction()
