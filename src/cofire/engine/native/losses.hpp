// Losses, their derivatives, and predictions. Compiled once per SIMD level as a part of
// kernels.cpp; internal linkage throughout, for the reason in vectors.hpp.
#pragma once

#include <cmath>

#include "kernels.hpp"
#include "vectors.hpp"

namespace cofire {
namespace {

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

}  // namespace
}  // namespace cofire
