# convtgen_embed(<target> NAMESPACE <ns> FILES <name>=<path>...)
# Makes each file a std::string_view `<ns>::<name>()` of the target, through .incbin: the bytes as they stand.
# The declarations are in "<target>_embedded.h", which who links the target can include too.
function(convtgen_embed target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAMESPACE" "FILES")
  if(NOT arg_NAMESPACE OR NOT arg_FILES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "convtgen_embed(${target}): needs NAMESPACE and FILES name=path...; got '${ARGN}'")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded)
  set(header "// Embedded files; made by convtgen_embed.\n#pragma once\n#include <string_view>\nnamespace ${arg_NAMESPACE} {\n")
  set(source "#include \"${target}_embedded.h\"\n")
  set(paths "")
  foreach(entry IN LISTS arg_FILES)
    string(REGEX MATCH "^([a-z0-9_]+)=(.+)$" matched "${entry}")
    if(NOT matched)
      message(FATAL_ERROR "convtgen_embed(${target}): '${entry}' is not name=path")
    endif()
    set(name ${CMAKE_MATCH_1})
    get_filename_component(path ${CMAKE_MATCH_2} ABSOLUTE)
    list(APPEND paths ${path})
    string(APPEND header "std::string_view ${name}();\n")
    set(symbol ${target}_${name})
    string(APPEND source
      "__asm__(\".section .rodata\\n\"\n"
      "        \"${symbol}_begin:\\n\"\n"
      "        \".incbin \\\"${path}\\\"\\n\"\n"
      "        \"${symbol}_end:\\n\"\n"
      "        \".byte 0\\n\"\n"
      "        \".previous\\n\");\n"
      "extern \"C\" __attribute__((visibility(\"hidden\"))) const char ${symbol}_begin[], ${symbol}_end[];\n"
      "namespace ${arg_NAMESPACE} {\n"
      "std::string_view ${name}() { return {${symbol}_begin, static_cast<std::size_t>(${symbol}_end - ${symbol}_begin)}; }\n"
      "}  // namespace ${arg_NAMESPACE}\n")
  endforeach()
  string(APPEND header "}  // namespace ${arg_NAMESPACE}\n")
  file(CONFIGURE OUTPUT ${folder}/${target}_embedded.h CONTENT "${header}" @ONLY)
  file(CONFIGURE OUTPUT ${folder}/${target}_embedded.cpp CONTENT "${source}" @ONLY)
  # The assembler reads the files unseen by the compiler's own dependency scan. CMake ignores OBJECT_DEPENDS of a file
  # that it joins with others (CMAKE_UNITY_BUILD).
  set_source_files_properties(${folder}/${target}_embedded.cpp PROPERTIES
    OBJECT_DEPENDS "${paths}" SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${target} PRIVATE ${folder}/${target}_embedded.cpp)
  target_include_directories(${target} PUBLIC ${folder})
endfunction()
