#include "training/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace cofire {

void Parameters::copy_from(const ParameterView& view) {
    const auto copy = [this](const float* from, Floats& to) {
        if (from == nullptr) return;
        to.resize(origin.size());
        for (std::size_t k = 0; k < origin.size(); k++) to[k] = from[origin[k]];
    };
    copy(view.value, value);
    for (int m = 0; m < kMaxMoments; m++) copy(view.moments[m], moments[m]);
}

void Parameters::copy_to(const ParameterView& view) const {
    const auto copy = [this](const Floats& from, float* to) {
        if (to == nullptr) return;
        for (std::size_t k = 0; k < origin.size(); k++) to[origin[k]] = from[k];
    };
    copy(value, view.value);
    for (int m = 0; m < kMaxMoments; m++) copy(moments[m], view.moments[m]);
}

bool Parameters::all_finite() const {
    const auto finite = [](const Floats& numbers) {
        return std::all_of(numbers.begin(), numbers.end(),
                           [](float x) { return std::isfinite(x); });
    };
    return finite(value) && std::all_of(moments.begin(), moments.end(), finite);
}

void PlanLayer::copy_weights_to_output_order(int64_t begin, int64_t end) {
    end = std::min(end, weights.n_live);
    for (int64_t k = begin; k < end; k++) output_weight[output_position[k]] = weights.value[k];
}

namespace {

// matters[stage][neuron]: not provably zero, and with a path to an output.
Marks neurons_that_matter(const NetworkView& network, Purpose purpose, const Marks* wanted) {
    const int n_layers = network.n_layers();
    Marks matters(n_layers + 1);
    for (int stage = 0; stage <= n_layers; stage++)
        matters[stage].assign(network.n_neurons(stage), 1);

    if (traits(network.activation).dead_below_zero)
        for (int l = 0; l + 1 < n_layers; l++) {
            const LayerView& v = network.layers[l];
            const float* velocity = purpose == Purpose::training ? v.bias.moments[0] : nullptr;
            for (int64_t o = 0; o < v.n_out; o++) {
                bool zero = v.bias.value[o] <= 0.0f;
                // Its velocity can lift a bias although its gradient is zero.
                if (velocity != nullptr) zero = zero && velocity[o] >= 0.0f;
                for (int64_t k = v.indptr[o]; zero && k < v.indptr[o + 1]; k++)
                    zero = !matters[l][v.indices[k]];
                if (zero) matters[l + 1][o] = 0;
            }
        }
    if (purpose == Purpose::every_unit && wanted == nullptr) return matters;
    const auto keep_only = [&](int stage, const std::vector<uint8_t>& needed) {
        for (int64_t j = 0; j < network.n_neurons(stage); j++)
            matters[stage][j] &= needed[j] | (wanted == nullptr ? 0 : (*wanted)[stage][j]);
    };
    if (wanted != nullptr) keep_only(n_layers, (*wanted)[n_layers]);
    for (int l = n_layers - 1; l >= 0; l--) {
        const LayerView& v = network.layers[l];
        std::vector<uint8_t> used(v.n_in, 0);
        for (int64_t o = 0; o < v.n_out; o++)
            if (matters[l + 1][o])
                for (int64_t k = v.indptr[o]; k < v.indptr[o + 1]; k++) used[v.indices[k]] = 1;
        keep_only(l, used);
    }
    return matters;
}

// in_row, out_row: the tile rows of the neurons on both sides, n_in and n_out of them live.
PlanLayer plan_layer(const LayerView& view, const std::vector<int32_t>& in_row,
                     const std::vector<int32_t>& out_row, int64_t n_in, int64_t n_out) {
    PlanLayer layer;
    layer.input_start.assign(n_in + 1, 0);
    layer.output_start.assign(n_out + 1, 0);
    for (int64_t o = 0; o < view.n_out; o++)
        for (int64_t k = view.indptr[o]; k < view.indptr[o + 1]; k++)
            if (out_row[o] >= 0 && in_row[view.indices[k]] >= 0) {
                layer.output_start[out_row[o] + 1]++;
                layer.input_start[in_row[view.indices[k]] + 1]++;
            }
    for (int64_t o = 0; o < n_out; o++) layer.output_start[o + 1] += layer.output_start[o];
    for (int64_t i = 0; i < n_in; i++) layer.input_start[i + 1] += layer.input_start[i];

    const int64_t n_live = layer.input_start[n_in];
    layer.input_other.resize(n_live);
    layer.output_other.resize(n_live);
    layer.output_position.resize(n_live);
    layer.weights.n_live = n_live;
    layer.weights.origin.resize(view.n_connections());
    std::vector<int64_t> next(layer.input_start.begin(), layer.input_start.end() - 1);
    int64_t by_output = 0, rest = n_live;
    for (int64_t o = 0; o < view.n_out; o++)
        for (int64_t k = view.indptr[o]; k < view.indptr[o + 1]; k++) {
            const int32_t i = in_row[view.indices[k]];
            if (out_row[o] < 0 || i < 0) {
                layer.weights.origin[rest++] = k;
                continue;
            }
            const int64_t by_input = next[i]++;
            layer.weights.origin[by_input] = k;
            layer.input_other[by_input] = out_row[o];
            layer.output_position[by_input] = static_cast<int32_t>(by_output);
            layer.output_other[by_output++] = i;
        }

    layer.bias.n_live = n_out;
    layer.bias.origin.resize(view.n_out);
    rest = n_out;
    for (int64_t o = 0; o < view.n_out; o++)
        layer.bias.origin[out_row[o] >= 0 ? out_row[o] : rest++] = o;

    layer.weights.copy_from(view.weights);
    layer.bias.copy_from(view.bias);
    layer.output_weight.resize(n_live);
    layer.copy_weights_to_output_order(0, n_live);
    return layer;
}

}  // namespace

