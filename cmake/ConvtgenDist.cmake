# `dist`: the source archive, of what is committed; the same bytes from every checkout of the commit.
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  set(name ${PROJECT_NAME}-${PROJECT_VERSION})
  add_custom_target(dist
    COMMAND ${GIT_EXECUTABLE} -c "tar.tar.gz.command=gzip -cn" archive --format=tar.gz --prefix=${name}/
            -o ${PROJECT_BINARY_DIR}/${name}.tar.gz HEAD
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Archiving the last commit as ${name}.tar.gz" VERBATIM)
endif()
