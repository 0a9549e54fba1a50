// Sums of products of activations, for the similarity search. Compiled once per SIMD level as
// a part of kernels.cpp; internal linkage throughout, for the reason in vectors.hpp.
//
// sum over samples of a * b, for a block of outputs against a block of inputs: the lanes run
// along the samples, each pair of the block has its own register, and the lanes are summed
// once per chunk. Against outer products (lanes along the inputs) this saves the transposition of
// the activations and a third of the loads, and 16 short sums round less than one long sum.
#pragma once

#include "kernels/kernels.hpp"
#include "kernels/vectors.hpp"

namespace cofire {
namespace {

typedef double d4_in_memory __attribute__((vector_size(32), aligned(8), may_alias));

// As many pairs as there are registers for, beside one vector per output and one input.
#if defined(__AVX512F__)
constexpr PanelShape kPanels = {16, 4, 6};
#elif defined(__AVX2__)
constexpr PanelShape kPanels = {8, 3, 4};
#elif defined(__aarch64__)
constexpr PanelShape kPanels = {4, 4, 6};
#else
constexpr PanelShape kPanels = {4, 3, 4};
#endif
typedef Wide WideInMemory __attribute__((may_alias));
constexpr int kPairs = kPanels.n_outputs * kPanels.n_inputs;
static_assert(kPairs % 4 == 0);

COFIRE_INLINE f4 four_sums(const Wide v[4]) {
    return to_four(add_twos(add_neighbours(v[0], v[1]), add_neighbours(v[2], v[3])));
}

// ---- products ---------------------------------------------------------------------------------

COFIRE_INLINE void panel_products(int64_t n_groups, const float* outputs, const float* inputs,
                                  bool accumulate, double* sums) {
    constexpr int n_out = kPanels.n_outputs, n_in = kPanels.n_inputs, lanes = kPanels.lanes;
    for (int line = 0; line < kPairs; line += 8) __builtin_prefetch(sums + line, 1, 3);
    Wide pair[kPairs];
    for (int j = 0; j < kPairs; j++) pair[j] = Wide{};
    for (int64_t g = 0; g < n_groups; g++) {
        Wide a[n_out];
#pragma GCC unroll 8
        for (int o = 0; o < n_out; o++) a[o] = *(const WideInMemory*)(outputs + o * lanes);
#pragma GCC unroll 8
        for (int i = 0; i < n_in; i++) {
            const Wide b = *(const WideInMemory*)(inputs + i * lanes);
#pragma GCC unroll 8
            for (int o = 0; o < n_out; o++) pair[o * n_in + i] += a[o] * b;
        }
        outputs += n_out * lanes;
        inputs += n_in * lanes;
    }
#pragma GCC unroll 8
    for (int j = 0; j < kPairs; j += 4) {
        auto four = __builtin_convertvector(four_sums(pair + j), d4_in_memory);
        if (accumulate) four += *(const d4_in_memory*)(sums + j);
        *(d4_in_memory*)(sums + j) = four;
    }
}

void products(int64_t n_columns, int64_t capacity, int64_t n_out_panels, const float* outputs,
              int64_t n_in_panels, const float* inputs, bool accumulate, double* sums) {
    const int64_t n_groups = (n_columns + kPanels.lanes - 1) / kPanels.lanes;
    // The inputs' panel stays in the first cache, the outputs' panels come from the second.
    for (int64_t i = 0; i < n_in_panels; i++)
        for (int64_t o = 0; o < n_out_panels; o++)
            panel_products(n_groups, outputs + o * capacity * kPanels.n_outputs,
                           inputs + i * capacity * kPanels.n_inputs, accumulate,
                           sums + (o * n_in_panels + i) * kPairs);
}

// The same with double sums and the columns' weights applied there, for few samples: then the
// sums do not depend on the samples' order, and a sample of weight 2 is the same as the sample
// twice.
void products_exact(int64_t n_columns, int64_t capacity, int64_t n_out_panels, const float* outputs,
                    int64_t n_in_panels, const float* inputs, const double* column_weight,
                    double* sums) {
    constexpr int n_out = kPanels.n_outputs, n_in = kPanels.n_inputs, lanes = kPanels.lanes;
    const int64_t n_groups = (n_columns + lanes - 1) / lanes;
    for (int64_t p = 0; p < n_out_panels; p++)
        for (int64_t q = 0; q < n_in_panels; q++) {
            const float* a = outputs + p * capacity * n_out;
            const float* b = inputs + q * capacity * n_in;
            double total[kPairs][lanes] = {};
            for (int64_t g = 0; g < n_groups; g++)
                for (int o = 0; o < n_out; o++) {
                    double weighted[lanes];
                    for (int c = 0; c < lanes; c++)
                        weighted[c] = column_weight[g * lanes + c] * a[(g * n_out + o) * lanes + c];
                    for (int i = 0; i < n_in; i++)
                        for (int c = 0; c < lanes; c++)
                            total[o * n_in + i][c] += weighted[c] * b[(g * n_in + i) * lanes + c];
                }
            double* pair = sums + (p * n_in_panels + q) * kPairs;
            for (int j = 0; j < kPairs; j++) {
                pair[j] = 0.0;
                for (int c = 0; c < lanes; c++) pair[j] += total[j][c];
            }
        }
}

// ---- packing ----------------------------------------------------------------------------------

// Eight columns of neuron j of a panel.
COFIRE_INLINE void put8(float* panel, int panel_size, int j, int64_t column, f8 x) {
    constexpr int lanes = kPanels.lanes;
    if constexpr (lanes >= 8) {
        store(panel + (column / lanes * panel_size + j) * lanes + column % lanes, x);
    } else {
        float* p = panel + (column / lanes * panel_size + j) * lanes;
        store<f4>(p, COFIRE_PICK(x, x, 0, 1, 2, 3));
        store<f4>(p + panel_size * lanes, COFIRE_PICK(x, x, 4, 5, 6, 7));
    }
}

void pack(int n8, const float* tile, int64_t n, const int32_t* which, const float* weight,
          int panel_size, int64_t capacity, int64_t column, float* panels) {
    const int64_t stride = n8 * 8;
    for (int64_t k = 0; k < n; k++) {
        const float* tile_row = tile + which[k] * stride;
        float* panel = panels + k / panel_size * panel_size * capacity;
        const int j = static_cast<int>(k % panel_size);
        for (int v = 0; v < n8; v++) {
            f8 x = load<f8>(tile_row + 8 * v);
            if (weight != nullptr) x *= load<f8>(weight + 8 * v);
            put8(panel, panel_size, j, column + 8 * v, x);
        }
        if (kPanels.lanes == 16 && n8 % 2 == 1) put8(panel, panel_size, j, column + 8 * n8, f8{});
    }
}

void add_squares(int n8, int64_t n_tile_rows, const float* tile, const float* weight,
                 double* sums) {
    const int64_t stride = n8 * 8;
    for (int64_t j = 0; j < n_tile_rows; j++) {
        double total[8] = {};
        for (int64_t s = 0; s < stride; s += 8)
            for (int c = 0; c < 8; c++) {
                const double x = tile[j * stride + s + c];
                total[c] += x * weight[s + c] * x;
            }
        sums[j] += ((total[0] + total[4]) + (total[2] + total[6])) +
                   ((total[1] + total[5]) + (total[3] + total[7]));
    }
}

// Eight chains of additions at once: the lanes run along the neurons.
void moments(int n8, int64_t n_tile_rows, const float* tile, const float* weight, double* sums,
             double* squares) {
    typedef double Doubles __attribute__((vector_size(kBlock * 8)));
    typedef double DoublesInMemory __attribute__((vector_size(kBlock * 8), aligned(8), may_alias));
    const int64_t stride = n8 * 8;
    for (int64_t j = 0; j + kBlock <= n_tile_rows; j += kBlock) {
        Doubles sum = {}, square = {};
        for (int64_t s = 0; s < stride; s += kBlock) {
            Block block[kBlock];
            for (int c = 0; c < kBlock; c++) block[c] = load<Block>(tile + (j + c) * stride + s);
            transpose(block);
            for (int c = 0; c < kBlock; c++) {
                const Doubles x = __builtin_convertvector(block[c], Doubles);
                const Doubles weighted = x * static_cast<double>(weight[s + c]);
                sum += weighted;
                square += weighted * x;
            }
        }
        *(DoublesInMemory*)(sums + j) = sum;
        *(DoublesInMemory*)(squares + j) = square;
    }
    for (int64_t j = n_tile_rows / kBlock * kBlock; j < n_tile_rows; j++) {
        sums[j] = squares[j] = 0.0;
        for (int64_t s = 0; s < stride; s++) {
            const double x = tile[j * stride + s], weighted = x * weight[s];
            sums[j] += weighted;
            squares[j] += weighted * x;
        }
    }
}

// ---- sums of tile rows
// ---------------------------------------------------------------------------

template <int N8>
void add_tile_rows_by(int64_t n_tile_rows, const float* tile, const float* factor, int64_t stride,
                      float* sums) {
    typedef TileRow<N8> Samples;
    const Samples f = Samples::at(factor);
    for (int64_t j = 0; j < n_tile_rows; j++) {
        Samples x = Samples::at(tile + j * (N8 * 8));
        x.apply(f, [](auto a, auto b) { return a * b; });
        x.apply(Samples::at(sums + j * stride), [](auto a, auto b) { return a + b; });
        x.put(sums + j * stride);
    }
}

// ---- single pairs -----------------------------------------------------------------------------

template <int N8, bool Weighted>
void pair_sums_by(int64_t n, const float* a, const int32_t* a_tile_row, const float* b,
                  const int32_t* b_tile_row, const float* weight, double* sums) {
    typedef TileRow<N8> Samples;
    typedef double Doubles __attribute__((vector_size(kBlock * 8), aligned(8), may_alias));
    const Samples w = Weighted ? Samples::at(weight) : Samples::filled(1.0f);
    const auto weighted = [&](int64_t tile_row) {
        Samples y = Samples::at(b + tile_row * (N8 * 8));
        if (Weighted) y.apply(w, [](auto p, auto q) { return p * q; });
        return y;
    };
    const auto product = [&](int64_t k, const Samples& y) {
        return dot(Samples::at(a + a_tile_row[k] * (N8 * 8)), y);
    };
    int64_t k = 0;
    for (; k + kBlock <= n; k += kBlock) {
        Block products[kBlock];
        bool same = true;
        for (int j = 1; j < kBlock; j++) same &= b_tile_row[k + j] == b_tile_row[k];
        if (same) {  // stays in registers
            const Samples y = weighted(b_tile_row[k]);
#pragma GCC unroll 8
            for (int j = 0; j < kBlock; j++) products[j] = product(k + j, y);
        } else {
#pragma GCC unroll 8
            for (int j = 0; j < kBlock; j++)
                products[j] = product(k + j, weighted(b_tile_row[k + j]));
        }
        *(Doubles*)(sums + k) += __builtin_convertvector(sum_each(products), Doubles);
    }
    for (; k < n; k++) {
        const Block products[kBlock] = {product(k, weighted(b_tile_row[k]))};
        sums[k] += sum_each(products)[0];
    }
}

}  // namespace
}  // namespace cofire