Plan::Plan(const NetworkView& network, Purpose purpose, const Marks* wanted)
    : activation(network.activation) {
    const Marks matters = neurons_that_matter(network, purpose, wanted);
    for (int stage = 0; stage <= network.n_layers(); stage++) {
        const int64_t size = network.n_neurons(stage);
        std::vector<int32_t> row(size, -1);
        int32_t n = 0;
        for (int64_t j = 0; j < size; j++)
            if (matters[stage][j]) row[j] = n++;
        sizes.push_back(size);
        tile_row.push_back(std::move(row));
        n_live.push_back(n);
    }
    for (int l = 0; l < network.n_layers(); l++)
        layers.push_back(
            plan_layer(network.layers[l], tile_row[l], tile_row[l + 1], n_live[l], n_live[l + 1]));
}

bool Plan::stays_finite(double largest_input) const {
    constexpr double limit = std::numeric_limits<float>::max() / 2;  // room for rounding
    double largest = largest_input;
    for (int l = 0; l < n_layers(); l++) {
        const PlanLayer& layer = layers[l];
        if (!(largest < limit)) return false;
        double largest_sum = 0;
        for (int64_t o = 0; o < layer.bias.n_live; o++) {
            double sum = std::fabs(layer.bias.value[o]);
            for (int64_t k = layer.output_start[o]; k < layer.output_start[o + 1]; k++)
                sum += std::fabs(layer.output_weight[k]) * largest;
            largest_sum = std::max(largest_sum, sum);
        }
        if (!(largest_sum < limit)) return false;
        const ActivationTraits& function = traits(activation_of(l));
        largest = function.gain * largest_sum + function.offset;
    }
    return largest < limit;
}

int64_t Plan::widest() const { return *std::max_element(n_live.begin(), n_live.end()); }

TileSpace tile_space(const std::vector<int64_t>& n_neurons, int tile_size) {
    TileSpace space;
    for (int64_t n : n_neurons) space.stage.emplace_back((n + 1) * tile_size + 16, 0.0f);
    return space;
}

void Plan::forward(const Kernels& kernels, int n8, TileSpace& space, int last) const {
    for (int l = 0; l < last; l++)
        kernels.forward(n8, layers[l].by_output(), layers[l].bias.value.data(),
                        space.stage[l].data(), space.stage[l + 1].data(), activation_of(l),
                        is_far(l, n8));
}

Tiling::Tiling(int64_t n_samples, int64_t widest) {
    // Wide layers leave the cache: narrower tiles keep more of them in.
    const int64_t largest = widest <= 8192 ? 64 : 32;
    // An even number of tiles, so that two threads get equal parts.
    int64_t wanted = (n_samples + largest - 1) / largest;
    if (n_samples > 16) wanted += wanted % 2;
    const int64_t per_tile = (n_samples + wanted - 1) / wanted;
    tile_size = static_cast<int>((per_tile + 7) / 8 * 8);
    n_tiles = static_cast<int>((n_samples + tile_size - 1) / tile_size);
    n_groups = std::min(n_tiles, kMaxGroups);
}

}  // namespace cofire
