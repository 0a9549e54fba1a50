// What the outputs for the samples should be, and how far from it they are.
#pragma once

#include <cstdint>

#include "training/rows.hpp"

namespace cofire {

// Class numbers for softmax, else n_out numbers for each sample.
struct Targets {
    const int32_t* labels = nullptr;
    const float* values = nullptr;
    float smoothing = 0.0f;  // of classes and of the answers 0 and 1: how far from certain to be

    // Numbers of scratch memory that loss_and_delta needs.
    int64_t scratch_size(int64_t n_out) const { return values == nullptr ? 0 : n_out * kMaxTile; }

    // The sum over a tile's samples of fraction * loss; out becomes scale * d loss / d out. Both
    // factors are given per column, and are 0 for those without a sample.
    double loss_and_delta(const Kernels& kernels, Output output, const TileSamples& samples,
                          int64_t n_out, const float* fraction, const float* scale, float* scratch,
                          float* out) const {
        if (output == Output::softmax) {
            int32_t wanted[kMaxTile] = {};
            for (int s = 0; s < samples.n; s++) wanted[s] = labels[samples.ids[s]];
            return kernels.softmax_loss(samples.n8(), n_out, out, wanted, smoothing, fraction,
                                        scale);
        }
        const int64_t stride = samples.n_columns();
        for (int64_t c = 0; c < n_out; c++)
            for (int64_t s = 0; s < stride; s++)
                scratch[c * stride + s] =
                    s < samples.n ? smoothed(values[samples.ids[s] * n_out + c]) : 0.0f;
        const auto loss = output == Output::sigmoid ? kernels.sigmoid_loss : kernels.squared_loss;
        return loss(samples.n8(), n_out, out, scratch, fraction, scale);
    }

private:
    float smoothed(float value) const {
        return smoothing == 0.0f ? value : value * (1.0f - smoothing) + smoothing / 2;
    }
};

// Rows to learn from.
struct Samples {
    Rows rows;
    Targets targets;
    const float* weight = nullptr;  // per row; nullptr: all 1
    double largest_input = 0;       // no value of the rows is larger in size

    double weight_of(int64_t id) const { return weight == nullptr ? 1.0 : weight[id]; }
};

}  // namespace cofire
