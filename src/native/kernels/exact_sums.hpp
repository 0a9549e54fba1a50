// Gradients summed over the samples in double precision, with the sample weights applied there.
//
// Used where one batch holds all rows. Then the rows' order does not matter and a row of weight
// 2 is the same as the row twice. So that the network is the same to the bit too, the sum must not
// depend on how it is grouped. Rounded to float once, at the end, it does not. A step
// takes about twice as long (benchmarks/bench_exact_sums.py); mini-batches do not use it.
#pragma once

#include "kernels/kernels.hpp"
#include "kernels/passes.hpp"
#include "kernels/vectors.hpp"

namespace cofire {
namespace {

typedef double d8 __attribute__((vector_size(64)));

COFIRE_INLINE double sum(d8 v) {
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

// sum over samples of a * b, a in double
template <int N8> COFIRE_INLINE double exact_dot(const d8* a, const float* b) {
    d8 total = {};
    for (int v = 0; v < N8; v++) total += a[v] * __builtin_convertvector(load<f8>(b + 8 * v), d8);
    return sum(total);
}

template <int N8>
COFIRE_INLINE void weighted(const float* tile_row, const double* weight, d8* out) {
    for (int v = 0; v < N8; v++) {
        d8 w;
        memcpy(&w, weight + 8 * v, sizeof w);
        out[v] = __builtin_convertvector(load<f8>(tile_row + 8 * v), d8) * w;
    }
}

template <int N8>
void backward_exact_by(const Connections& by_input, const float* delta, float* in,
                       Activation activation, const double* sample_weight, double* gradient,
                       double* bias_gradient, uint8_t* fired) {
    constexpr int64_t stride = N8 * 8;
    const bool dead_at_zero = bias_gradient == nullptr || traits(activation).dead_below_zero;
    for (int64_t i = 0; i < by_input.n_neurons; i++) {
        float* tile_row = in + i * stride;
        const TileRow<N8> x = TileRow<N8>::at(tile_row);
        const bool inactive = x.is_zero();
        if (!inactive) fired[i] = 1;
        if (inactive && dead_at_zero) continue;
        d8 weighted_x[N8];
        weighted<N8>(tile_row, sample_weight, weighted_x);
        TileRow<N8> back = TileRow<N8>::filled(0.0f);
        for (int64_t k = by_input.start[i]; k < by_input.start[i + 1]; k++) {
            const float* d = delta + by_input.other[k] * stride;
            gradient[k] += exact_dot<N8>(weighted_x, d);
            back.add(by_input.weight[k], TileRow<N8>::at(d));
        }
        if (bias_gradient == nullptr) continue;
        derive(back, x, activation);
        back.put(tile_row);
        d8 weighted_delta[N8];
        weighted<N8>(tile_row, sample_weight, weighted_delta);
        for (int v = 0; v < N8; v++) bias_gradient[i] += sum(weighted_delta[v]);
    }
}

template <int N8>
void tile_row_sums_exact_by(int64_t n_tile_rows, const float* tile, const double* sample_weight,
                            double* sums) {
    for (int64_t i = 0; i < n_tile_rows; i++) {
        d8 weighted_samples[N8];
        weighted<N8>(tile + i * N8 * 8, sample_weight, weighted_samples);
        for (int v = 0; v < N8; v++) sums[i] += sum(weighted_samples[v]);
    }
}

}  // namespace
}  // namespace cofire
