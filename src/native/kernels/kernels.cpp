// The arithmetic, compiled once per SIMD level: COFIRE_LEVEL names the table that it defines.
#include "kernels/kernels.hpp"

#include "kernels/estimates.hpp"
#include "kernels/exact_sums.hpp"
#include "kernels/gather.hpp"
#include "kernels/losses.hpp"
#include "kernels/passes.hpp"
#include "kernels/products.hpp"
#include "kernels/steps.hpp"

namespace cofire {
namespace {

void forward(int n8, const Connections& by_output, const float* bias, const float* in, float* out,
             Activation activation, bool far) {
    with_constant(n8, [&](auto n) {
        constexpr int N8 = decltype(n)::value;
        const auto pass = far ? forward_by<N8, true> : forward_by<N8, false>;
        pass(by_output, bias, in, out, activation);
    });
}

void gather_tile(int n8, int64_t n_features, const uint16_t* from, const uint16_t* next,
                 const float* step, const int32_t* zero, const int32_t* tile_row, float* tile) {
    with_constant(n8, [&](auto n) {
        gather_tile_by<decltype(n)::value>(n_features, from, next, step, zero, tile_row, tile);
    });
}

void backward(int n8, const Connections& by_input, const float* delta, float* in,
              Activation activation, float* gradient, float* bias_gradient, bool accumulate,
              uint8_t* fired, bool far) {
    const bool first = bias_gradient == nullptr;
    with_constant(n8, [&](auto n) {
        constexpr int N8 = decltype(n)::value;
        const auto pass =
            first ? (far ? backward_by<N8, true, true> : backward_by<N8, true, false>)
                  : (far ? backward_by<N8, false, true> : backward_by<N8, false, false>);
        pass(by_input, delta, in, activation, gradient, bias_gradient, accumulate, fired);
    });
}

void tile_row_sums(int n8, int64_t n_tile_rows, const float* tile, float* sums, bool accumulate) {
    with_constant(n8, [&](auto n) {
        tile_row_sums_by<decltype(n)::value>(n_tile_rows, tile, sums, accumulate);
    });
}

void backward_exact(int n8, const Connections& by_input, const float* delta, float* in,
                    Activation activation, const double* sample_weight, double* gradient,
                    double* bias_gradient, uint8_t* fired) {
    with_constant(n8, [&](auto n) {
        backward_exact_by<decltype(n)::value>(by_input, delta, in, activation, sample_weight,
                                              gradient, bias_gradient, fired);
    });
}

void tile_row_sums_exact(int n8, int64_t n_tile_rows, const float* tile,
                         const double* sample_weight, double* sums) {
    with_constant(n8, [&](auto n) {
        tile_row_sums_exact_by<decltype(n)::value>(n_tile_rows, tile, sample_weight, sums);
    });
}

void add_tile_rows(int n8, int64_t n_tile_rows, const float* tile, const float* factor,
                   int64_t stride, float* sums) {
    with_constant(n8, [&](auto n) {
        add_tile_rows_by<decltype(n)::value>(n_tile_rows, tile, factor, stride, sums);
    });
}

void pair_sums(int n8, int64_t n, const float* a, const int32_t* a_tile_row, const float* b,
               const int32_t* b_tile_row, const float* weight, double* sums) {
    with_constant(n8, [&](auto count) {
        constexpr int N8 = decltype(count)::value;
        const auto pairs = weight != nullptr ? pair_sums_by<N8, true> : pair_sums_by<N8, false>;
        pairs(n, a, a_tile_row, b, b_tile_row, weight, sums);
    });
}

#define COFIRE_TEXT_(x) #x
#define COFIRE_TEXT(x) COFIRE_TEXT_(x)

}  // namespace

extern const Kernels COFIRE_LEVEL;
const Kernels COFIRE_LEVEL = {
    COFIRE_TEXT(COFIRE_LEVEL),
    gather_floats,
    gather_bytes,
    gather_tile,
    drop_values,
    forward,
    backward,
    softmax_loss,
    sigmoid_loss,
    squared_loss,
    tile_row_sums,
    backward_exact,
    tile_row_sums_exact,
    predict,
    Steps::steps,
    kPanels,
    add_squares,
    moments,
    pack,
    products,
    products_exact,
    kEstimates,
    pack_columns,
    estimates_above,
    pair_product,
    pair_product_exact,
    add_tile_rows,
    pair_sums,
};

}  // namespace cofire
