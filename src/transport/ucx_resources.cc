// SPDX-License-Identifier: Apache-2.0
#include "rudder/transport/ucx_resources.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "transport/ucx_worker.h"

namespace rudder::transport {

std::vector<std::string> parse_ucx_resources(std::string_view text) {
  // "#      resource 2  :  md 1  dev 2  flags -- tcp/eth0"
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    const std::size_t blank = line.find_last_of(" \t");
    if (blank == line.npos || line.find(" resource ") == line.npos) {
      continue;
    }
    const std::string name(line.substr(blank + 1));
    const std::size_t slash = name.find('/');
    if (slash != name.npos && slash != 0 && slash + 1 < name.size() &&
        std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

Result<std::vector<std::string>> ucx_resources() {
  RUDDER_ASSIGN(const std::unique_ptr<UcxWorker> worker, UcxWorker::create(1, 64));
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  if (stream == nullptr) {
    return Error{Errc::kResource, "no memory for UCX's list of transports"};
  }
  ucp_context_print_info(worker->context(), stream);
  std::fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> release(text, &std::free);
  return parse_ucx_resources({text, size});
}

}  // namespace rudder::transport
