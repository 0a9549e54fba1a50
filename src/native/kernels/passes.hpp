// Forward and backward through one layer, for one tile. Compiled once per SIMD level as a part of
// kernels.cpp; internal linkage throughout, for the reason in vectors.hpp.
#pragma once

#include "kernels/kernels.hpp"
#include "kernels/vectors.hpp"

namespace cofire {
namespace {

// How many connections ahead a tile row is prefetched when a layer no longer fits the cache.
constexpr int64_t kPrefetchAhead = 12;

template <int N8> COFIRE_INLINE void prefetch_tile_row(const float* tile_row) {
    for (int line = 0; line < (N8 + 1) / 2; line++) __builtin_prefetch(tile_row + 16 * line, 0, 3);
}

// ---- forward ------------------------------------------------------------------------------

template <int N8> COFIRE_INLINE void activate(TileRow<N8>& y, Activation activation) {
    switch (activation) {
        case Activation::relu: y.apply([](auto v) { return at_least(decltype(v){}, v); }); break;
        case Activation::leaky_relu:
            y.apply([](auto v) { return v < 0.0f ? v * kLeakySlope : v; });
            break;
        case Activation::tanh: y.apply([](auto v) { return hyperbolic_tangent(v); }); break;
        case Activation::identity: break;
    }
}

template <int N8, bool Far>
void forward_by(const Connections& by_output, const float* bias, const float* in, float* out,
                Activation activation) {
    constexpr int64_t stride = N8 * 8;
    const int64_t* start = by_output.start;
    const int32_t* other = by_output.other;
    const float* weight = by_output.weight;
    const int64_t last = start[by_output.n_neurons] - 1;
    for (int64_t o = 0; o < by_output.n_neurons; o++) {
        TileRow<N8> y = TileRow<N8>::filled(bias[o]);
        for (int64_t k = start[o]; k < start[o + 1]; k++) {
            if constexpr (Far) {
                const int64_t soon = k + kPrefetchAhead < last ? k + kPrefetchAhead : last;
                prefetch_tile_row<N8>(in + other[soon] * stride);
            }
            y.add(weight[k], TileRow<N8>::at(in + other[k] * stride));
        }
        activate(y, activation);
        y.put(out + o * stride);
    }
}

// ---- backward -----------------------------------------------------------------------------

template <int N8>
COFIRE_INLINE void derive(TileRow<N8>& delta, const TileRow<N8>& x, Activation activation) {
    switch (activation) {
        case Activation::relu:
            delta.apply(x, [](auto d, auto v) { return v > 0.0f ? d : decltype(d){}; });
            break;
        case Activation::leaky_relu:
            delta.apply(x, [](auto d, auto v) { return v > 0.0f ? d : d * kLeakySlope; });
            break;
        case Activation::tanh:
            delta.apply(x, [](auto d, auto v) { return d * (1.0f - v * v); });
            break;
        case Activation::identity: break;
    }
}

template <int N8, bool First, bool Far>
void backward_by(const Connections& by_input, const float* delta, float* in, Activation activation,
                 float* gradient, float* bias_gradient, bool accumulate, uint8_t* fired) {
    constexpr int64_t stride = N8 * 8;
    const int64_t* start = by_input.start;
    const int32_t* other = by_input.other;
    const float* weight = by_input.weight;
    const int64_t n_connections = start[by_input.n_neurons];
    Block partial[kBlock];  // of the connections since the last multiple of kBlock
    constexpr int64_t full = kBlock - 1;
    auto flush = [&](int64_t k) {  // the gradients up to k from partial
        Block g = sum_each(partial);
        if (accumulate) g += load<Block>(gradient + k - full);
        store(gradient + k - full, g);
    };
    const bool dead_at_zero = First || traits(activation).dead_below_zero;
    for (int64_t i = 0; i < by_input.n_neurons; i++) {
        float* tile_row = in + i * stride;
        const TileRow<N8> x = TileRow<N8>::at(tile_row);
        const int64_t end = start[i + 1];
        const bool inactive = x.is_zero();
        if (!inactive) fired[i] = 1;
        // An inactive neuron passes no gradient to its connections and, where its function is flat,
        // no delta to the layer below.
        if (inactive && dead_at_zero) {
            for (int64_t k = start[i]; k < end; k++) {
                partial[k & full] = Block{};
                if ((k & full) == full) flush(k);
            }
            if constexpr (!First)
                if (!accumulate) bias_gradient[i] = 0.0f;
            continue;  // the tile row is zero already, which is its delta
        }
        TileRow<N8> back = TileRow<N8>::filled(0.0f);
        for (int64_t k = start[i]; k < end; k++) {
            if constexpr (Far) {
                const int64_t soon =
                    k + kPrefetchAhead < n_connections ? k + kPrefetchAhead : n_connections - 1;
                prefetch_tile_row<N8>(delta + other[soon] * stride);
            }
            const TileRow<N8> d = TileRow<N8>::at(delta + other[k] * stride);
            partial[k & full] = dot(x, d);
            if constexpr (!First) back.add(weight[k], d);
            if ((k & full) == full) flush(k);
        }
        if constexpr (!First) {
            derive(back, x, activation);
            back.put(tile_row);
            const float g = total(back);
            bias_gradient[i] = accumulate ? bias_gradient[i] + g : g;
        }
    }
    for (int64_t k = n_connections & ~full; k < n_connections; k++) {
        const float g = sum(partial[k & full]);
        gradient[k] = accumulate ? gradient[k] + g : g;
    }
}

}  // namespace
}  // namespace cofire
