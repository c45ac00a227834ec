# Compiler settings that every target of the project shares: variables of this folder, which a parent project does not
# see, and the interface target convtgen_options.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

add_library(convtgen_options INTERFACE)
target_include_directories(convtgen_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(convtgen_options INTERFACE -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(convtgen_options INTERFACE -Wno-deprecated-declarations)  # of libstdc++ 12 in its own std::stable_sort
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Joined files are large: GCC takes up to a seventh less where it looks later for memory to use again.
  target_compile_options(convtgen_options INTERFACE --param=ggc-min-heapsize=524288)
endif()
if(CONVTGEN_WERROR)
  target_compile_options(convtgen_options INTERFACE -Werror)
endif()
if(CONVTGEN_SANITIZE)
  # -fsanitize=address says nothing to the preprocessor in Clang 19: tests that differ ask CONVTGEN_SANITIZED.
  target_compile_definitions(convtgen_options INTERFACE CONVTGEN_SANITIZED)
  target_compile_options(convtgen_options INTERFACE -fsanitize=${CONVTGEN_SANITIZE} -fno-sanitize-recover=all
                                                    -fno-omit-frame-pointer)
  target_link_options(convtgen_options INTERFACE -fsanitize=${CONVTGEN_SANITIZE})
endif()
if(CONVTGEN_COVERAGE)
  target_compile_options(convtgen_options INTERFACE --coverage -O0)
  target_link_options(convtgen_options INTERFACE --coverage)
endif()
if(CONVTGEN_STATIC_LIBSTDCXX)
  target_link_options(convtgen_options INTERFACE -static-libstdc++ -static-libgcc)
endif()
