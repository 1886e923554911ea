# Runs a text reader and compares its text with the expected one, spaces and line breaks ignored:
#   cmake -DREADER=program;argument... -DEXPECTED=file -P check_text.cmake
execute_process(COMMAND ${READER} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
file(READ "${EXPECTED}" expected)
string(REGEX REPLACE "[ \n\r\t]" "" text_characters "${text}")
string(REGEX REPLACE "[ \n\r\t]" "" expected_characters "${expected}")
if(NOT text_characters STREQUAL expected_characters)
  message(FATAL_ERROR "expected:\n${expected}\ngot:\n${text}")
endif()
