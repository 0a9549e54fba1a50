#include <cstdlib>
#include <stdexcept>
#include <string>

#include "kernels/kernels.hpp"

namespace cofire {

extern const Kernels baseline;
#if defined(COFIRE_X86_LEVELS)
extern const Kernels x86_64_v3;
extern const Kernels x86_64_v4;
#endif

namespace {

const Kernels& choose() {
    const char* wish = std::getenv("COFIRE_SIMD");
    const std::string wanted = wish == nullptr ? "" : wish;
    const auto fits = [&](const Kernels& k) { return wanted.empty() || wanted == k.name; };
#if defined(COFIRE_X86_LEVELS)
    const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (has_v4 && fits(x86_64_v4)) return x86_64_v4;
    if (has_v3 && fits(x86_64_v3)) return x86_64_v3;
#endif
    if (fits(baseline)) return baseline;
    throw std::runtime_error("COFIRE_SIMD=" + wanted +
                             ": this machine has no such level. Unset it, or use baseline, "
                             "x86_64_v3 or x86_64_v4.");
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

}  // namespace cofire
