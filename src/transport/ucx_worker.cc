// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx_worker.h"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <ucs/config/global_opts.h>
#include <ucs/debug/log_def.h>
#include <unistd.h>

#include "rudder/core/log.h"

namespace rudder::transport {
namespace {

/// What we set where the user's environment has not.
struct Setting {
  const char* variable;
  const char* name;  ///< ucp_config_modify()'s, to which a transport's own settings have no prefix
  const char* value;
};
// UCX 1.13 aborts the process when a peer ends while a message sent without a copy waits for its TCP socket
// (uct_tcp_ep_sendv completes it twice), so eager messages are copied. In pieces this long, copies are no
// slower than doing without (bench/pull_bench).
constexpr std::array<Setting, 4> kSettings{{
    {"UCX_KEEPALIVE_INTERVAL", "KEEPALIVE_INTERVAL", "1s"},
    {"UCX_ZCOPY_THRESH", "ZCOPY_THRESH", "inf"},
    {"UCX_TCP_TX_SEG_SIZE", "TX_SEG_SIZE", "512k"},
    {"UCX_TCP_RX_SEG_SIZE", "RX_SEG_SIZE", "512k"},
}};

[[nodiscard]] Error ucx_error(const char* call, ucs_status_t status) {
  const char* transports = std::getenv("UCX_TLS");
  const char* devices = std::getenv("UCX_NET_DEVICES");
  return {Errc::kInternal,
          fmt::format("UCX: {}: {} (UCX_TLS={}, UCX_NET_DEVICES={})", call, ucs_status_string(status),
                      transports == nullptr ? "all" : transports, devices == nullptr ? "all" : devices)};
}

/// UCX prints on standard output, where only results belong.
ucs_log_func_rc_t pass_log_on(const char* /*file*/, unsigned /*line*/, const char* /*function*/,
                              ucs_log_level_t level, const ucs_log_component_config_t* /*component*/,
                              const char* format, va_list arguments) {
  std::array<char, 512> text{};
  // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): UCX started the list
  std::vsnprintf(text.data(), text.size(), format, arguments);
  const LogLevel ours = level <= UCS_LOG_LEVEL_WARN ? LogLevel::kWarning : LogLevel::kInfo;
  log(ours, fmt::format("UCX: {}", text.data()));
  return UCS_LOG_FUNC_RC_STOP;
}

/// Every failure reaches the caller as a value, so UCX's warnings on unusual machines (containers without
/// InfiniBand, say) are noise unless asked for.
void route_log() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (std::getenv("UCX_LOG_LEVEL") == nullptr) {
      ucs_global_opts_set_value_modifiable("LOG_LEVEL", "error");
    }
    ucs_log_push_handler(pass_log_on);
  });
}

}  // namespace

Result<std::unique_ptr<UcxWorker>> UcxWorker::create(Rank world, std::size_t header_bytes) {
  std::unique_ptr<UcxWorker> worker(new UcxWorker);
  RUDDER_TRY(worker->open(world, header_bytes));
  return worker;
}

Status UcxWorker::open_context(Rank world) {
  ucp_config_t* config = nullptr;
  if (const ucs_status_t status = ucp_config_read(nullptr, nullptr, &config); status != UCS_OK) {
    return ucx_error("ucp_config_read", status);
  }
  const std::unique_ptr<ucp_config_t, decltype(&ucp_config_release)> release(config, &ucp_config_release);
  for (const Setting& setting : kSettings) {
    if (std::getenv(setting.variable) != nullptr) {
      continue;
    }
    if (const ucs_status_t status = ucp_config_modify(config, setting.name, setting.value);
        status != UCS_OK) {
      return ucx_error(fmt::format("ucp_config_modify({}={})", setting.name, setting.value).c_str(), status);
    }
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.estimated_num_eps = world;
  params.name = "rudder";
  if (const ucs_status_t status = ucp_init(&params, config, &context_); status != UCS_OK) {
    return ucx_error("ucp_init", status);
  }
  return {};
}

Status UcxWorker::open(Rank world, std::size_t header_bytes) {
  route_log();
  RUDDER_TRY(open_context(world));
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (const ucs_status_t status = ucp_worker_create(context_, &params, &worker_); status != UCS_OK) {
    return ucx_error("ucp_worker_create", status);
  }
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS | UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (const ucs_status_t status = ucp_worker_query(worker_, &attributes); status != UCS_OK) {
    return ucx_error("ucp_worker_query", status);
  }
  address_.resize(attributes.address_length);
  std::memcpy(address_.data(), attributes.address, attributes.address_length);
  ucp_worker_release_address(worker_, attributes.address);
  if (attributes.max_am_header < header_bytes) {
    return Error{Errc::kUnsupported,
                 fmt::format("UCX: its transports carry message headers of {} bytes, {} needed",
                             attributes.max_am_header, header_bytes)};
  }
  if (const ucs_status_t status = ucp_worker_get_efd(worker_, &ucx_events_); status != UCS_OK) {
    return ucx_error("ucp_worker_get_efd (the chosen transports cannot wake a sleeping thread)", status);
  }
  wake_events_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_events_ < 0) {
    return Error{Errc::kResource, fmt::format("eventfd: {}", std::strerror(errno))};
  }
  return {};
}

UcxWorker::~UcxWorker() {
  if (worker_ != nullptr) {
    ucp_worker_destroy(worker_);
  }
  if (context_ != nullptr) {
    ucp_cleanup(context_);
  }
  if (wake_events_ >= 0) {
    close(wake_events_);
  }
}

Status UcxWorker::sleep(int timeout_ms) {
  const ucs_status_t armed = ucp_worker_arm(worker_);
  if (armed == UCS_ERR_BUSY) {
    return {};  // something has come meanwhile
  }
  if (armed != UCS_OK) {
    return ucx_error("ucp_worker_arm", armed);
  }
  std::array<pollfd, 2> descriptors{{{ucx_events_, POLLIN, 0}, {wake_events_, POLLIN, 0}}};
  if (poll(descriptors.data(), descriptors.size(), timeout_ms) < 0 && errno != EINTR) {
    return Error{Errc::kIo, fmt::format("poll: {}", std::strerror(errno))};
  }
  if ((descriptors[1].revents & POLLIN) != 0) {
    std::uint64_t count = 0;
    // Cannot fail: the descriptor is readable and nobody else reads it.
    static_cast<void>(!read(wake_events_, &count, sizeof(count)));
  }
  return {};
}

void UcxWorker::wake() {
  const std::uint64_t one = 1;
  // Fails only when 2^64 - 2 wake-ups are pending, and then the sleeper wakes anyway.
  static_cast<void>(!write(wake_events_, &one, sizeof(one)));
}

}  // namespace rudder::transport
