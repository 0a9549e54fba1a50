// Optimiser steps on a range of parameters. Compiled once per SIMD level as a part of
// kernels.cpp; internal linkage throughout, for the reason in vectors.hpp.
#pragma once

#include "kernels/kernels.hpp"
#include "kernels/vectors.hpp"

namespace cofire {
namespace {

template <int Groups> COFIRE_INLINE Wide group_sum(const float* const* gradients, int64_t k) {
    Wide g = load<Wide>(gradients[0] + k);
    for (int q = 1; q < Groups; q++) g += load<Wide>(gradients[q] + k);
    return g;
}

COFIRE_INLINE float group_sum(int n_groups, const float* const* gradients, int64_t k) {
    float g = gradients[0][k];
    for (int q = 1; q < n_groups; q++) g += gradients[q][k];
    return g;
}

template <class F> COFIRE_INLINE void sgd_step(F g, F& w, F& v, const SgdStep& step) {
    const F old = w;
    g += step.l2 * old;
    v = step.momentum * v + g;
    const F move = step.nesterov ? g + step.momentum * v : v;
    w = old - step.learning_rate * move;
}

template <int Groups>
void sgd_range(int64_t begin, int64_t end, int64_t n_live, const float* const* gradients,
               float* weight, float* velocity, const SgdStep& step) {
    const int64_t live_end = end < n_live ? end : n_live;
    int64_t k = begin;
    for (; k + kWide <= live_end; k += kWide) {
        Wide w = load<Wide>(weight + k), v = load<Wide>(velocity + k);
        sgd_step(group_sum<Groups>(gradients, k), w, v, step);
        store(weight + k, w);
        store(velocity + k, v);
    }
    for (; k < live_end; k++)
        sgd_step(group_sum(Groups, gradients, k), weight[k], velocity[k], step);
    for (; k + kWide <= end; k += kWide) {
        Wide w = load<Wide>(weight + k), v = load<Wide>(velocity + k);
        sgd_step(Wide{}, w, v, step);
        store(weight + k, w);
        store(velocity + k, v);
    }
    for (; k < end; k++) sgd_step(0.0f, weight[k], velocity[k], step);
}

COFIRE_INLINE Wide square_root(Wide x) {
    Wide r;
    for (int i = 0; i < kWide; i++) r[i] = __builtin_sqrtf(x[i]);
    return r;
}
COFIRE_INLINE float square_root(float x) { return __builtin_sqrtf(x); }

template <class F> COFIRE_INLINE void adam_step(F g, F& w, F& m, F& v, const AdamStep& step) {
    const F old = w;
    g += step.l2 * old;
    m = step.beta_1 * m + (1.0f - step.beta_1) * g;
    v = step.beta_2 * v + (1.0f - step.beta_2) * (g * g);
    w = old - step.step_size * m / (square_root(v) + step.epsilon);
}

template <int Groups>
void adam_range(int64_t begin, int64_t end, int64_t n_live, const float* const* gradients,
                float* weight, float* first, float* second, const AdamStep& step) {
    const int64_t live_end = end < n_live ? end : n_live;
    int64_t k = begin;
    for (; k + kWide <= live_end; k += kWide) {
        Wide w = load<Wide>(weight + k), m = load<Wide>(first + k), v = load<Wide>(second + k);
        adam_step(group_sum<Groups>(gradients, k), w, m, v, step);
        store(weight + k, w);
        store(first + k, m);
        store(second + k, v);
    }
    for (; k < live_end; k++)
        adam_step(group_sum(Groups, gradients, k), weight[k], first[k], second[k], step);
    for (; k < end; k++) adam_step(0.0f, weight[k], first[k], second[k], step);
}

}  // namespace
}  // namespace cofire
