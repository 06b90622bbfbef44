# SPDX-License-Identifier: Apache-2.0
# Of Release builds; compiles in 2/3 of the time of -O3.
set(rudder_quick_options "$<$<CONFIG:Release>:-O1>")

# rudder_share_headers(TARGET SHARED [OPTIONS ...] PROPERTIES ... LIBRARIES ... HEADERS ...): TARGET gets these headers, read once,
# from the library SHARED, which the first to ask makes. All that share one are compiled alike, as the rest says.
function(rudder_share_headers target shared)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "OPTIONS;PROPERTIES;LIBRARIES;HEADERS")
  if(NOT TARGET ${shared})
    file(WRITE "${PROJECT_BINARY_DIR}/${shared}.cc" "")
    add_library(${shared} OBJECT "${PROJECT_BINARY_DIR}/${shared}.cc")
    target_link_libraries(${shared} PRIVATE rudder_build_flags ${arg_LIBRARIES})
    set_target_properties(${shared} PROPERTIES CXX_EXTENSIONS OFF ${arg_PROPERTIES})
    target_compile_options(${shared} PRIVATE ${arg_OPTIONS})
    target_precompile_headers(${shared} PRIVATE ${arg_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
  # GCC 12 finds overruns in std::string that are none (its bugs 105329, 105651), and forgets that these are system headers.
  target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endfunction()

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
  set(cold "")
  set(options "")
  if(arg_COLD)
    set(cold _cold)
    set(options "${rudder_quick_options}")
  endif()
  target_compile_options(rudder_${name} PRIVATE ${options})
  if(RUDDER_UNITY)
    # Plug-ins, which have folders of their own, stand alone: whoever adds one need not know the others' names. So do
    # their tables, which others may put their own in place of.
    set(plugins ${arg_SOURCES})
    list(FILTER plugins INCLUDE REGEX "/|_table\\.cc$")
    set_source_files_properties(${plugins} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_compile_options(rudder_${name} PRIVATE -Wno-subobject-linkage)
    if("fmt::fmt" IN_LIST arg_THIRD_PARTY AND NOT "rudder_torch" IN_LIST arg_THIRD_PARTY)
      rudder_share_headers(rudder_${name} rudder_module_headers${cold}
        OPTIONS ${options}
        PROPERTIES POSITION_INDEPENDENT_CODE ON
        LIBRARIES fmt::fmt nlohmann_json::nlohmann_json
        HEADERS <algorithm> <array> <condition_variable> <filesystem> <functional> <map> <memory> <mutex> <optional> <span>
                <string> <thread> <unordered_map> <utility> <vector> <fmt/format.h> <fmt/ranges.h> <nlohmann/json.hpp>)
    endif()
  endif()
  set_target_properties(rudder_${name} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON
                                                  UNITY_BUILD ${RUDDER_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/rudder/${name}/*.h")
  if(headers)
    target_sources(rudder_${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${headers})
    set_target_properties(rudder_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  endif()
endfunction()

# rudder_add_test(NAME [ALONE] SOURCES ... [DEPENDS ...] [LABELS ...] [TIMEOUT seconds]): one GoogleTest program, each
# test a CTest entry. With RUDDER_UNITY, a folder's tests of the same labels and timeout are one program, and compiled
# together, but for those ALONE: what a file calls its helpers is for its module's files to agree on.
# Labels: threads (also run under TSan), slow, figures (measures how good results are, not run under ASan).
function(rudder_add_test name)
  cmake_parse_arguments(arg "ALONE" "TIMEOUT" "SOURCES;DEPENDS;LABELS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(torch "")
  if(rudder_torch IN_LIST arg_DEPENDS)
    set(torch torch)
  endif()
  if(RUDDER_UNITY AND NOT arg_ALONE)
    get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
    list(JOIN arg_LABELS "_" labels)
    string(JOIN "_" name ${folder}_tests ${labels} ${torch} ${arg_TIMEOUT})
    if(TARGET ${name})
      target_sources(${name} PRIVATE ${arg_SOURCES})
      target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
      return()
    endif()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE rudder_build_flags ${arg_DEPENDS} GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE RUDDER_TEST_SHARED_DATA="${PROJECT_SOURCE_DIR}/../shared/data"
                                             RUDDER_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES CXX_EXTENSIONS OFF RUDDER_IS_TEST ON UNITY_BUILD_BATCH_SIZE 12)
  target_compile_options(${name} PRIVATE ${rudder_quick_options})
  if(RUDDER_UNITY)
    if(NOT arg_ALONE)
      set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
      target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
    endif()
    if(NOT torch)
      rudder_share_headers(${name} rudder_test_headers
        OPTIONS ${rudder_quick_options}
        PROPERTIES RUDDER_IS_TEST ON
        LIBRARIES GTest::gmock
        HEADERS <algorithm> <memory> <optional> <span> <string> <vector> <gmock/gmock.h> <gtest/gtest.h>)
    endif()
  endif()
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
