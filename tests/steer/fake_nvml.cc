// SPDX-License-Identifier: Apache-2.0
// A driver's management library with one device, which is 7 % busier each time it is asked; asked for the
// fourth time it fails.

namespace {

int users = 0;
unsigned asked = 0;
int device = 0;

constexpr int kOk = 0, kInvalid = 2, kNotFound = 6, kGone = 15;

}  // namespace

struct Utilization {
  unsigned gpu, memory;
};

extern "C" {

int nvmlInit_v2() {
  ++users;
  asked = 0;
  return kOk;
}

int nvmlShutdown() {
  --users;
  return kOk;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &device;
  return index == 0 ? kOk : kNotFound;
}

int nvmlDeviceGetUtilizationRates(void* handle, Utilization* utilization) {
  if (users <= 0 || handle != &device) {
    return kInvalid;
  }
  *utilization = {7 * asked, 99};
  return ++asked == 4 ? kGone : kOk;
}

const char* nvmlErrorString(int code) {
  return code == kNotFound ? "Not Found" : "Unknown Error";
}

}  // extern "C"
