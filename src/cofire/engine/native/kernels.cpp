// The arithmetic, compiled once per SIMD level: COFIRE_LEVEL names the table it defines.
#include "kernels.hpp"

#include <cmath>

#include "products.hpp"
#include "vectors.hpp"

namespace cofire {
namespace {

// How far ahead to ask for a neuron's row when a layer no longer fits the cache.
constexpr int64_t kPrefetchAhead = 12;

template <int N8> COFIRE_INLINE void prefetch_row(const float* row) {
    for (int line = 0; line < (N8 + 1) / 2; line++) __builtin_prefetch(row + 16 * line, 0, 3);
}

// ---- gather -------------------------------------------------------------------------------

COFIRE_INLINE void put_block(f8 block[8], const int32_t* destination, int count, int64_t stride,
                             float* tile) {
    transpose8(block);
    for (int i = 0; i < count; i++)
        if (destination[i] >= 0) store(tile + destination[i] * stride, block[i]);
}

void gather_floats(int n8, int64_t n_features, const float* const* rows,
                   const float* const* next_rows, const int32_t* destination, float* tile) {
    const int64_t stride = n8 * 8;
    for (int strip = 0; strip < n8; strip++) {
        const float* const* r = rows + 8 * strip;
        const float* const* ahead = strip + 1 < n8 ? r + 8 : next_rows;
        float* out = tile + 8 * strip;
        int64_t f = 0;
        for (; f + 16 <= n_features; f += 16) {
            for (int s = 0; s < 8; s++) __builtin_prefetch(ahead[s] + f + 16, 0, 2);
            for (int half = 0; half < 16; half += 8) {
                f8 block[8];
                for (int s = 0; s < 8; s++) block[s] = load8(r[s] + f + half);
                put_block(block, destination + f + half, 8, stride, out);
            }
        }
        for (; f < n_features; f++)
            if (destination[f] >= 0)
                for (int s = 0; s < 8; s++) out[destination[f] * stride + s] = r[s][f];
    }
}

void gather_bytes(int n8, int64_t n_features, const uint8_t* const* rows, const float* scale,
                  const float* offset, const int32_t* destination, float* tile) {
    typedef uint8_t u8x8 __attribute__((vector_size(8), aligned(1), may_alias));
    const int64_t stride = n8 * 8;
    for (int strip = 0; strip < n8; strip++) {
        const uint8_t* const* r = rows + 8 * strip;
        float* out = tile + 8 * strip;
        int64_t f = 0;
        for (; f + 8 <= n_features; f += 8) {
            const f8 a = load8(scale + f), b = load8(offset + f);
            f8 block[8];
            for (int s = 0; s < 8; s++)
                block[s] = __builtin_convertvector(*(const u8x8*)(r[s] + f), f8) * a + b;
            put_block(block, destination + f, 8, stride, out);
        }
        for (; f < n_features; f++)
            if (destination[f] >= 0)
                for (int s = 0; s < 8; s++)
                    out[destination[f] * stride + s] = r[s][f] * scale[f] + offset[f];
    }
}

// ---- forward ------------------------------------------------------------------------------

template <int N8> COFIRE_INLINE void activate(Row<N8>& y, Activation activation) {
    switch (activation) {
        case Activation::relu:
            y.apply([](auto v) { return at_least(decltype(v){}, v); });
            break;
        case Activation::leaky_relu:
            y.apply([](auto v) { return v < 0.0f ? v * kLeakySlope : v; });
            break;
        case Activation::tanh:
            y.apply([](auto v) { return hyperbolic_tangent(v); });
            break;
        case Activation::identity:
            break;
    }
}

template <int N8, bool Far>
void forward_rows(const Connections& by_output, const float* bias, const float* in, float* out,
                  Activation activation) {
    constexpr int64_t stride = N8 * 8;
    const int64_t* start = by_output.start;
    const int32_t* other = by_output.other;
    const float* weight = by_output.weight;
    const int64_t last = start[by_output.n_neurons] - 1;
    for (int64_t o = 0; o < by_output.n_neurons; o++) {
        Row<N8> y = Row<N8>::filled(bias[o]);
        for (int64_t k = start[o]; k < start[o + 1]; k++) {
            if constexpr (Far) {
                const int64_t soon = k + kPrefetchAhead < last ? k + kPrefetchAhead : last;
                prefetch_row<N8>(in + other[soon] * stride);
            }
            y.add(weight[k], Row<N8>::at(in + other[k] * stride));
        }
        activate(y, activation);
        y.put(out + o * stride);
    }
}

// ---- backward -----------------------------------------------------------------------------

template <int N8> COFIRE_INLINE bool is_zero(const Row<N8>& x) {
    i8 bits = {};
    if constexpr (Row<N8>::wide > 0) {
        i16 wide = (i16)x.w[0];
        for (int v = 1; v < Row<N8>::wide; v++) wide |= (i16)x.w[v];
        bits = __builtin_shufflevector(wide, wide, 0, 1, 2, 3, 4, 5, 6, 7) |
               __builtin_shufflevector(wide, wide, 8, 9, 10, 11, 12, 13, 14, 15);
    }
    if constexpr (Row<N8>::narrow) bits |= (i8)x.n;
    bits &= 0x7fffffff;  // -0 is zero too
    uint64_t q[4];
    memcpy(q, &bits, 32);
    return ((q[0] | q[1]) | (q[2] | q[3])) == 0;
}

template <int N8>
COFIRE_INLINE void derive(Row<N8>& delta, const Row<N8>& x, Activation activation) {
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
        case Activation::identity:
            break;
    }
}

// Eight horizontal sums at once: a tree of shuffles costs a third of eight separate ones.
COFIRE_INLINE f8 sum_each(const f8 p[8]) {
    f8 q[4];
    for (int i = 0; i < 4; i++)
        q[i] = __builtin_shufflevector(p[2 * i], p[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(p[2 * i], p[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    f8 r[2];
    for (int i = 0; i < 2; i++)
        r[i] = __builtin_shufflevector(q[2 * i], q[2 * i + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(q[2 * i], q[2 * i + 1], 2, 3, 10, 11, 6, 7, 14, 15);
    return __builtin_shufflevector(r[0], r[1], 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(r[0], r[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

template <int N8, bool First, bool Far>
void backward_rows(const Connections& by_input, const float* delta, float* in,
                   Activation activation, float* gradient, float* bias_gradient, bool accumulate,
                   uint8_t* fired) {
    constexpr int64_t stride = N8 * 8;
    const int64_t* start = by_input.start;
    const int32_t* other = by_input.other;
    const float* weight = by_input.weight;
    const int64_t n_connections = start[by_input.n_neurons];
    f8 partial[8];
    auto flush = [&](int64_t k) {  // gradient[k - 7 … k] from partial
        f8 g = sum_each(partial);
        if (accumulate) g += load8(gradient + k - 7);
        store(gradient + k - 7, g);
    };
    for (int64_t i = 0; i < by_input.n_neurons; i++) {
        float* row = in + i * stride;
        const Row<N8> x = Row<N8>::at(row);
        const int64_t end = start[i + 1];
        const bool silent = is_zero(x);
        if (!silent) fired[i] = 1;
        // A silent neuron hands no gradient to its connections, and below a ReLU no delta on.
        if (silent && (First || activation == Activation::relu)) {
            for (int64_t k = start[i]; k < end; k++) {
                partial[k & 7] = f8{};
                if ((k & 7) == 7) flush(k);
            }
            if constexpr (!First)
                if (!accumulate) bias_gradient[i] = 0.0f;
            continue;  // row is zero already, which is its delta
        }
        Row<N8> back = Row<N8>::filled(0.0f);
        for (int64_t k = start[i]; k < end; k++) {
            if constexpr (Far) {
                const int64_t soon =
                    k + kPrefetchAhead < n_connections ? k + kPrefetchAhead : n_connections - 1;
                prefetch_row<N8>(delta + other[soon] * stride);
            }
            const Row<N8> d = Row<N8>::at(delta + other[k] * stride);
            partial[k & 7] = dot8(x, d);
            if constexpr (!First) back.add(weight[k], d);
            if ((k & 7) == 7) flush(k);
        }
        if constexpr (!First) {
            derive(back, x, activation);
            back.put(row);
            const float total = back.total();
            bias_gradient[i] = accumulate ? bias_gradient[i] + total : total;
        }
    }
    for (int64_t k = n_connections & ~int64_t{7}; k < n_connections; k++) {
        const float g = sum(partial[k & 7]);
        gradient[k] = accumulate ? gradient[k] + g : g;
    }
}

}  // namespace
}  // namespace cofire

#include "exact_sums.hpp"

namespace cofire {
namespace {

// ---- losses -------------------------------------------------------------------------------

// Column by column of eight samples: probabilities in place; returns max + log(sum of exp).
COFIRE_INLINE f8 softmax8(int64_t n_out, int64_t stride, float* out) {
    f8 top = load8(out);
    for (int64_t c = 1; c < n_out; c++) {
        const f8 z = load8(out + c * stride);
        top = z > top ? z : top;
    }
    f8 total = {};
    for (int64_t c = 0; c < n_out; c++) {
        const f8 e = exponential(load8(out + c * stride) - top);
        store(out + c * stride, e);
        total += e;
    }
    const f8 inverse = 1.0f / total;
    for (int64_t c = 0; c < n_out; c++) store(out + c * stride, load8(out + c * stride) * inverse);
    f8 log_sum;
    for (int s = 0; s < 8; s++) log_sum[s] = top[s] + logf(total[s]);
    return log_sum;
}

double softmax_loss(int n8, int64_t n_out, float* out, const int32_t* labels, const float* share,
                    const float* scale) {
    const int64_t stride = n8 * 8;
    double loss = 0.0;
    for (int64_t s0 = 0; s0 < stride; s0 += 8) {
        float score[8];
        for (int s = 0; s < 8; s++) score[s] = out[labels[s0 + s] * stride + s0 + s];
        const f8 log_sum = softmax8(n_out, stride, out + s0);
        const f8 a = load8(scale + s0);
        for (int64_t c = 0; c < n_out; c++) {
            float* p = out + c * stride + s0;
            store(p, load8(p) * a);
        }
        for (int s = 0; s < 8; s++) {
            out[labels[s0 + s] * stride + s0 + s] -= scale[s0 + s];
            const float part = share[s0 + s];
            if (part != 0.0f) loss += (double)part * (double)(log_sum[s] - score[s]);
        }
    }
    return loss;
}

COFIRE_INLINE f8 logistic(f8 z) { return 1.0f / (1.0f + exponential(-z)); }

double sigmoid_loss(int n8, int64_t n_out, float* out, const float* targets, const float* share,
                    const float* scale) {
    const int64_t stride = n8 * 8;
    double loss = 0.0;
    for (int64_t c = 0; c < n_out; c++)
        for (int64_t s0 = 0; s0 < stride; s0 += 8) {
            float* p = out + c * stride + s0;
            const f8 z = load8(p), t = load8(targets + c * stride + s0), part = load8(share + s0);
            const f8 tail = exponential(-magnitude(z));
            const f8 plain = at_least(f8{}, z) - z * t;
            for (int s = 0; s < 8; s++)
                if (part[s] != 0.0f) loss += (double)part[s] * ((double)plain[s] + log1pf(tail[s]));
            store(p, (logistic(z) - t) * load8(scale + s0));
        }
    return loss;
}

double squared_loss(int n8, int64_t n_out, float* out, const float* targets, const float* share,
                    const float* scale) {
    const int64_t stride = n8 * 8;
    double loss = 0.0;
    for (int64_t c = 0; c < n_out; c++)
        for (int64_t s = 0; s < stride; s++) {
            float* p = out + c * stride + s;
            const float error = *p - targets[c * stride + s];
            if (share[s] != 0.0f) loss += 0.5 * (double)share[s] * (double)error * (double)error;
            *p = error * scale[s];
        }
    return loss;
}

template <int N8> void sum_rows(int64_t n_rows, const float* rows, float* sums, bool accumulate) {
    for (int64_t i = 0; i < n_rows; i++) {
        const float total = Row<N8>::at(rows + i * N8 * 8).total();
        sums[i] = accumulate ? sums[i] + total : total;
    }
}

void predict(int n8, int64_t n_out, float* out, Loss loss) {
    const int64_t stride = n8 * 8;
    if (loss == Loss::softmax)
        for (int64_t s0 = 0; s0 < stride; s0 += 8) softmax8(n_out, stride, out + s0);
    if (loss == Loss::sigmoid)
        for (int64_t j = 0; j < n_out * stride; j += 8) store(out + j, logistic(load8(out + j)));
}

// ---- optimiser steps ----------------------------------------------------------------------

template <int Groups>
COFIRE_INLINE f16 group_sum(const float* const* gradients, int64_t k) {
    f16 g = load16(gradients[0] + k);
    for (int q = 1; q < Groups; q++) g += load16(gradients[q] + k);
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
    w = old - step.learning_rate * move - step.shrink * old;
}

template <int Groups>
void sgd_range(int64_t begin, int64_t end, int64_t n_live, const float* const* gradients,
               float* weight, float* velocity, const SgdStep& step) {
    const int64_t live_end = end < n_live ? end : n_live;
    int64_t k = begin;
    for (; k + 16 <= live_end; k += 16) {
        f16 w = load16(weight + k), v = load16(velocity + k);
        sgd_step(group_sum<Groups>(gradients, k), w, v, step);
        store(weight + k, w);
        store(velocity + k, v);
    }
    for (; k < live_end; k++)
        sgd_step(group_sum(Groups, gradients, k), weight[k], velocity[k], step);
    for (; k < end; k++) sgd_step(0.0f, weight[k], velocity[k], step);
}

COFIRE_INLINE f16 square_root(f16 x) {
    f16 r;
    for (int i = 0; i < 16; i++) r[i] = __builtin_sqrtf(x[i]);
    return r;
}
COFIRE_INLINE float square_root(float x) { return __builtin_sqrtf(x); }

template <class F> COFIRE_INLINE void adam_step(F g, F& w, F& m, F& v, const AdamStep& step) {
    const F old = w;
    g += step.l2 * old;
    m = step.beta_1 * m + (1.0f - step.beta_1) * g;
    v = step.beta_2 * v + (1.0f - step.beta_2) * (g * g);
    w = old - step.step_size * m / (square_root(v) + step.epsilon) - step.shrink * old;
}

template <int Groups>
void adam_range(int64_t begin, int64_t end, int64_t n_live, const float* const* gradients,
                float* weight, float* first, float* second, const AdamStep& step) {
    const int64_t live_end = end < n_live ? end : n_live;
    int64_t k = begin;
    for (; k + 16 <= live_end; k += 16) {
        f16 w = load16(weight + k), m = load16(first + k), v = load16(second + k);
        adam_step(group_sum<Groups>(gradients, k), w, m, v, step);
        store(weight + k, w);
        store(first + k, m);
        store(second + k, v);
    }
    for (; k < live_end; k++)
        adam_step(group_sum(Groups, gradients, k), weight[k], first[k], second[k], step);
    for (; k < end; k++) adam_step(0.0f, weight[k], first[k], second[k], step);
}

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

void backward(int n8, const Connections& by_input, const float* delta, float* in,
              Activation activation, float* gradient, float* bias_gradient, bool accumulate,
              uint8_t* fired, bool far) {
    const bool first = bias_gradient == nullptr;
    with_constant(n8, [&](auto n) {
        constexpr int N8 = decltype(n)::value;
        const auto rows = first ? (far ? backward_rows<N8, true, true> : backward_rows<N8, true, false>)
                                : (far ? backward_rows<N8, false, true> : backward_rows<N8, false, false>);
        rows(by_input, delta, in, activation, gradient, bias_gradient, accumulate, fired);
    });
}

void row_sums(int n8, int64_t n_rows, const float* rows, float* sums, bool accumulate) {
    with_constant(n8, [&](auto n) {
        sum_rows<decltype(n)::value>(n_rows, rows, sums, accumulate);
    });
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

#define COFIRE_TEXT_(x) #x
#define COFIRE_TEXT(x) COFIRE_TEXT_(x)

}  // namespace

extern const Kernels COFIRE_LEVEL;
const Kernels COFIRE_LEVEL = {
    COFIRE_TEXT(COFIRE_LEVEL), gather_floats, gather_bytes, forward, backward, softmax_loss,
    sigmoid_loss, squared_loss, row_sums, backward_exact, row_sums_exact, predict, sgd, adam,
    kPanels, add_squares<float>, add_squares<double>, pack, products, products_exact,
};

}  // namespace cofire
