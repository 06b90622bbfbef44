// SPDX-License-Identifier: Apache-2.0
// https: endpoints, against a server with a certificate that the test makes.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>

#include "rudder/core/files.h"
#include "rudder/llm/endpoint.h"

#include "llm/scripted_server.h"

namespace rudder::llm {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

struct Freed {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
};

/// A key, and a certificate of it for `name` ("IP:127.0.0.1", "DNS:localhost") that it signs itself.
class Identity {
 public:
  explicit Identity(const std::string& name)
      : key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")), certificate_(X509_new()) {
    X509* const made = certificate_.get();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key_.get());
    X509_NAME* const subject = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"),
                               -1, -1, 0);
    X509_set_issuer_name(made, subject);
    X509_EXTENSION* const names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, name.c_str());
    X509_add_ext(made, names, -1);
    X509_EXTENSION_free(names);
    EXPECT_GT(X509_sign(made, key_.get(), EVP_sha256()), 0);
  }

  /// A client that reads this file trusts the certificate.
  void write(const std::filesystem::path& path) const {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(PEM_write_X509(file, certificate_.get()), 1);
    std::fclose(file);
  }
  [[nodiscard]] SSL_CTX* server() const {
    SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
    EXPECT_EQ(SSL_CTX_use_certificate(context, certificate_.get()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context, key_.get()), 1);
    return context;
  }

 private:
  std::unique_ptr<EVP_PKEY, Freed> key_;
  std::unique_ptr<X509, Freed> certificate_;
};

class Tls : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = TemporaryDirectory::create("rudder-tls");
    ASSERT_TRUE(folder.ok());
    folder_.emplace(std::move(folder).value());
    trust(Identity("DNS:nobody"));
  }
  void TearDown() override { ::unsetenv("SSL_CERT_FILE"); }
  /// OpenSSL reads the system's authorities from this file instead.
  void trust(const Identity& identity) {
    identity.write(folder_->path() / "trusted.pem");
    ::setenv("SSL_CERT_FILE", (folder_->path() / "trusted.pem").c_str(), 1);
  }

  /// Calls a server whose connections this handles after the handshake.
  static Result<ChatReply> call(const Identity& identity, const std::function<void(SSL*)>& script,
                                double seconds = 30) {
    const std::unique_ptr<SSL_CTX, Freed> context(identity.server());
    return call_raw(
        [&](ServedClient& client, std::size_t) {
          sigset_t pipe;  // of this thread, the server's; the client has to do without
          sigemptyset(&pipe);
          sigaddset(&pipe, SIGPIPE);
          ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
          const std::unique_ptr<SSL, Freed> connection(SSL_new(context.get()));
          SSL_set_fd(connection.get(), client.descriptor());
          if (SSL_accept(connection.get()) == 1) {
            script(connection.get());
          }
        },
        seconds);
  }
  static Result<ChatReply> call_raw(const ScriptedServer::Script& script, double seconds) {
    const ScriptedServer server(script);
    auto model = open_endpoint({.url = "https" + server.url().substr(4), .model = {}, .api_key = "key"});
    EXPECT_TRUE(model.ok());
    ChatRequest request;
    request.messages = {{"user", "hello"}};
    request.timeout = from_seconds(seconds);
    return (*model)->complete(request);
  }
  static void answer(SSL* connection) {
    std::array<char, 8192> request{};
    const int heard = SSL_read(connection, request.data(), static_cast<int>(request.size()));
    EXPECT_GT(heard, 0);
    const std::string body = good_reply("over TLS");
    const std::string reply =
        fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body);
    SSL_write(connection, reply.data(), static_cast<int>(reply.size()));
  }

 private:
  std::optional<TemporaryDirectory> folder_;
};

TEST_F(Tls, SpeaksWithAServerThatIsTrusted) {
  const Identity identity("IP:127.0.0.1");
  trust(identity);
  const auto reply = call(identity, answer);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->text, "over TLS");
}

TEST_F(Tls, SaysNothingToAServerThatIsNot) {
  std::atomic<bool> spoken{false};
  const auto reply = call(Identity("IP:127.0.0.1"), [&](SSL*) { spoken = true; });
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Errc::kPeer);
  EXPECT_THAT(reply.error().message, HasSubstr("self-signed"));
  EXPECT_FALSE(spoken);
}

TEST_F(Tls, ATrustedCertificateOfAnotherHostIsNoneOfThis) {
  for (const char* const name : {"IP:127.0.0.2", "DNS:localhost", "DNS:127.0.0.1"}) {
    const Identity identity(name);
    trust(identity);
    const auto reply = call(identity, answer);
    ASSERT_FALSE(reply.ok()) << name;
    EXPECT_THAT(reply.error().message, HasSubstr("mismatch")) << name;
  }
}

TEST_F(Tls, AHandshakeThatDoesNotEndEndsByTheDeadline) {
  const auto begin = std::chrono::steady_clock::now();
  const auto reply = call_raw([](ServedClient& client, std::size_t) { client.hang(); }, 0.2);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Errc::kTimeout) << reply.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
}

TEST_F(Tls, WhatIsNoTlsIsAnError) {
  const auto reply =
      call_raw([](ServedClient& client,
                  std::size_t) { client.say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"); },
               30);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, Errc::kPeer) << reply.error().message;
  EXPECT_THAT(reply.error().message, HasSubstr("TLS"));
}

TEST_F(Tls, AServerThatLeavesEndsTheCallAndNotTheProcess) {
  const Identity identity("IP:127.0.0.1");
  trust(identity);
  for (int i = 0; i < 5; ++i) {
    const auto reply = call(identity, [](SSL*) {});  // before it has read: writes meet a closed connection
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, Errc::kPeer) << reply.error().message;
  }
}

TEST_F(Tls, ATrickleEndsByTheDeadlineAndAFloodByItsSize) {
  const Identity identity("IP:127.0.0.1");
  trust(identity);
  const auto trickled = call(
      identity,
      [](SSL* connection) {
        while (SSL_write(connection, "x", 1) == 1) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      },
      0.5);
  ASSERT_FALSE(trickled.ok());
  EXPECT_EQ(trickled.error().code, Errc::kTimeout) << trickled.error().message;
  const std::string much(1 << 16, 'x');
  const auto flooded = call(identity, [&](SSL* connection) {
    SSL_write(connection, "HTTP/1.1 200 OK\r\n\r\n", 19);
    while (SSL_write(connection, much.data(), static_cast<int>(much.size())) > 0) {
    }
  });
  ASSERT_FALSE(flooded.ok());
  EXPECT_EQ(flooded.error().code, Errc::kPeer);
  EXPECT_THAT(flooded.error().message, AnyOf(HasSubstr("more than"), HasSubstr("broke off")));
}

}  // namespace
}  // namespace rudder::llm
