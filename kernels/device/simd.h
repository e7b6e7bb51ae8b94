// One source for vector code: a function is compiled twice, for AVX2 with FMA and for the plain
// target, and the one that this CPU can run is called. Loops are left to the compiler's vectoriser
// (`#pragma omp simd`).
#ifndef TRIREME_KERNELS_DEVICE_SIMD_H_
#define TRIREME_KERNELS_DEVICE_SIMD_H_

namespace trireme {

// For functions given to RunSimd and all they call: they must be inlined to be compiled for the
// caller's target.
#define TRIREME_SIMD inline __attribute__((always_inline))

#if defined(__x86_64__)
inline bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

template <auto Function, typename... Args>
__attribute__((target("avx2,fma"), noinline)) void RunAvx2(Args... args) {
  Function(args...);
}
#endif

// Calls Function(args...) compiled for the best instruction set of this CPU. Function is a
// TRIREME_SIMD function whose parameters are pointers and numbers; it holds no OpenMP parallel
// region. A result of its last bits may differ between instruction sets (fused multiply-add), never
// between calls on one machine.
template <auto Function, typename... Args>
inline void RunSimd(Args... args) {
#if defined(__x86_64__)
  if (HasAvx2()) {
    RunAvx2<Function>(args...);
    return;
  }
#endif
  Function(args...);
}

}  // namespace trireme

#endif  // TRIREME_KERNELS_DEVICE_SIMD_H_
