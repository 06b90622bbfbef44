// SPDX-License-Identifier: Apache-2.0
#include "train/torch_error.h"

#include <cstdlib>
#include <mutex>
#include <new>

#include <c10/util/Exception.h>
#include <glog/logging.h>

namespace rudder::train {
namespace {

Error make_error(const std::string& context, std::string text) {
  // Gloo starts its messages with "[path/file.cc:123] ".
  if (const auto end = text.find("] "); text.starts_with('[') && end != std::string::npos) {
    text.erase(0, end + 2);
  }
  text.resize(std::min(text.size(), text.find('\n')));
  while (text.ends_with('.') || text.ends_with(' ')) {
    text.pop_back();
  }
  const bool timeout = text.find("imed out") != std::string::npos || text.find("imeout") != std::string::npos;
  return {timeout ? Errc::kTimeout : Errc::kInternal, context + ": " + text};
}

}  // namespace

void quiet_torch_logs() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (std::getenv("GLOG_minloglevel") == nullptr) {
      FLAGS_minloglevel = google::GLOG_FATAL;
    }
  });
}

Error current_torch_error(const std::string& context) {
  try {
    throw;
  } catch (const c10::Error& error) {
    return make_error(context, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return {Errc::kResource, context + ": out of memory"};
  } catch (const std::exception& error) {
    return make_error(context, error.what());
  } catch (...) {
    return {Errc::kInternal, context + ": unknown exception"};
  }
}

}  // namespace rudder::train
