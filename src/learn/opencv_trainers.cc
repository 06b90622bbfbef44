// SPDX-License-Identifier: Apache-2.0
#include "learn/opencv_trainers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <opencv2/core.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/ml.hpp>

namespace rudder::learn {
namespace {

constexpr int kLogisticIterations = 1000;
constexpr double kLogisticRate = 0.3;  ///< below 2 / L for up to 26 standardised columns, however correlated
constexpr double kSvmPenalty = 1;
constexpr int kSvmIterations = 20'000;
constexpr int kHidden[] = {24, 12};
constexpr double kNetworkFirstStep = 0.1;  ///< of resilient propagation
constexpr int kTrees = 100;
constexpr int kTreeDepth = 12;
constexpr int kLeastToSplit = 5;

/// One thread, a fixed start of the library's random numbers, its errors only as exceptions: for as long as
/// this lives, which is one at a time.
class QuietLibrary {
 public:
  QuietLibrary() : lock_(mutex()), threads_(cv::getNumThreads()) {
    cv::setNumThreads(1);
    cv::theRNG().state = 0x9e3779b97f4a7c15ULL;
    previous_ = cv::redirectError([](int, const char*, const char*, const char*, int, void*) { return 0; },
                                  nullptr, &previous_data_);
  }
  QuietLibrary(const QuietLibrary&) = delete;
  QuietLibrary& operator=(const QuietLibrary&) = delete;
  ~QuietLibrary() {
    cv::redirectError(previous_, previous_data_);
    cv::setNumThreads(threads_);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  std::lock_guard<std::mutex> lock_;
  int threads_;
  cv::ErrorCallback previous_ = nullptr;
  void* previous_data_ = nullptr;
};

template <class Train>
auto guarded(const char* what, const Train& train) -> decltype(train()) {
  try {
    const QuietLibrary library;
    return train();
  } catch (const std::exception& error) {
    return Error{Errc::kInternal, fmt::format("OpenCV, {}: {}", what, error.what())};
  }
}

cv::Mat matrix_of(const Prepared& input) {
  cv::Mat matrix(static_cast<int>(input.labels.size()), static_cast<int>(input.columns), CV_32F);
  std::copy(input.rows.begin(), input.rows.end(), matrix.ptr<float>());
  return matrix;
}

/// One output a class, or one alone of two.
std::size_t outputs_of(const Prepared& input) {
  return input.classes == 2 ? 1 : input.classes;
}

Affine blank(std::size_t inputs, std::size_t outputs) {
  return {inputs, outputs, std::vector<double>(outputs * (inputs + 1))};
}

/// The weights of one output: first of the columns, then the constant.
std::span<double> row_of(Affine& affine, std::size_t output) {
  return std::span(affine.weights).subspan(output * (affine.inputs + 1), affine.inputs + 1);
}

}  // namespace

Result<Linear> train_logistic(const Prepared& input, std::vector<double>* library) {
  return guarded("logistic regression", [&]() -> Result<Linear> {
    const cv::Mat rows = matrix_of(input);
    cv::Mat labels(rows.rows, 1, CV_32F);
    std::copy(input.labels.begin(), input.labels.end(), labels.ptr<float>());
    const auto model = cv::ml::LogisticRegression::create();
    model->setLearningRate(kLogisticRate * rows.rows);  // it divides by the number of rows twice
    model->setIterations(kLogisticIterations);
    model->setRegularization(cv::ml::LogisticRegression::REG_L2);
    model->setTrainMethod(cv::ml::LogisticRegression::BATCH);
    model->train(rows, cv::ml::ROW_SAMPLE, labels);
    cv::Mat thetas;
    model->get_learnt_thetas().convertTo(thetas, CV_64F);
    Linear linear{blank(input.columns, outputs_of(input))};
    if (thetas.rows != static_cast<int>(linear.scores.outputs) ||
        thetas.cols != static_cast<int>(input.columns) + 1) {
      return Error{Errc::kInternal, fmt::format("OpenCV, logistic regression: {} x {} weights for {} classes",
                                                thetas.rows, thetas.cols, input.classes)};
    }
    for (int output = 0; output < thetas.rows; ++output) {
      const std::span<double> weights = row_of(linear.scores, static_cast<std::size_t>(output));
      const double* const theta = thetas.ptr<double>(output);
      std::copy(theta + 1, theta + thetas.cols, weights.begin());
      weights.back() = theta[0];
    }
    if (library != nullptr) {
      cv::Mat classes;
      model->predict(rows, classes);
      classes.convertTo(classes, CV_64F);
      library->assign(classes.begin<double>(), classes.end<double>());
    }
    return linear;
  });
}

Result<Linear> train_linear_svm(const Prepared& input, std::vector<double>* library) {
  return guarded("support vector machine", [&]() -> Result<Linear> {
    const cv::Mat rows = matrix_of(input);
    Linear linear{blank(input.columns, outputs_of(input))};
    if (library != nullptr) {
      library->resize(input.labels.size() * linear.scores.outputs);
    }
    for (std::size_t output = 0; output < linear.scores.outputs; ++output) {
      // The library's decision function is positive for the lower label: that is the class itself.
      const auto self = static_cast<std::int32_t>(input.classes == 2 ? 1 : output);
      cv::Mat labels(rows.rows, 1, CV_32S);
      std::transform(input.labels.begin(), input.labels.end(), labels.ptr<std::int32_t>(),
                     [&](std::int32_t label) { return label == self ? 0 : 1; });
      const auto model = cv::ml::SVM::create();
      model->setType(cv::ml::SVM::C_SVC);
      model->setKernel(cv::ml::SVM::LINEAR);
      model->setC(kSvmPenalty);
      model->setTermCriteria({cv::TermCriteria::COUNT + cv::TermCriteria::EPS, kSvmIterations, 1e-4});
      model->train(rows, cv::ml::ROW_SAMPLE, labels);
      cv::Mat alpha;
      cv::Mat index;
      const double offset = model->getDecisionFunction(0, alpha, index);
      alpha.convertTo(alpha, CV_64F);
      const cv::Mat vectors = model->getSupportVectors();
      const std::span<double> weights = row_of(linear.scores, output);
      for (int i = 0; i < alpha.cols; ++i) {
        const float* const vector = vectors.ptr<float>(index.at<int>(0, i));
        for (std::size_t column = 0; column < input.columns; ++column) {
          weights[column] += alpha.at<double>(0, i) * static_cast<double>(vector[column]);
        }
      }
      weights.back() = -offset;
      if (library != nullptr) {
        cv::Mat raw;
        model->predict(rows, raw, cv::ml::StatModel::RAW_OUTPUT);
        for (int i = 0; i < rows.rows; ++i) {
          (*library)[static_cast<std::size_t>(i) * linear.scores.outputs + output] =
              static_cast<double>(raw.at<float>(i, 0));
        }
      }
    }
    return linear;
  });
}

Result<Network> train_network(const Prepared& input, int iterations, std::vector<double>* library) {
  return guarded("neural network", [&]() -> Result<Network> {
    const cv::Mat rows = matrix_of(input);
    cv::Mat targets(rows.rows, static_cast<int>(input.classes), CV_32F, cv::Scalar::all(-kNetworkTarget));
    for (int i = 0; i < rows.rows; ++i) {
      targets.at<float>(i, input.labels[static_cast<std::size_t>(i)]) = static_cast<float>(kNetworkTarget);
    }
    std::vector<int> sizes{rows.cols};
    sizes.insert(sizes.end(), std::begin(kHidden), std::end(kHidden));
    sizes.push_back(targets.cols);
    const auto model = cv::ml::ANN_MLP::create();
    model->setLayerSizes(sizes);
    model->setActivationFunction(cv::ml::ANN_MLP::SIGMOID_SYM);  // 1.7159 tanh(x / 3)
    model->setTrainMethod(cv::ml::ANN_MLP::RPROP, kNetworkFirstStep);
    model->setTermCriteria({cv::TermCriteria::COUNT + cv::TermCriteria::EPS, iterations, 1e-6});
    model->train(cv::ml::TrainData::create(rows, cv::ml::ROW_SAMPLE, targets),
                 cv::ml::ANN_MLP::NO_INPUT_SCALE | cv::ml::ANN_MLP::NO_OUTPUT_SCALE);
    Network network;
    for (std::size_t layer = 1; layer < sizes.size(); ++layer) {
      const cv::Mat weights = model->getWeights(static_cast<int>(layer));
      Affine affine =
          blank(static_cast<std::size_t>(weights.rows - 1), static_cast<std::size_t>(weights.cols));
      for (int output = 0; output < weights.cols; ++output) {
        const std::span<double> row = row_of(affine, static_cast<std::size_t>(output));
        for (int i = 0; i < weights.rows; ++i) {
          row[static_cast<std::size_t>(i)] = weights.at<double>(i, output);
        }
      }
      network.layers.push_back(std::move(affine));
    }
    if (library != nullptr) {
      cv::Mat outputs;
      model->predict(rows, outputs);
      outputs.convertTo(outputs, CV_64F);
      library->assign(outputs.begin<double>(), outputs.end<double>());
    }
    return network;
  });
}

namespace {

/// The tree at `root`, parents before children.
std::vector<TreeNode> tree_of(const cv::ml::RTrees& model, int root) {
  const std::vector<cv::ml::DTrees::Node>& nodes = model.getNodes();
  std::vector<TreeNode> tree(1);
  std::vector<int> theirs{root};
  for (std::size_t here = 0; here < tree.size(); ++here) {
    const cv::ml::DTrees::Node& node = nodes[static_cast<std::size_t>(theirs[here])];
    if (node.split < 0) {
      tree[here] = {.threshold = 1, .feature = node.classIdx};  // one vote for its class
      continue;
    }
    const cv::ml::DTrees::Split& split = model.getSplits()[static_cast<std::size_t>(node.split)];
    tree[here].feature = split.varIdx;
    // Theirs goes left where the value is at most c, ours where it is below.
    tree[here].threshold = std::nextafter(split.c, std::numeric_limits<float>::infinity());
    tree[here].left = static_cast<std::int32_t>(tree.size());
    tree[here].right = tree[here].left + 1;
    tree.resize(tree.size() + 2);
    theirs.push_back(node.left);
    theirs.push_back(node.right);
  }
  return tree;
}

}  // namespace

Result<Forest> train_random_forest(const Prepared& input, std::vector<double>* library) {
  return guarded("random forest", [&]() -> Result<Forest> {
    const cv::Mat rows = matrix_of(input);
    cv::Mat labels(rows.rows, 1, CV_32S);
    std::copy(input.labels.begin(), input.labels.end(), labels.ptr<std::int32_t>());
    const auto model = cv::ml::RTrees::create();
    model->setMaxDepth(kTreeDepth);
    model->setMinSampleCount(kLeastToSplit);
    model->setCVFolds(0);
    model->setActiveVarCount(0);  // the root of the number of columns
    model->setTermCriteria({cv::TermCriteria::COUNT, kTrees, 0});
    model->train(cv::ml::TrainData::create(rows, cv::ml::ROW_SAMPLE, labels));
    Forest forest;
    const ForestBounds bounds{static_cast<std::int32_t>(input.classes),
                              static_cast<std::int32_t>(input.columns)};
    for (const int root : model->getRoots()) {
      RUDDER_TRY(forest.add_tree(tree_of(*model, root), 0, bounds));
    }
    if (library != nullptr) {
      cv::Mat classes;
      model->predict(rows, classes);
      classes.convertTo(classes, CV_64F);
      library->assign(classes.begin<double>(), classes.end<double>());
    }
    return forest;
  });
}

}  // namespace rudder::learn
