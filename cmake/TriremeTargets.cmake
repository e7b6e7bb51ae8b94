# trireme_library(NAME [DEPS ...] [EXCLUDE regex ...]): one library a folder, from its *.cc; what it links is what
# it may include. Its *_test.cc (and test.cc of an op) join the test program of the area, the first folder of the
# path, and also form <NAME>_test, which is built only when asked for.
# trireme_program(NAME DEPS ...): a program from main.cc of the folder.

set(TRIREME_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers
    -Wno-dangling-pointer -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-maybe-uninitialized)

# Precompiled headers: the standard library and Abseil's Status cost 2 s a file otherwise, GoogleTest 2 s more.
set(TRIREME_PCH <algorithm> <functional> <map> <memory> <optional> <set> <sstream> <string> <string_view>
    <variant> <vector> <absl/status/status.h> <absl/status/statusor.h>)
foreach(kind IN ITEMS pch test_pch)
  add_library(trireme_${kind} OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cc)
  target_compile_options(trireme_${kind} PUBLIC -fpch-preprocess)
  target_link_libraries(trireme_${kind} PRIVATE absl::status absl::statusor)
endforeach()
target_link_libraries(trireme_test_pch PRIVATE GTest::gtest GTest::gmock)
target_precompile_headers(trireme_pch PRIVATE ${TRIREME_PCH})
target_precompile_headers(trireme_test_pch PRIVATE ${TRIREME_PCH} <gtest/gtest.h> <gmock/gmock.h>)

function(trireme_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/test|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "(_test|/test)\\.cc$")
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
    list(FILTER tests EXCLUDE REGEX "${pattern}")
  endforeach()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_compile_options(${name} PRIVATE ${TRIREME_WARNINGS} -fpch-preprocess)
    target_precompile_headers(${name} REUSE_FROM trireme_pch)
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${name} ${scope} ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} ${scope} absl::status absl::statusor absl::strings ${ARG_DEPS})
  if(tests)
    trireme_tests(${name} SOURCES ${tests} DEPS ${name} ${ARG_TEST_DEPS})
  endif()
endfunction()

function(trireme_tests name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX REPLACE "/.*" "" area ${path})
  add_library(${name}_test_objects OBJECT EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_compile_options(${name}_test_objects PRIVATE ${TRIREME_WARNINGS} -fpch-preprocess)
  target_precompile_headers(${name}_test_objects REUSE_FROM trireme_test_pch)
  target_link_libraries(${name}_test_objects PUBLIC ${ARG_DEPS} GTest::gtest GTest::gmock)
  add_executable(${name}_test EXCLUDE_FROM_ALL)
  target_link_libraries(${name}_test PRIVATE ${name}_test_objects GTest::gtest_main)
  set_property(GLOBAL APPEND PROPERTY TRIREME_TEST_AREAS ${area})
  set_property(GLOBAL APPEND PROPERTY TRIREME_TESTS_${area} ${name}_test_objects)
endfunction()

function(trireme_program name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_executable(${name} main.cc)
  target_compile_options(${name} PRIVATE ${TRIREME_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# One test program an area; ctest runs each case on its own.
function(trireme_finish_tests)
  include(GoogleTest)
  get_property(areas GLOBAL PROPERTY TRIREME_TEST_AREAS)
  list(REMOVE_DUPLICATES areas)
  foreach(area IN LISTS areas)
    get_property(objects GLOBAL PROPERTY TRIREME_TESTS_${area})
    add_executable(${area}_tests)
    target_link_libraries(${area}_tests PRIVATE ${objects} GTest::gtest_main)
    gtest_discover_tests(${area}_tests DISCOVERY_MODE PRE_TEST
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTIES TIMEOUT 600
      DISCOVERY_TIMEOUT 60)
  endforeach()
endfunction()
