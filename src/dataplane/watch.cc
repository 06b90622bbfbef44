// SPDX-License-Identifier: Apache-2.0
#include "rudder/dataplane/watch.h"

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "dataplane/local_socket.h"
#include "dataplane/service_wire.h"

namespace rudder::dataplane {
namespace {

Status check_socket(const std::filesystem::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    return Error{Errc::kNotFound,
                 fmt::format("no service at {}: {}", path.string(), std::generic_category().message(errno))};
  }
  if (!S_ISSOCK(found.st_mode)) {
    return Error{Errc::kInvalidArgument, fmt::format("{} is no socket", path.string())};
  }
  return {};
}

}  // namespace

class ServiceWatch::Impl {
 public:
  Impl(LocalSocket socket, std::string path) : socket_(std::move(socket)), path_(std::move(path)) {}

  void ask() {
    // Who has gone may have said something before, which answer() reads.
    static_cast<void>(socket_.send(static_cast<std::uint32_t>(ServiceFrame::kWatch), {}));
  }
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] Result<ServiceSnapshot> answer(Deadline deadline);

 private:
  [[nodiscard]] Error gone() const {
    return Error{Errc::kPeer, answered_ ? fmt::format("the service at {} has ended", path_)
                                        : fmt::format("what listens at {} hangs up: it is no rudder serve, "
                                                      "or one of an earlier version",
                                                      path_)};
  }
  [[nodiscard]] Error nonsense(const std::string& why) const {
    return Error{Errc::kInvalidData,
                 fmt::format("what listens at {} is no rudder serve of this version: {}", path_, why)};
  }

  LocalSocket socket_;
  const std::string path_;
  bool answered_ = false;
};

Result<ServiceSnapshot> ServiceWatch::Impl::answer(Deadline deadline) {
  auto frame = socket_.receive(sizeof(std::uint64_t) + kMaxFiguresBytes, deadline);
  if (!frame.ok()) {
    switch (frame.error().code) {
      case Errc::kTimeout:
        return Error{Errc::kTimeout, fmt::format("what listens at {} does not answer", path_)};
      case Errc::kInvalidData:
        return nonsense(frame.error().message);
      default:
        return gone();
    }
  }
  if (frame.value().type == static_cast<std::uint32_t>(ServiceFrame::kFailed)) {
    return decode_failure(frame.value().body).in("service at " + path_);
  }
  if (frame.value().type != static_cast<std::uint32_t>(ServiceFrame::kFigures)) {
    return nonsense(fmt::format("a frame of type {}", frame.value().type));
  }
  const auto notice = decode_figures(frame.value().body);
  if (!notice.ok()) {
    return nonsense(notice.error().message);
  }
  auto page = metrics::Page::parse(notice->page);
  if (!page.ok()) {
    return nonsense(page.error().message);
  }
  answered_ = true;
  return ServiceSnapshot{notice->at, std::move(page).value()};
}

ServiceWatch::ServiceWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServiceWatch::ServiceWatch(ServiceWatch&& other) noexcept = default;
ServiceWatch& ServiceWatch::operator=(ServiceWatch&& other) noexcept = default;
ServiceWatch::~ServiceWatch() = default;

Result<ServiceWatch> ServiceWatch::open(const std::filesystem::path& socket) {
  RUDDER_TRY(check_socket(socket));
  auto connected = LocalSocket::connect(socket, Deadline::in(Duration::zero()));
  if (!connected.ok()) {
    const Error& error = connected.error();
    return error.code == Errc::kTimeout ? Error{Errc::kNotFound, error.message} : error;
  }
  return ServiceWatch(std::make_unique<Impl>(std::move(connected).value(), socket.string()));
}

void ServiceWatch::ask() {
  impl_->ask();
}

int ServiceWatch::descriptor() const noexcept {
  return impl_->descriptor();
}

Result<ServiceSnapshot> ServiceWatch::answer(Deadline deadline) {
  return impl_->answer(deadline);
}

}  // namespace rudder::dataplane
