// Losses, their derivatives, and predictions. Compiled once per SIMD level as a part of
// kernels.cpp; internal linkage throughout, for the reason in vectors.hpp.
#pragma once

#include <cmath>

#include "kernels/kernels.hpp"
#include "kernels/vectors.hpp"

namespace cofire {
namespace {

// For a block of samples: probabilities in place; returns max + log(sum of exp).
COFIRE_INLINE Block softmax(int64_t n_out, int64_t stride, float* out) {
    Block top = load<Block>(out);
    for (int64_t c = 1; c < n_out; c++) {
        const Block z = load<Block>(out + c * stride);
        top = z > top ? z : top;
    }
    Block total = {};
    for (int64_t c = 0; c < n_out; c++) {
        const Block e = exponential(load<Block>(out + c * stride) - top);
        store(out + c * stride, e);
        total += e;
    }
    const Block inverse = 1.0f / total;
    for (int64_t c = 0; c < n_out; c++)
        store(out + c * stride, load<Block>(out + c * stride) * inverse);
    Block log_sum;
    for (int s = 0; s < kBlock; s++) log_sum[s] = top[s] + logf(total[s]);
    return log_sum;
}

double softmax_loss(int n8, int64_t n_out, float* out, const int32_t* labels, float smoothing,
                    const float* fraction, const float* scale) {
    const int64_t stride = n8 * 8;
    const float of_label = 1.0f - smoothing, of_each = smoothing / (float)n_out;
    double loss = 0.0;
    for (int64_t s0 = 0; s0 < stride; s0 += kBlock) {
        Block score = {}, lead = {};  // lead: over the mean score, times smoothing
        for (int s = 0; s < kBlock; s++) score[s] = out[labels[s0 + s] * stride + s0 + s];
        if (smoothing != 0.0f)
            for (int64_t c = 0; c < n_out; c++)
                lead += (score - load<Block>(out + c * stride + s0)) * of_each;
        const Block log_sum = softmax(n_out, stride, out + s0);
        const Block a = load<Block>(scale + s0);
        for (int64_t c = 0; c < n_out; c++) {
            float* p = out + c * stride + s0;
            store(p, (load<Block>(p) - of_each) * a);
        }
        for (int s = 0; s < kBlock; s++) {
            out[labels[s0 + s] * stride + s0 + s] -= of_label * scale[s0 + s];
            const float part = fraction[s0 + s];
            if (part != 0.0f) loss += (double)part * ((double)(log_sum[s] - score[s]) + lead[s]);
        }
    }
    return loss;
}

COFIRE_INLINE Block logistic(Block z) { return 1.0f / (1.0f + exponential(-z)); }

double sigmoid_loss(int n8, int64_t n_out, float* out, const float* targets, const float* fraction,
                    const float* scale) {
    const int64_t stride = n8 * 8;
    double loss = 0.0;
    for (int64_t c = 0; c < n_out; c++)
        for (int64_t s0 = 0; s0 < stride; s0 += kBlock) {
            float* p = out + c * stride + s0;
            const Block z = load<Block>(p), t = load<Block>(targets + c * stride + s0),
                        part = load<Block>(fraction + s0);
            const Block tail = exponential(-magnitude(z));
            const Block plain = at_least(Block{}, z) - z * t;
            for (int s = 0; s < kBlock; s++)
                if (part[s] != 0.0f) loss += (double)part[s] * ((double)plain[s] + log1pf(tail[s]));
            store(p, (logistic(z) - t) * load<Block>(scale + s0));
        }
    return loss;
}

double squared_loss(int n8, int64_t n_out, float* out, const float* targets, const float* fraction,
                    const float* scale) {
    const int64_t stride = n8 * 8;
    double loss = 0.0;
    for (int64_t c = 0; c < n_out; c++)
        for (int64_t s = 0; s < stride; s++) {
            float* p = out + c * stride + s;
            const float error = *p - targets[c * stride + s];
            if (fraction[s] != 0.0f)
                loss += 0.5 * (double)fraction[s] * (double)error * (double)error;
            *p = error * scale[s];
        }
    return loss;
}

template <int N8>
void tile_row_sums_by(int64_t n_tile_rows, const float* tile, float* sums, bool accumulate) {
    for (int64_t i = 0; i < n_tile_rows; i++) {
        const float g = total(TileRow<N8>::at(tile + i * N8 * 8));
        sums[i] = accumulate ? sums[i] + g : g;
    }
}

void predict(int n8, int64_t n_out, float* out, Output output) {
    const int64_t stride = n8 * 8;
    switch (output) {
        case Output::softmax:
            for (int64_t s0 = 0; s0 < stride; s0 += kBlock) softmax(n_out, stride, out + s0);
            break;
        case Output::sigmoid:
            for (int64_t j = 0; j < n_out * stride; j += kBlock)
                store(out + j, logistic(load<Block>(out + j)));
            break;
        case Output::identity: break;
    }
}

}  // namespace
}  // namespace cofire
