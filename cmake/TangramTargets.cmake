include_guard(GLOBAL)
include(GoogleTest)

set(TANGRAM_SANITIZE "" CACHE STRING "Sanitizers, comma-separated: address,undefined or thread")
option(TANGRAM_COVERAGE "Instrument for gcov" OFF)
option(TANGRAM_FUZZ "Build the libFuzzer targets (needs clang++)" OFF)
option(TANGRAM_FUZZ_COVERAGE "Build them to measure what their inputs reach" OFF)
option(TANGRAM_E2E "Build the tests that need a cluster" ON)
option(TANGRAM_PACKAGE "Build for a release: the same bytes from every folder, and hardened" OFF)

# Warnings for our code only; third-party headers are SYSTEM.
add_library(tangram_options INTERFACE)
target_compile_options(tangram_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wimplicit-fallthrough -Wswitch-enum)
# Undefined behaviour ends the program; otherwise it is a line on stderr of a test that passes. "vptr" is
# excepted: it probes memory through a pipe and reports false faults when no descriptors are left.
set(stop_at_findings -fno-sanitize-recover=all -fsanitize-recover=vptr)
if(TANGRAM_SANITIZE)
  add_compile_options(-fsanitize=${TANGRAM_SANITIZE} ${stop_at_findings} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TANGRAM_SANITIZE})
endif()
if(TANGRAM_FUZZ)
  # Without "function": clang 14 cannot assemble the code that it generates for it in coroutines.
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize=function)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
if(TANGRAM_FUZZ_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
if(TANGRAM_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
endif()
if(TANGRAM_PACKAGE)
  # Debian's own flags for programs that face a network, but for those that the preset "release" has,
  # too: _FORTIFY_SOURCE has warnings, which every build with optimisation shall show.
  add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -fstack-protector-strong
    -fstack-clash-protection)
  add_link_options(LINKER:-z,relro,-z,now)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    # As on amd64, where every test runs, char has a sign.
    add_compile_options(-mbranch-protection=standard -fsigned-char -Wno-psabi)
  else()
    add_compile_options(-fcf-protection)
  endif()
endif()

# Targets of groups: `programs`, `fuzzers`, and `tests_<label>` for every test label.
function(tangram_group group member)
  if(NOT TARGET ${group})
    add_custom_target(${group})
  endif()
  add_dependencies(${group} ${member})
endfunction()

# tangram_library(<folder> SOURCES ... DEPS ...): target tangram::<folder>.
function(tangram_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  set(target tangram_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE tangram_options)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC ${ARG_DEPS})
  add_library(tangram::${name} ALIAS ${target})
endfunction()

# tangram_binary(<name> SOURCES ... DEPS ...): a program in <build>/bin.
function(tangram_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tangram_options ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  tangram_group(programs ${name})
endfunction()

# tangram_test(<name> [SERIAL] SOURCES ... DEPS ... LABELS ... [TIMEOUT seconds]): one binary; ctest knows each of its
# cases. SERIAL: no other test runs meanwhile.
function(tangram_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tangram_options ${ARG_DEPS} GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/generated)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  gtest_discover_tests(${name} NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL})
  # gtest_discover_tests() accepts only one label: it takes the rest of a list for properties.
  set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(CONFIGURE OUTPUT ${labels_file} @ONLY CONTENT
    "if(DEFINED @name@_TESTS)
  set_tests_properties(\${@name@_TESTS} PROPERTIES LABELS \"@ARG_LABELS@\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
  foreach(label ${ARG_LABELS})
    tangram_group(tests_${label} ${name})
  endforeach()
endfunction()

# tangram_fuzzer(<name> SOURCES ... DEPS ...): a libFuzzer target in <build>/fuzz; only with TANGRAM_FUZZ.
function(tangram_fuzzer name)
  if(NOT TANGRAM_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE tangram_options ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  tangram_group(fuzzers ${name})
endfunction()
