# convtgen_check_before_install(<component> [EXCLUDE_FROM_ALL] FILES <file>...)
# Installing the component fails before it copies anything, unless all these files were built. To be called above the
# rules that install them: rules run in their order. Files may have generator expressions.
function(convtgen_check_before_install component)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EXCLUDE_FROM_ALL" "" "FILES")
  set(code "set(convtgen_missing \"\")\n")
  foreach(file IN LISTS arg_FILES)
    string(APPEND code "if(NOT EXISTS [==[${file}]==])\n  string(APPEND convtgen_missing [==[\n  ${file}]==])\nendif()\n")
  endforeach()
  string(APPEND code "if(convtgen_missing)\n"
                     "  message(FATAL_ERROR \"nothing is installed: the build is not complete, it lacks\${convtgen_missing}\\n\"\n"
                     "                      \"Run first: cmake --build \" [==[\"${PROJECT_BINARY_DIR}\"]==])\n"
                     "endif()")
  set(others "")
  if(arg_EXCLUDE_FROM_ALL)
    set(others EXCLUDE_FROM_ALL)
  endif()
  install(CODE "${code}" COMPONENT ${component} ${others})
endfunction()
