// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <ucp/api/ucp.h>

#include "rudder/core/ids.h"
#include "rudder/core/result.h"

namespace rudder::transport {

/// Calls `callback` with `user_data` on completion.
[[nodiscard]] inline ucp_request_param_t request_param(ucp_send_nbx_callback_t callback, void* user_data) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.cb.send = callback;
  param.user_data = user_data;
  return param;
}

/// One UCX context with one worker, and a way to sleep until either UCX or another thread has something to
/// do. Only one thread at a time may use it, apart from wake().
class UcxWorker {
 public:
  /// Active messages with wake-up, for headers of up to `header_bytes`. Settings come from UCX's environment
  /// variables; where the user has set none, peers are checked every second, short messages are
  /// copied on their way, TCP sends pieces of 512 KiB, and UCX logs nothing below errors. UCX's log goes to
  /// the log of this program instead of standard output (both for the whole process).
  [[nodiscard]] static Result<std::unique_ptr<UcxWorker>> create(Rank world, std::size_t header_bytes);
  UcxWorker(const UcxWorker&) = delete;
  UcxWorker& operator=(const UcxWorker&) = delete;
  ~UcxWorker();

  [[nodiscard]] ucp_context_h context() const noexcept { return context_; }
  [[nodiscard]] ucp_worker_h handle() const noexcept { return worker_; }
  /// UCX's address of this worker, all interfaces.
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  /// Handles what is there; false when there was nothing.
  bool progress() { return ucp_worker_progress(worker_) != 0; }
  /// Waits for UCX events or wake(), at most `timeout_ms` (-1: no limit). Returns early now and then.
  [[nodiscard]] Status sleep(int timeout_ms);
  /// Ends the present or next sleep(). Thread-safe.
  void wake();

 private:
  UcxWorker() = default;
  [[nodiscard]] Status open(Rank world, std::size_t header_bytes);
  [[nodiscard]] Status open_context(Rank world);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int ucx_events_ = -1;   ///< owned by the worker
  int wake_events_ = -1;  ///< an eventfd of our own
  std::string address_;
};

}  // namespace rudder::transport
