// The constant that xsa and xsa_grad share on every device.
#ifndef TRIREME_KERNELS_OPS_XSA_EPS_H_
#define TRIREME_KERNELS_OPS_XSA_EPS_H_

namespace trireme {

// Added to |v|^2.
inline constexpr double kXsaEps = 1e-6;

}  // namespace trireme

#endif  // TRIREME_KERNELS_OPS_XSA_EPS_H_
