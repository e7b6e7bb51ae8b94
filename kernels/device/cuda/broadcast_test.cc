// Every form of b, in groups of four and one by one.
#include "kernels/device/cuda/broadcast.h"

#include <gtest/gtest.h>

#include <vector>

namespace trireme {
namespace {

struct Difference {
  float operator()(float a, float b) const { return a - b; }
};

// a of `count` elements, b of `period`; all start `shift` elements behind a 16-byte boundary.
void Check(int64_t count, int64_t period, bool leading, int shift) {
  alignas(16) float a[200], b[200], y[200];
  for (int i = 0; i < 200; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(3 * i * i);
    y[i] = -1;
  }
  const auto tensor = [&](float* data, int64_t n) {
    return Tensor{.data = data + shift, .sizes = {n}, .strides = {1}};
  };
  const std::vector<Tensor> in{tensor(a, count), tensor(b, period)}, out{tensor(y, count)};
  Stream stream;
  const Attrs attrs;
  Broadcast({.stream = stream, .attrs = attrs, .in = in, .out = out}, Difference{}, leading);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t j = leading ? i / (count / period) : i % period;
    ASSERT_EQ(y[shift + i], a[shift + i] - b[shift + j]) << count << " " << period << " " << i;
  }
  EXPECT_EQ(y[shift + count], -1);
}

TEST(Broadcast, RepeatsWhatIsMissing) {
  for (const int shift : {0, 1}) {
    for (const bool leading : {false, true}) {
      for (const int64_t period : {1, 3, 4, 8, 12}) {
        for (const int64_t repeat : {1, 3, 4, 8}) Check(period * repeat, period, leading, shift);
      }
    }
  }
}

TEST(Broadcast, NothingIsNothing) { Check(0, 4, false, 0); }

}  // namespace
}  // namespace trireme
