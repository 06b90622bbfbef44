// SPDX-License-Identifier: Apache-2.0
// The secret by which ranks of one run know each other (docs/security.md).
#pragma once

#include <filesystem>

#include "rudder/core/result.h"
#include "rudder/core/secret.h"

namespace rudder::launch {

/// The variable by which launchers hand the run's secret to ranks, as 64 hexadecimal digits.
inline constexpr const char* kSecretVariable = "RUDDER_SECRET";

/// RUDDER_SECRET when it is set, else the user's secret in $HOME/.rudder/secret, which is made when it is not
/// there. What is malformed, or a file that is not the user's alone, is an error that says what to do; no
/// error holds the secret.
[[nodiscard]] Result<Secret> run_secret_from_environment();

/// The secret in `path`: a regular file of this user, mode 0600, 64 hexadecimal digits and a line feed, in a
/// folder that only this user writes to. When it is not there it is made, with its folder; of several
/// processes that do so at once all get the secret of one of them.
[[nodiscard]] Result<Secret> secret_from_file(const std::filesystem::path& path);

}  // namespace rudder::launch
