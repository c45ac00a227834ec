# Every library the project builds with, found in one place. With CONVTGEN_STATIC their static forms.
if(CONVTGEN_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(Boost_USE_STATIC_LIBS ON)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
find_library(CONVTGEN_SODIUM NAMES sodium REQUIRED)
find_path(CONVTGEN_SODIUM_INCLUDE sodium.h REQUIRED)
find_path(CONVTGEN_PROTOZERO_INCLUDE protozero/pbf_reader.hpp REQUIRED)

# Debian's fmt comes without a static library.
set(CONVTGEN_FMT fmt::fmt)
if(CONVTGEN_STATIC)
  set(CONVTGEN_FMT fmt::fmt-header-only)
endif()
add_library(convtgen_fmt INTERFACE)
target_link_libraries(convtgen_fmt INTERFACE ${CONVTGEN_FMT})

add_library(convtgen_sodium INTERFACE)
target_include_directories(convtgen_sodium SYSTEM INTERFACE ${CONVTGEN_SODIUM_INCLUDE})
target_link_libraries(convtgen_sodium INTERFACE ${CONVTGEN_SODIUM})

# Headers alone.
add_library(convtgen_protozero INTERFACE)
target_include_directories(convtgen_protozero SYSTEM INTERFACE ${CONVTGEN_PROTOZERO_INCLUDE})
