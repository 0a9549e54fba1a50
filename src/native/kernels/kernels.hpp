// What a SIMD level offers: the arithmetic on one tile, as a table of functions.
//
// A tile is up to 64 samples of a batch. Inside it, arrays are neuron-major: a tile row is a
// neuron, its columns are the tile's samples. A tile row has n8 * 8 columns, n8 = 1 … 8; columns
// beyond the tile's samples are padding, whose deltas are zero.
#pragma once

#include <cstdint>

#include "kernels/functions.hpp"
#include "kernels/optimizers.hpp"

namespace cofire {

constexpr int kMaxTile = 64;
constexpr int kMaxGroups = 8;

// Connections grouped by one of their ends: those of neuron j are start[j] … start[j + 1] - 1,
// other[k] is the neuron at the other end.
struct Connections {
    int64_t n_neurons;
    const int64_t* start;
    const int32_t* other;
    const float* weight;
};

// How `products` wants activations: in panels of a few neurons, whose columns (the samples of a
// chunk) come in groups of `lanes`, and within a group neuron after neuron. How many neurons
// a panel has depends on its side of the layer.
struct PanelShape {
    int lanes, n_outputs, n_inputs;
};

// How `estimates_above` wants activations: in panels of so many neurons, column after column, and
// within a column neuron after neuron.
struct EstimateShape {
    int n_outputs, n_inputs;
};
constexpr int kEstimatedOutputs = 96;     // at once at most: a multiple of every n_outputs
constexpr int kMostEstimatedInputs = 32;  // no n_inputs is larger

// The signals of a pair of neurons for the samples of one tile.
struct PairTile {
    int n8;
    const float *output, *input, *weight;
};

struct Kernels {
    const char* name;

    // tile[tile_row[f], s] = rows[s][f]; tile_row[f] < 0: feature f is not wanted.
    void (*gather_floats)(int n8, int64_t n_features, const float* const* rows,
                          const float* const* next_rows, const int32_t* tile_row, float* tile);
    void (*gather_bytes)(int n8, int64_t n_features, const uint8_t* const* rows, const float* scale,
                         const float* offset, const int32_t* tile_row, float* tile);

    // The same from a tile of 16-bit numbers, kMaxTile of them for each feature.
    void (*gather_tile)(int n8, int64_t n_features, const uint16_t* from, const uint16_t* next,
                        const float* step, const int32_t* zero, const int32_t* tile_row,
                        float* tile);

    // tile[j, s] = 0 where key[j] * factor[s] + summand[s], mod 2^32 and taken for a signed number,
    // is below limit; else it is multiplied by scale.
    void (*drop_values)(int n8, int64_t n_tile_rows, const uint32_t* key, const uint32_t* factor,
                        const uint32_t* summand, int32_t limit, float scale, float* tile);

    // out[o, s] = activation(bias[o] + sum over o's connections of weight * in[other, s])
    void (*forward)(int n8, const Connections& by_output, const float* bias, const float* in,
                    float* out, Activation activation, bool far);

    // For every input neuron i of a layer, with x = in[i, :]:
    //   gradient[k] (+)= sum over samples of x * delta[other[k], :]
    //   in[i, :]      = activation'(x) * sum over i's connections of weight * delta[other, :]
    //   bias_gradient[i] (+)= sum over samples of the new in[i, :]
    // in place: the activation is not needed once its delta is known. A first layer passes no
    // delta on (bias_gradient == nullptr): in is left as it was.
    // fired[i] becomes 1 where x is not zero for every sample of the tile.
    void (*backward)(int n8, const Connections& by_input, const float* delta, float* in,
                     Activation activation, float* gradient, float* bias_gradient, bool accumulate,
                     uint8_t* fired, bool far);

    // Returns the sum of fraction * loss; out becomes scale * d loss / d out. fraction[s] is the
    // sample's weight over the batch's sum of weights, and so is scale[s] unless the weights
    // are applied later; both are 0 for padding. smoothing: this fraction of a label is spread
    // evenly over all classes.
    double (*softmax_loss)(int n8, int64_t n_out, float* out, const int32_t* labels,
                           float smoothing, const float* fraction, const float* scale);
    double (*sigmoid_loss)(int n8, int64_t n_out, float* out, const float* targets,
                           const float* fraction, const float* scale);
    double (*squared_loss)(int n8, int64_t n_out, float* out, const float* targets,
                           const float* fraction, const float* scale);
    void (*tile_row_sums)(int n8, int64_t n_tile_rows, const float* tile, float* sums,
                          bool accumulate);

