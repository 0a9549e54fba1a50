// The optimisers' rules, and a step of them on a range of parameters. Compiled once per SIMD level
// as a part of kernels.cpp; internal linkage throughout, for the reason in vectors.hpp.
#pragma once

#include "kernels/optimizers.hpp"
#include "kernels/vectors.hpp"

namespace cofire {
namespace {

// ---- the rules --------------------------------------------------------------------------------

// A rule changes weights w and their moments m by the gradients g: one each, or a vector of them.

// v <- momentum v + g; w <- w - rate v, or (Nesterov) w - rate (g + momentum v).
struct SgdRule {
    static constexpr int n_moments = 1;
    float learning_rate, l2, momentum;
    bool nesterov;

    COFIRE_METHOD explicit SgdRule(const Step& step)
        : learning_rate(step.learning_rate), l2(step.l2), momentum(step.settings[0]),
          nesterov(step.settings[1] != 0.0f) {}

    template <class F> COFIRE_METHOD void operator()(F g, F& w, F* m) const {
        F& v = m[0];
        const F old = w;
        g += l2 * old;
        v = momentum * v + g;
        const F move = nesterov ? g + momentum * v : v;
        w = old - learning_rate * move;
    }
};

COFIRE_INLINE Wide square_root(Wide x) {
    Wide r;
    for (int i = 0; i < kWide; i++) r[i] = __builtin_sqrtf(x[i]);
    return r;
}
COFIRE_INLINE float square_root(float x) { return __builtin_sqrtf(x); }

// Adam (Kingma and Ba, 2015), its bias correction in the step size.
struct AdamRule {
    static constexpr int n_moments = 2;
    float step_size, l2, beta_1, beta_2, epsilon;

    COFIRE_METHOD explicit AdamRule(const Step& step)
        : l2(step.l2), beta_1(step.settings[0]), beta_2(step.settings[1]),
          epsilon(step.settings[2]) {
        const double t = (double)step.number;
        step_size =
            (float)(step.learning_rate * __builtin_sqrt(1.0 - __builtin_pow((double)beta_2, t)) /
                    (1.0 - __builtin_pow((double)beta_1, t)));
    }

    template <class F> COFIRE_METHOD void operator()(F g, F& w, F* m) const {
        F &first = m[0], &second = m[1];
        const F old = w;
        g += l2 * old;
        first = beta_1 * first + (1.0f - beta_1) * g;
        second = beta_2 * second + (1.0f - beta_2) * (g * g);
        w = old - step_size * first / (square_root(second) + epsilon);
    }
};

// ---- a step -----------------------------------------------------------------------------------

template <class F, int Groups> COFIRE_INLINE F group_sum(const float* const* gradients, int64_t k) {
    F g = load<F>(gradients[0] + k);
    for (int q = 1; q < Groups; q++) g += load<F>(gradients[q] + k);
    return g;
}

template <class Rule, int Groups> void step_range(const StepRange& range, const Rule rule) {
    // Copies that no store below can change, so that they stay in registers.
    float *const weight = range.weight, *moments[Rule::n_moments];
    for (int j = 0; j < Rule::n_moments; j++) moments[j] = range.moments[j];
    const float* gradients[Groups];
    for (int q = 0; q < Groups; q++) gradients[q] = range.gradients[q];
    const auto change = [&](int64_t k, auto g) __attribute__((always_inline)) {
        using F = decltype(g);
        F w = load<F>(weight + k), m[Rule::n_moments];
        for (int j = 0; j < Rule::n_moments; j++) m[j] = load<F>(moments[j] + k);
        rule(g, w, m);
        store<F>(weight + k, w);
        for (int j = 0; j < Rule::n_moments; j++) store<F>(moments[j] + k, m[j]);
    };
    const int64_t end = range.end, live_end = end < range.n_live ? end : range.n_live;
    int64_t k = range.begin;
    for (; k + kWide <= live_end; k += kWide) change(k, group_sum<Wide, Groups>(gradients, k));
    for (; k < live_end; k++) change(k, group_sum<float, Groups>(gradients, k));
    for (; k + kWide <= end; k += kWide) change(k, Wide{});
    for (; k < end; k++) change(k, 0.0f);
}

template <class Rule> void step_by(const StepRange& range, const Step& step) {
    with_constant(range.n_groups,
                  [&](auto n) { step_range<Rule, decltype(n)::value>(range, Rule(step)); });
}

template <class... Rules> struct StepTable {
    static constexpr StepKernel steps[] = {step_by<Rules>...};
    static constexpr int n_moments[] = {Rules::n_moments...};
};

// In the order of kOptimizers.
typedef StepTable<SgdRule, AdamRule> Steps;

constexpr bool rules_fit_the_table() {
    if (sizeof(Steps::steps) / sizeof(StepKernel) != kNumOptimizers) return false;
    for (int k = 0; k < kNumOptimizers; k++)
        if (Steps::n_moments[k] != kOptimizers[k].n_moments) return false;
    return true;
}
static_assert(rules_fit_the_table());

}  // namespace
}  // namespace cofire
