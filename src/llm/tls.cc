// SPDX-License-Identifier: Apache-2.0
#include "llm/tls.h"

#include <array>
#include <csignal>
#include <ctime>
#include <string_view>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>

#include "llm/wait_for.h"

namespace rudder::llm {
namespace {

/// OpenSSL writes to sockets with write(), and a connection that the other side has closed must not end the
/// process. While one lives this thread gets no SIGPIPE.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

short wanted_event(int why) {
  return why == SSL_ERROR_WANT_READ ? POLLIN : why == SSL_ERROR_WANT_WRITE ? POLLOUT : 0;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> ignored;
  return ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

/// Whom the certificate must name.
bool expect_host(SSL* connection, const std::string& host) {
  if (is_address(host)) {
    return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host.c_str()) == 1;
  }
  // SSL_set_tlsext_host_name(), a macro with a cast of the old style.
  return SSL_set1_host(connection, host.c_str()) == 1 &&
         SSL_ctrl(connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                  const_cast<char*>(host.c_str())) == 1;
}

std::string reason(SSL* connection) {
  if (const long verdict = SSL_get_verify_result(connection); verdict != X509_V_OK) {
    return X509_verify_cert_error_string(verdict);
  }
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  return text != nullptr ? text : "the connection broke off";
}

}  // namespace

Result<TlsConnection> TlsConnection::connect(int socket, const std::string& host, TimePoint deadline,
                                             int stop) {
  const NoPipeSignal quiet;
  ERR_clear_error();
  TlsConnection made;
  made.context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = made.context_.get();
  if (context == nullptr || SSL_CTX_set_default_verify_paths(context) != 1 ||
      SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
    return Error{Errc::kInternal, "TLS cannot be set up"};
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  made.connection_.reset(SSL_new(context));
  SSL* const connection = made.connection_.get();
  if (connection == nullptr || !expect_host(connection, host) || SSL_set_fd(connection, socket) != 1) {
    return Error{Errc::kInternal, "TLS cannot be set up"};
  }
  for (;;) {
    const int done = SSL_connect(connection);
    if (done == 1) {
      return made;
    }
    const short wanted = wanted_event(SSL_get_error(connection, done));
    if (wanted == 0) {
      return Error{Errc::kPeer, fmt::format("no TLS connection with {}: {}", host, reason(connection))};
    }
    switch (wait_for(socket, wanted, deadline, stop)) {
      case Wait::kReady:
        break;
      case Wait::kDeadline:
        return Error{Errc::kTimeout, fmt::format("{} does not finish the TLS handshake", host)};
      case Wait::kStopped:
        return Error{Errc::kCancelled, "was stopped"};
    }
  }
}

ssize_t TlsConnection::transfer(char* to, const char* from, std::size_t size, short& wanted) {
  const NoPipeSignal quiet;
  ERR_clear_error();
  std::size_t count = 0;
  const int done = to != nullptr ? SSL_read_ex(connection_.get(), to, size, &count)
                                 : SSL_write_ex(connection_.get(), from, size, &count);
  if (done == 1) {
    return static_cast<ssize_t>(count);
  }
  const int why = SSL_get_error(connection_.get(), done);
  wanted = wanted_event(why);
  return why == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

}  // namespace rudder::llm