    // backward and tile_row_sums with sums in double, weighted by the samples' weights, always
    // added on (exact_sums.hpp); the deltas they are given carry no weight.
    void (*backward_exact)(int n8, const Connections& by_input, const float* delta, float* in,
                           Activation activation, const double* sample_weight, double* gradient,
                           double* bias_gradient, uint8_t* fired);
    void (*tile_row_sums_exact)(int n8, int64_t n_tile_rows, const float* tile,
                                const double* sample_weight, double* sums);

    // out becomes the prediction: probabilities for softmax and sigmoid, out itself for identity.
    void (*predict)(int n8, int64_t n_out, float* out, Output output);

    // One step of each optimiser, in the order of kOptimizers.
    const StepKernel* steps;

    // For the similarity search (products.hpp). Panels have room for `capacity` columns, a
    // multiple of 16.
    PanelShape panels;
    // sums[j] += sum over samples of weight * tile[j, :]^2, in double: the square of a small float
    // is not a float.
    void (*add_squares)(int n8, int64_t n_tile_rows, const float* tile, const float* weight,
                        double* sums);
    // sums[j] = sum over samples of weight * tile[j, :], and squares[j] that of the squares, in
    // double and sample after sample. Weights are 0 or 1: products are then exact, and the same
    // with and without fused multiply-adds.
    void (*moments)(int n8, int64_t n_tile_rows, const float* tile, const float* weight,
                    double* sums, double* squares);
    // Neuron k of the panels, columns column …, becomes tile[which[k], :], times the samples'
    // weight where there is one. column is a multiple of 16; what is beyond n8 * 8 and below
    // the next multiple of `lanes` becomes 0.
    void (*pack)(int n8, const float* tile, int64_t n, const int32_t* which, const float* weight,
                 int panel_size, int64_t capacity, int64_t column, float* panels);
    // For every pair of an output and an input panel, n_outputs * n_inputs numbers, outputs
    // before inputs: sums (+)= sum over the first n_columns of output * input. Panel pairs are
    // in the same order: all input panels of the first output panel, then the next.
    void (*products)(int64_t n_columns, int64_t capacity, int64_t n_out_panels,
                     const float* outputs, int64_t n_in_panels, const float* inputs,
                     bool accumulate, double* sums);
    // The same in double, the outputs times column_weight, for all columns at once.
    void (*products_exact)(int64_t n_columns, int64_t capacity, int64_t n_out_panels,
                           const float* outputs, int64_t n_in_panels, const float* inputs,
                           const double* column_weight, double* sums);
    // For the search among few rows (estimates.hpp).
    EstimateShape estimates;
    // Neuron k of the panels becomes factor[k] * tile[which[k], s], times the samples' weight where
    // there is one, for the first n_columns samples of a tile. `panels` points to the first of
    // these columns in the first panel; a panel is panel_stride numbers long.
    void (*pack_columns)(int n8, int64_t n_columns, const float* tile, int64_t n,
                         const int32_t* which, const float* factor, const float* weight,
                         int panel_size, int64_t panel_stride, float* panels);
    // Estimates of sign * |sum over the columns of output * input| for the pairs of some output
    // panels, at most kEstimatedOutputs neurons, and one input panel. Returns how many are not
    // <= limit (a NaN is not), which they are (output * n_inputs + input, outputs ascending and
    // then inputs) and the estimates. There must be room for all pairs and kMostEstimatedInputs
    // more.
    int64_t (*estimates_above)(int64_t n_columns, int64_t n_out_panels, const float* outputs,
                               const float* inputs, float sign, float limit, uint16_t* which,
                               float* estimates);
    // The sum of weight * output * input over the samples of some tiles: to the bit what
    // `products` (in one chunk) and `products_exact` have for the pair.
    double (*pair_product)(int64_t n_tiles, const PairTile* tiles);
    double (*pair_product_exact)(int64_t n_tiles, const PairTile* tiles);
    // sums[j, :] += factor * tile[j, :]; a tile row of sums has `stride` columns.
    void (*add_tile_rows)(int n8, int64_t n_tile_rows, const float* tile, const float* factor,
                          int64_t stride, float* sums);
    // sums[k] += sum over samples of weight * a[a_tile_row[k], :] * b[b_tile_row[k], :];
    // nullptr: weight 1.
    void (*pair_sums)(int n8, int64_t n, const float* a, const int32_t* a_tile_row, const float* b,
                      const int32_t* b_tile_row, const float* weight, double* sums);
};

// The fastest level that this machine has, or the one that COFIRE_SIMD names.
const Kernels& kernels();

}  // namespace cofire
