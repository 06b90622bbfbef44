# SPDX-License-Identifier: Apache-2.0
# Everything comes from the distribution's packages (script/bootstrap names them).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(UCX REQUIRED IMPORTED_TARGET ucx)
pkg_check_modules(HTTPLIB REQUIRED IMPORTED_TARGET cpp-httplib)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)

find_path(METIS_INCLUDE_DIR metis.h REQUIRED)
find_library(METIS_LIBRARY metis REQUIRED)
add_library(rudder_metis INTERFACE)
target_include_directories(rudder_metis SYSTEM INTERFACE "${METIS_INCLUDE_DIR}")
target_link_libraries(rudder_metis INTERFACE "${METIS_LIBRARY}")

find_package(yaml-cpp REQUIRED)
add_library(rudder_yaml INTERFACE)
target_include_directories(rudder_yaml SYSTEM INTERFACE ${YAML_CPP_INCLUDE_DIR})
target_link_libraries(rudder_yaml INTERFACE ${YAML_CPP_LIBRARIES})

find_path(XGBOOST_INCLUDE_DIR xgboost/c_api.h REQUIRED)
find_library(XGBOOST_LIBRARY xgboost REQUIRED)
add_library(rudder_xgboost INTERFACE)
target_include_directories(rudder_xgboost SYSTEM INTERFACE "${XGBOOST_INCLUDE_DIR}")
target_link_libraries(rudder_xgboost INTERFACE "${XGBOOST_LIBRARY}")

# OpenCV's own CMake package comes with all of its modules; two are enough.
find_path(OPENCV_ML_INCLUDE_DIR opencv2/ml.hpp PATH_SUFFIXES opencv4 REQUIRED)
find_library(OPENCV_CORE_LIBRARY opencv_core REQUIRED)
find_library(OPENCV_ML_LIBRARY opencv_ml REQUIRED)
add_library(rudder_opencv INTERFACE)
target_include_directories(rudder_opencv SYSTEM INTERFACE "${OPENCV_ML_INCLUDE_DIR}")
target_link_libraries(rudder_opencv INTERFACE "${OPENCV_ML_LIBRARY}" "${OPENCV_CORE_LIBRARY}")

if(RUDDER_WITH_TORCH)
  find_package(Torch REQUIRED)
  # Torch's own flags hold -D_GLIBCXX_USE_CXX11_ABI and the like; its headers are not held to our warnings.
  add_library(rudder_torch INTERFACE)
  target_include_directories(rudder_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(rudder_torch INTERFACE ${TORCH_LIBRARIES})
endif()
