// Test tensors, random numbers and comparison.
#include "kernels/testing/host_tensor.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <sstream>

#include "kernels/ops/reference_util.h"

namespace trireme {
namespace {

// Flat index in a tensor of `sizes` of the flat index `i` of its part along `dim` that starts at
// `begin`.
int64_t WholeIndex(const std::vector<int64_t>& sizes, int dim, int64_t begin, int64_t part_size,
                   int64_t i) {
  const int64_t inner = DenseStrides(sizes)[dim];
  const int64_t outer = i / (inner * part_size);
  const int64_t along = i / inner % part_size;
  return (outer * sizes[dim] + begin + along) * inner + i % inner;
}

bool Close(double expected, double actual, double margin) {
  if (std::isnan(expected) || std::isnan(actual)) return false;
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::abs(expected - actual) <= margin;
}

}  // namespace

HostTensor::HostTensor(DType dtype, std::vector<int64_t> sizes)
    : dtype_(dtype), sizes_(std::move(sizes)), memory_(CeilDiv(count() * SizeOf(dtype), 8) + 1) {}

double HostTensor::Get(int64_t i) const { return Load(view(), i); }

void HostTensor::Set(int64_t i, double value) { Store(view(), i, value); }

void HostTensor::Fill(double value) {
  for (int64_t i = 0; i < count(); ++i) Set(i, value);
}

std::vector<double> HostTensor::Values() const { return LoadAll(view()); }

Tensor HostTensor::view() const {
  return {
      .dtype = dtype_, .data = memory_.data(), .sizes = sizes_, .strides = DenseStrides(sizes_)};
}

HostTensor HostTensor::Slice(int dim, int64_t begin, int64_t size) const {
  std::vector<int64_t> sizes = sizes_;
  sizes[dim] = size;
  HostTensor part(dtype_, sizes);
  for (int64_t i = 0; i < part.count(); ++i) {
    part.Set(i, Get(WholeIndex(sizes_, dim, begin, size, i)));
  }
  return part;
}

void HostTensor::Place(int dim, int64_t begin, const HostTensor& part) {
  for (int64_t i = 0; i < part.count(); ++i) {
    Set(WholeIndex(sizes_, dim, begin, part.sizes()[dim], i), part.Get(i));
  }
}

double TestRandom::Uniform() {
  state_ = Mix64(state_);
  return (static_cast<double>(state_ >> 11) + 0.5) * 0x1p-53;
}

double TestRandom::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(Uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * Uniform());
}

int64_t TestRandom::Below(int64_t n) {
  return static_cast<int64_t>(Uniform() * static_cast<double>(n));
}

std::string Difference(const HostTensor& expected, const HostTensor& actual, double tolerance) {
  std::ostringstream text;
  text.precision(10);
  if (expected.sizes() != actual.sizes()) {
    text << "sizes differ: " << expected.count() << " and " << actual.count() << " elements";
    return text.str();
  }
  double sum = 0;
  for (const double value : expected.Values()) sum += std::isfinite(value) ? std::abs(value) : 0.0;
  const double mean = expected.count() > 0 ? sum / static_cast<double>(expected.count()) : 0.0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    // What floats hold only as denormal numbers is as good as 0.
    const double margin = std::max(tolerance * std::max(std::abs(expected.Get(i)), mean),
                                   double{std::numeric_limits<float>::min()});
    if (Close(expected.Get(i), actual.Get(i), margin)) continue;
    text << "index " << i << " of " << expected.count() << ": expected " << expected.Get(i)
         << ", got " << actual.Get(i);
    return text.str();
  }
  return "";
}

}  // namespace trireme
