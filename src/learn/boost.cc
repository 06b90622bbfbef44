// SPDX-License-Identifier: Apache-2.0
#include "rudder/learn/boost.h"

#include <limits>
#include <memory>

#include <fmt/format.h>
#include <xgboost/c_api.h>

namespace rudder::learn {
namespace {

struct FreeMatrix {
  void operator()(void* handle) const noexcept { XGDMatrixFree(handle); }
};
struct FreeBooster {
  void operator()(void* handle) const noexcept { XGBoosterFree(handle); }
};
using Matrix = std::unique_ptr<void, FreeMatrix>;
using Booster = std::unique_ptr<void, FreeBooster>;

Status call(int code) {
  if (code != 0) {
    return Error{Errc::kInternal, fmt::format("XGBoost: {}", XGBGetLastError())};
  }
  return {};
}

Result<Matrix> matrix_of(const BoosterInput& input) {
  DMatrixHandle handle = nullptr;
  const auto rows = static_cast<bst_ulong>(input.rows.size() / input.columns);
  RUDDER_TRY(call(XGDMatrixCreateFromMat(input.rows.data(), rows, static_cast<bst_ulong>(input.columns),
                                         std::numeric_limits<float>::quiet_NaN(), &handle)));
  Matrix matrix(handle);
  if (!input.labels.empty()) {
    RUDDER_TRY(call(XGDMatrixSetFloatInfo(matrix.get(), "label", input.labels.data(),
                                          static_cast<bst_ulong>(input.labels.size()))));
  }
  if (!input.weights.empty()) {
    RUDDER_TRY(call(XGDMatrixSetFloatInfo(matrix.get(), "weight", input.weights.data(),
                                          static_cast<bst_ulong>(input.weights.size()))));
  }
  return matrix;
}

Result<Booster> booster_on(const Matrix* matrix) {
  BoosterHandle handle = nullptr;
  const DMatrixHandle cached[1] = {matrix != nullptr ? matrix->get() : nullptr};
  RUDDER_TRY(call(XGBoosterCreate(matrix != nullptr ? cached : nullptr, matrix != nullptr ? 1 : 0, &handle)));
  return Booster(handle);
}

}  // namespace

Result<std::string> boost(const BoosterInput& input,
                          std::span<const std::pair<std::string, std::string>> parameters,
                          std::int32_t rounds) {
  RUDDER_ASSIGN(const Matrix matrix, matrix_of(input));
  RUDDER_ASSIGN(const Booster booster, booster_on(&matrix));
  for (const auto& [name, value] : parameters) {
    RUDDER_TRY(call(XGBoosterSetParam(booster.get(), name.c_str(), value.c_str())));
  }
  for (std::int32_t round = 0; round < rounds; ++round) {
    RUDDER_TRY(call(XGBoosterUpdateOneIter(booster.get(), round, matrix.get())));
  }
  bst_ulong size = 0;
  const char* bytes = nullptr;
  RUDDER_TRY(call(XGBoosterSaveModelToBuffer(booster.get(), R"({"format": "json"})", &size, &bytes)));
  return std::string(bytes, static_cast<std::size_t>(size));
}

Result<std::vector<float>> predict_with_library(const std::string& model, const BoosterInput& input) {
  RUDDER_ASSIGN(const Matrix matrix, matrix_of(input));
  RUDDER_ASSIGN(const Booster booster, booster_on(nullptr));
  RUDDER_TRY(
      call(XGBoosterLoadModelFromBuffer(booster.get(), model.data(), static_cast<bst_ulong>(model.size()))));
  bst_ulong size = 0;
  const float* values = nullptr;
  constexpr int kMargins = 1;
  RUDDER_TRY(call(XGBoosterPredict(booster.get(), matrix.get(), kMargins, 0, 0, &size, &values)));
  return std::vector<float>(values, values + size);
}

}  // namespace rudder::learn
