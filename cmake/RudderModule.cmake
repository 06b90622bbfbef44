# SPDX-License-Identifier: Apache-2.0
# rudder_add_module(NAME [COLD] SOURCES ... [DEPENDS ...] [THIRD_PARTY ...]): static library rudder_NAME with
# alias rudder::NAME, public headers in include/rudder/NAME, each of which is compiled alone. COLD: nothing in it
# runs often enough to be worth the time of -O3.
function(rudder_add_module name)
  cmake_parse_arguments(arg "COLD" "" "SOURCES;DEPENDS;THIRD_PARTY" ${ARGN})
  add_library(rudder_${name} STATIC ${arg_SOURCES})
  add_library(rudder::${name} ALIAS rudder_${name})
  target_include_directories(rudder_${name} PUBLIC "${PROJECT_SOURCE_DIR}/include" PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(rudder_${name} PUBLIC ${arg_DEPENDS} PRIVATE rudder_build_flags ${arg_THIRD_PARTY})
  target_compile_features(rudder_${name} PUBLIC cxx_std_20)
  if(arg_COLD)
    target_compile_options(rudder_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  set_target_properties(rudder_${name} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/rudder/${name}/*.h")
  if(headers)
    target_sources(rudder_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
    set_target_properties(rudder_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
endfunction()

# rudder_add_test(NAME SOURCES ... [DEPENDS ...] [LABELS ...]): one GoogleTest program, each test a CTest entry.
# Labels: threads (also run under TSan), slow.
function(rudder_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE rudder_build_flags ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE RUDDER_TEST_SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared/data"
                                             RUDDER_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)  # compiles in 2/3 of the time of -O3
  if("threads" IN_LIST arg_LABELS)
    if(NOT TARGET threads_tests)
      add_custom_target(threads_tests)
    endif()
    add_dependencies(threads_tests ${name})
  endif()
  list(APPEND arg_LABELS unit)
  # PRE_TEST discovery keeps sanitizer builds cheap; a semicolon list of labels needs this quoting.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# rudder_add_bench(NAME SOURCES ... [DEPENDS ...]): one Google Benchmark program.
function(rudder_add_bench name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/bench" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE rudder_build_flags ${arg_DEPENDS} benchmark::benchmark benchmark::benchmark_main)
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF)
endfunction()
