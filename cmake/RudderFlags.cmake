# SPDX-License-Identifier: Apache-2.0
# One INTERFACE target carries warnings, sanitizers and check level; nothing is set globally.
add_library(rudder_build_flags INTERFACE)
target_compile_features(rudder_build_flags INTERFACE cxx_std_20)
target_compile_options(
  rudder_build_flags
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wsign-conversion
            -Wold-style-cast
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wcast-align
            -Wdouble-promotion
            $<$<BOOL:${RUDDER_WERROR}>:-Werror>)
if(RUDDER_CHECK_LEVEL STREQUAL "none")
  target_compile_definitions(rudder_build_flags INTERFACE RUDDER_CHECK_LEVEL=0)
elseif(RUDDER_CHECK_LEVEL STREQUAL "normal")
  target_compile_definitions(rudder_build_flags INTERFACE RUDDER_CHECK_LEVEL=1)
elseif(RUDDER_CHECK_LEVEL STREQUAL "paranoid")
  target_compile_definitions(rudder_build_flags INTERFACE RUDDER_CHECK_LEVEL=2)
else()
  message(FATAL_ERROR "RUDDER_CHECK_LEVEL is '${RUDDER_CHECK_LEVEL}'; none, normal or paranoid")
endif()
# UndefinedBehaviorSanitizer looks at the product only: the checks are a third of the time it takes to compile a test.
# Left out: null, where AddressSanitizer stops as well, and vptr, as nothing is cast down a hierarchy.
foreach(sanitizer IN LISTS RUDDER_SANITIZE)
  set(options -fsanitize=${sanitizer})
  if(sanitizer STREQUAL "undefined")
    list(APPEND options -fno-sanitize-recover=undefined -fno-sanitize=null,vptr)
    set(options "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:RUDDER_IS_TEST>>>:${options}>")
  endif()
  target_compile_options(rudder_build_flags INTERFACE "${options}" -fno-omit-frame-pointer)
  target_link_options(rudder_build_flags INTERFACE -fsanitize=${sanitizer})
endforeach()
find_program(RUDDER_LLD ld.lld)
if(RUDDER_LLD)
  target_link_options(rudder_build_flags INTERFACE -fuse-ld=lld)
endif()
find_program(RUDDER_CCACHE ccache)
if(RUDDER_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${RUDDER_CCACHE}")
endif()
