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
static_assert(kPanels.lanes == kWide);
static_assert(kEstimatedOutputs % kEstimates.n_outputs == 0);
static_assert(kEstimates.n_inputs <= kMostEstimatedInputs);

// ---- packing ----------------------------------------------------------------------------------

// Blocks of as many neurons as F has lanes, from neuron k on; returns the first that is left over.
template <class F>
COFIRE_INLINE int64_t pack_blocks(int64_t stride, int64_t n_columns, const float* tile, int64_t k,
                                  int64_t n, const int32_t* which, const float* factor,
                                  const float* weight, int panel_size, int64_t panel_stride,
                                  float* panels) {
    constexpr int lanes = sizeof(F) / sizeof(float);
    for (; k + lanes <= n; k += lanes) {
        float* to = panels + k / panel_size * panel_stride + k % panel_size;
        for (int64_t s = 0; s < n_columns; s += lanes) {
            F block[lanes];
            for (int j = 0; j < lanes; j++) {
                block[j] = load<F>(tile + which[k + j] * stride + s) * factor[k + j];
                if (weight != nullptr) block[j] *= load<F>(weight + s);
            }
            transpose(block);
            const int64_t rest = n_columns - s;  // beyond it is padding
            if (rest >= lanes)
                for (int c = 0; c < lanes; c++) store(to + (s + c) * panel_size, block[c]);
            else
                for (int c = 0; c < rest; c++) store(to + (s + c) * panel_size, block[c]);
        }
    }
    return k;
}

void pack_columns(int n8, int64_t n_columns, const float* tile, int64_t n, const int32_t* which,
                  const float* factor, const float* weight, int panel_size, int64_t panel_stride,
                  float* panels) {
    const int64_t stride = n8 * 8;
    int64_t k = 0;
    if (panel_size % kBlock == 0)
        k = pack_blocks<Block>(stride, n_columns, tile, k, n, which, factor, weight, panel_size,
                               panel_stride, panels);
    else if (panel_size % 4 == 0)
        k = pack_blocks<f4>(stride, n_columns, tile, k, n, which, factor, weight, panel_size,
                            panel_stride, panels);
    for (; k < n; k++)
        for (int64_t s = 0; s < n_columns; s++) {
            float x = tile[which[k] * stride + s] * factor[k];
            if (weight != nullptr) x *= weight[s];
            panels[k / panel_size * panel_stride + s * panel_size + k % panel_size] = x;
        }
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

// Lanes are summed as in products.hpp: column after column, group after group.
COFIRE_INLINE Wide lane_sums(const PairTile& tile, Wide sums) {
    const int n = tile.n8 * 8;
    const auto add = [&](const float* weight, const float* output, const float* input) {
        const Wide weighted = load<Wide>(weight) * load<Wide>(output);
        sums += weighted * load<Wide>(input);
    };
    int s = 0;
    for (; s + kWide <= n; s += kWide) add(tile.weight + s, tile.output + s, tile.input + s);
    if constexpr (kWide > 8)
        if (s < n) {  // half a group
            float weight[kWide] = {}, output[kWide] = {}, input[kWide] = {};
            store(weight, load<f8>(tile.weight + s));
            store(output, load<f8>(tile.output + s));
            store(input, load<f8>(tile.input + s));
            add(weight, output, input);
        }
    return sums;
}

double pair_product(int64_t n_tiles, const PairTile* tiles) {
    Wide sums = {};
    for (int64_t t = 0; t < n_tiles; t++) sums = lane_sums(tiles[t], sums);
    const Wide four[4] = {sums, sums, sums, sums};
    return four_sums(four)[0];
}

double pair_product_exact(int64_t n_tiles, const PairTile* tiles) {
    // Part of a group: as many lanes as Block has.
    typedef double Part __attribute__((vector_size(kBlock * 8)));
    constexpr int n_parts = kPanels.lanes / kBlock;
    static_assert(n_parts == 1 || n_parts == 2);
    Part sums[2] = {};
    for (int64_t t = 0; t < n_tiles; t++) {
        const PairTile& tile = tiles[t];
        const auto add = [&](int s, Part& sum) {
            const auto at = [s](const float* p) {
                return __builtin_convertvector(load<Block>(p + s), Part);
            };
            const Part weighted = at(tile.weight) * at(tile.output);
            sum += weighted * at(tile.input);
        };
        const int n = tile.n8 * 8;
        for (int s = 0; s < n; s += n_parts * kBlock) {
            add(s, sums[0]);
            if (n_parts == 2 && s + kBlock < n) add(s + kBlock, sums[1]);
        }
    }
    double sum = 0.0;
    for (int p = 0; p < n_parts; p++)
        for (int c = 0; c < kBlock; c++) sum += sums[p][c];
    return sum;
}

}  // namespace
}  // namespace cofire
