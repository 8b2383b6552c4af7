# tangram_driver_stubs(<file.S> MARK FAKE_CUDA RESULT 801 SOURCES ...): for a libcuda.so.1 of our own. Writes a function
# that only returns the result for every exported name of shim/cuda/exports.txt that the sources do not define, in lines
# that begin with the mark.
function(tangram_driver_stubs output)
  cmake_parse_arguments(ARG "" "MARK;RESULT" "SOURCES" ${ARGN})
  set(names ${PROJECT_SOURCE_DIR}/shim/cuda/exports.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${names} ${ARG_SOURCES})
  set(own "")
  foreach(source ${ARG_SOURCES})
    file(STRINGS ${source} lines REGEX "^${ARG_MARK} ")
    list(APPEND own ${lines})
  endforeach()
  list(TRANSFORM own REPLACE ".*CUresult ([A-Za-z0-9_]+).*" "\\1")
  file(STRINGS ${names} all)
  set(stubs ".text\n")
  foreach(name ${all})
    if(NOT name IN_LIST own)
      string(APPEND stubs ".globl ${name}\n.type ${name}, @function\n.p2align 4\n"
        "${name}: movl $${ARG_RESULT}, %eax\n ret\n")
    endif()
  endforeach()
  file(WRITE ${output} "${stubs}.section .note.GNU-stack, \"\", @progbits\n")
endfunction()
