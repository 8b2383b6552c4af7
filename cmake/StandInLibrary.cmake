# cmake -DOUTPUT=FILE.S -DEXPORTS=exports.txt -DINTERCEPTS=intercepts.inc -DPROCESSOR=x86_64
#   -P StandInLibrary.cmake
# Writes the entry points of a stand-in library (shim/forward.hpp): for each exported name that is not intercepted
# a few instructions that go on in the driver's own function. Beside it FILE.map, the linker's list of exports.

cmake_minimum_required(VERSION 3.25)
file(STRINGS ${EXPORTS} names)
file(STRINGS ${INTERCEPTS} lines REGEX "^TANGRAM_INTERCEPT\\(")
set(intercepted "")
foreach(line ${lines})
  string(REGEX REPLACE "^TANGRAM_INTERCEPT\\(([A-Za-z0-9_]+)\\).*" "\\1" name "${line}")
  if(NOT name IN_LIST names)
    message(FATAL_ERROR "${name} is intercepted, but it is not in ${EXPORTS}")
  endif()
  list(APPEND intercepted ${name})
endforeach()

set(exports "")
set(entries "")
set(strings "")
set(offsets "")
set(index 0)
foreach(name ${names})
  string(APPEND exports "    ${name};\n")
  if(NOT name IN_LIST intercepted)
    string(APPEND entries "  FORWARD ${name} ${index}\n")
    string(APPEND strings "name_${index}: .asciz \"${name}\"\n")
    string(APPEND offsets "  .long name_${index} - tangram_forward_names\n")
    math(EXPR index "${index} + 1")
  endif()
endforeach()

file(WRITE ${OUTPUT}.map "{\n  global:\n${exports}  local: *;\n};\n")
file(WRITE ${OUTPUT} "# Made by cmake/StandInLibrary.cmake.
#include \"shim/forward_${PROCESSOR}.inc\"
.text
${entries}
.bss
.hidden tangram_forward_targets
.globl tangram_forward_targets
.p2align 3
tangram_forward_targets: .zero 8 * ${index}

.section .rodata
.hidden tangram_forward_names
.globl tangram_forward_names
tangram_forward_names:
${strings}
.hidden tangram_forward_offsets
.globl tangram_forward_offsets
.p2align 2
tangram_forward_offsets:
${offsets}
.section .note.GNU-stack, \"\", @progbits
")
