// What the samples should give, and how far from it an output is.
#pragma once

#include <cstdint>

#include "kernels/kernels.hpp"

namespace cofire {

// Class numbers for softmax, else a row of n_out numbers for each sample.
struct Targets {
    const int32_t* labels = nullptr;
    const float* values = nullptr;
    float smoothing = 0.0f;  // of classes and of the answers 0 and 1: how far from sure to be

    // Room that loss_and_delta wants.
    int64_t room(int64_t n_out) const { return values == nullptr ? 0 : n_out * kMaxTile; }

    // For the samples ids[0 … n - 1] of a tile: the sum of share * loss; out becomes
    // scale * d loss / d out. Both are 0 beyond n.
    double loss_and_delta(const Kernels& kernels, Loss loss, const int64_t* ids, int n, int n8,
                          int64_t n_out, const float* share, const float* scale, float* room,
                          float* out) const {
        if (loss == Loss::softmax) {
            int32_t wanted[kMaxTile] = {};
            for (int s = 0; s < n; s++) wanted[s] = labels[ids[s]];
            return kernels.softmax_loss(n8, n_out, out, wanted, smoothing, share, scale);
        }
        const int64_t stride = n8 * 8;
        for (int64_t c = 0; c < n_out; c++)
            for (int64_t s = 0; s < stride; s++)
                room[c * stride + s] = s < n ? smoothed(values[ids[s] * n_out + c]) : 0.0f;
        const auto kernel = loss == Loss::sigmoid ? kernels.sigmoid_loss : kernels.squared_loss;
        return kernel(n8, n_out, out, room, share, scale);
    }

private:
    float smoothed(float value) const {
        return smoothing == 0.0f ? value : value * (1.0f - smoothing) + smoothing / 2;
    }
};

}  // namespace cofire
