// Estimates of sums of products, for the search among few rows, and the very sums of single pairs.
// Compiled once per SIMD level as a part of kernels.cpp; internal linkage throughout, for the
// reason in vectors.hpp.
//
// With few rows, what products.hpp does once per pair (double sums, or the sum over lanes) takes
// longer than its multiply-adds. Here the lanes run along the inputs, so that nothing is done per
// pair but to compare the estimate with a limit. The few pairs that pass are summed as in
// products.hpp, in the same order and so to the same bits.
#pragma once

#include "kernels/kernels.hpp"
#include "kernels/products.hpp"
#include "kernels/vectors.hpp"

namespace cofire {
namespace {

// As many sums as there are registers for, beside two vectors of inputs and one output.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr EstimateShape kEstimates = {12, 2 * kWide};
#else
constexpr EstimateShape kEstimates = {6, 2 * kWide};
#endif
static_assert(kEstimatedOutputs % kEstimates.n_outputs == 0);
static_assert(kEstimates.n_inputs <= kMostEstimatedInputs);

// ---- packing ----------------------------------------------------------------------------------

void pack_columns(int n8, int64_t n_columns, const float* tile, int64_t n, const int32_t* which,
                  const float* factor, const float* weight, int panel_size, int64_t panel_stride,
                  float* panels) {
    const int64_t stride = n8 * 8;
    const auto put = [&](int64_t k, int64_t s) {
        float x = tile[which[k] * stride + s] * factor[k];
        if (weight != nullptr) x *= weight[s];
        panels[k / panel_size * panel_stride + s * panel_size + k % panel_size] = x;
    };
    int64_t k = 0;
    if (weight == nullptr && panel_size % kBlock == 0)
        for (; k + kBlock <= n; k += kBlock) {
            float* to = panels + k / panel_size * panel_stride + k % panel_size;
            int64_t s = 0;
            for (; s + kBlock <= n_columns; s += kBlock) {
                Block block[kBlock];
                for (int j = 0; j < kBlock; j++)
                    block[j] = load<Block>(tile + which[k + j] * stride + s) * factor[k + j];
                transpose(block);
                for (int c = 0; c < kBlock; c++) store(to + (s + c) * panel_size, block[c]);
            }
            for (; s < n_columns; s++)
                for (int j = 0; j < kBlock; j++) put(k + j, s);
        }
    for (; k < n; k++)
        for (int64_t s = 0; s < n_columns; s++) put(k, s);
}

// ---- estimates --------------------------------------------------------------------------------

// Appends the lanes of `x` that are not <= limit.
COFIRE_INLINE int64_t append_above(Wide x, float limit, int first, int64_t n, uint16_t* which,
                                   float* estimates) {
    typedef typename Related<Wide>::Int Whole;
    const Whole above = ~(Whole)(x <= limit);  // NaN too
    if (!any_bits(above)) return n;
    for (int c = 0; c < kWide; c++) {
        which[n] = static_cast<uint16_t>(first + c);
        estimates[n] = x[c];
        n += above[c] & 1;
    }
    return n;
}

int64_t estimates_above(int64_t n_columns, int64_t n_out_panels, const float* outputs,
                        const float* inputs, float sign, float limit, uint16_t* which,
                        float* estimates) {
    constexpr int n_out = kEstimates.n_outputs, n_in = kEstimates.n_inputs;
    int64_t n = 0;
    for (int64_t p = 0; p < n_out_panels; p++) {
        Wide low[n_out], high[n_out];
        for (int o = 0; o < n_out; o++) low[o] = high[o] = Wide{};
        const float* y = outputs + p * n_columns * n_out;
        for (int64_t s = 0; s < n_columns; s++, y += n_out) {
            const Wide a = load<Wide>(inputs + s * n_in), b = load<Wide>(inputs + s * n_in + kWide);
#pragma GCC unroll 16
            for (int o = 0; o < n_out; o++) {
                low[o] += y[o] * a;
                high[o] += y[o] * b;
            }
        }
#pragma GCC unroll 16
        for (int o = 0; o < n_out; o++) {
            const int first = static_cast<int>(p * n_out + o) * n_in;
            n = append_above(sign * magnitude(low[o]), limit, first, n, which, estimates);
            n = append_above(sign * magnitude(high[o]), limit, first + kWide, n, which, estimates);
        }
    }
    return n;
}

// ---- single pairs -----------------------------------------------------------------------------

// Sums of lanes as products.hpp has them, column after column.
template <class T> COFIRE_INLINE void add_lanes(const PairTile& tile, T total[kPanels.lanes]) {
    constexpr int lanes = kPanels.lanes;
    for (int v = 0; v < tile.n8; v++)
        for (int c = 0; c < 8; c++) {
            const int column = 8 * v + c;
            const T weighted = static_cast<T>(tile.weight[column]) * tile.output[column];
            total[column % lanes] += weighted * tile.input[column];
        }
}

double pair_product(int64_t n_tiles, const PairTile* tiles) {
    float total[kPanels.lanes] = {};
    for (int64_t t = 0; t < n_tiles; t++) add_lanes(tiles[t], total);
    Wide four[4];
    for (Wide& v : four) v = load<Wide>(total);
    return four_sums(four)[0];
}

double pair_product_exact(int64_t n_tiles, const PairTile* tiles) {
    double total[kPanels.lanes] = {};
    for (int64_t t = 0; t < n_tiles; t++) add_lanes(tiles[t], total);
    double sum = 0.0;
    for (int c = 0; c < kPanels.lanes; c++) sum += total[c];
    return sum;
}

}  // namespace
}  // namespace cofire
