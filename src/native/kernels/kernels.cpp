// The arithmetic, compiled once per SIMD level: COFIRE_LEVEL names the table it defines.
#include "kernels/kernels.hpp"

#include "kernels/exact_sums.hpp"
#include "kernels/gather.hpp"
#include "kernels/losses.hpp"
#include "kernels/passes.hpp"
#include "kernels/products.hpp"
#include "kernels/steps.hpp"

namespace cofire {
namespace {

// ---- from run-time numbers to compiled ones -------------------------------------------------

template <int N> struct Constant {
    static constexpr int value = N;
};

// Calls body(Constant<n>) for the n in 1 … 8 that is known only now.
template <class Body> COFIRE_INLINE void with_constant(int n, Body body) {
    switch (n) {
        case 1: return body(Constant<1>{});
        case 2: return body(Constant<2>{});
        case 3: return body(Constant<3>{});
        case 4: return body(Constant<4>{});
        case 5: return body(Constant<5>{});
        case 6: return body(Constant<6>{});
        case 7: return body(Constant<7>{});
        default: return body(Constant<8>{});
    }
}

void forward(int n8, const Connections& by_output, const float* bias, const float* in, float* out,
             Activation activation, bool far) {
    with_constant(n8, [&](auto n) {
        constexpr int N8 = decltype(n)::value;
        const auto rows = far ? forward_rows<N8, true> : forward_rows<N8, false>;
        rows(by_output, bias, in, out, activation);
    });
}

void gather_tile(int n8, int64_t n_features, const uint16_t* rows, const uint16_t* next_rows,
                 const float* step, const int32_t* zero, const int32_t* destination, float* tile) {
    with_constant(n8, [&](auto n) {
        gather_tile_rows<decltype(n)::value>(n_features, rows, next_rows, step, zero, destination,
                                             tile);
    });
}

void backward(int n8, const Connections& by_input, const float* delta, float* in,
              Activation activation, float* gradient, float* bias_gradient, bool accumulate,
              uint8_t* fired, bool far) {
    const bool first = bias_gradient == nullptr;
    with_constant(n8, [&](auto n) {
        constexpr int N8 = decltype(n)::value;
        const auto rows =
            first ? (far ? backward_rows<N8, true, true> : backward_rows<N8, true, false>)
                  : (far ? backward_rows<N8, false, true> : backward_rows<N8, false, false>);
        rows(by_input, delta, in, activation, gradient, bias_gradient, accumulate, fired);
    });
}

void row_sums(int n8, int64_t n_rows, const float* rows, float* sums, bool accumulate) {
    with_constant(n8,
                  [&](auto n) { sum_rows<decltype(n)::value>(n_rows, rows, sums, accumulate); });
}

void backward_exact(int n8, const Connections& by_input, const float* delta, float* in,
                    Activation activation, const double* sample_weight, double* gradient,
                    double* bias_gradient, uint8_t* fired) {
    with_constant(n8, [&](auto n) {
        backward_exact_rows<decltype(n)::value>(by_input, delta, in, activation, sample_weight,
                                                gradient, bias_gradient, fired);
    });
}

void row_sums_exact(int n8, int64_t n_rows, const float* rows, const double* sample_weight,
                    double* sums) {
    with_constant(n8, [&](auto n) {
        row_sums_exact_rows<decltype(n)::value>(n_rows, rows, sample_weight, sums);
    });
}

void sgd(int64_t begin, int64_t end, int64_t n_live, int n_groups, const float* const* gradients,
         float* weight, float* velocity, const SgdStep& step) {
    with_constant(n_groups, [&](auto n) {
        sgd_range<decltype(n)::value>(begin, end, n_live, gradients, weight, velocity, step);
    });
}

void adam(int64_t begin, int64_t end, int64_t n_live, int n_groups, const float* const* gradients,
          float* weight, float* first, float* second, const AdamStep& step) {
    with_constant(n_groups, [&](auto n) {
        adam_range<decltype(n)::value>(begin, end, n_live, gradients, weight, first, second, step);
    });
}

void add_rows(int n8, int64_t n_rows, const float* rows, const float* factor, int64_t stride,
              float* sums) {
    with_constant(
        n8, [&](auto n) { add_rows_of<decltype(n)::value>(n_rows, rows, factor, stride, sums); });
}

void pair_sums(int n8, int64_t n, const float* a, const int32_t* a_row, const float* b,
               const int32_t* b_row, const float* weight, double* sums) {
    with_constant(n8, [&](auto count) {
        constexpr int N8 = decltype(count)::value;
        const auto rows = weight != nullptr ? pair_sums_rows<N8, true> : pair_sums_rows<N8, false>;
        rows(n, a, a_row, b, b_row, weight, sums);
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
    row_sums,
    backward_exact,
    row_sums_exact,
    predict,
    sgd,
    adam,
    kPanels,
    add_squares,
    pack,
    products,
    products_exact,
    add_rows,
    pair_sums,
};

}  // namespace cofire
