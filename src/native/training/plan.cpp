#include "training/plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cofire {

void Parameters::take(const ParameterView& view) {
    const auto copy = [this](const float* from, Floats& to) {
        if (from == nullptr) return;
        to.resize(origin.size());
        for (std::size_t k = 0; k < origin.size(); k++) to[k] = from[origin[k]];
    };
    copy(view.value, value);
    copy(view.first, first);
    copy(view.second, second);
}

void Parameters::give_back(const ParameterView& view) const {
    const auto copy = [this](const Floats& from, float* to) {
        if (to == nullptr) return;
        for (std::size_t k = 0; k < origin.size(); k++) to[origin[k]] = from[k];
    };
    copy(value, view.value);
    copy(first, view.first);
    copy(second, view.second);
}

bool Parameters::all_finite() const {
    const auto finite = [](const Floats& numbers) {
        return std::all_of(numbers.begin(), numbers.end(),
                           [](float x) { return std::isfinite(x); });
    };
    return finite(value) && finite(first) && finite(second);
}

void PlanLayer::copy_weights_to_output_order(int64_t begin, int64_t end) {
    end = std::min(end, weights.n_live);
    for (int64_t k = begin; k < end; k++) output_weight[output_place[k]] = weights.value[k];
}

namespace {

// matters[level][neuron]: not provably zero, and with a path to an output.
Marks neurons_that_matter(const std::vector<LayerView>& views, const std::vector<int64_t>& sizes,
                          Activation activation, Purpose purpose, const Marks* wanted) {
    const int n_layers = static_cast<int>(views.size());
    Marks matters(n_layers + 1);
    for (int level = 0; level <= n_layers; level++) matters[level].assign(sizes[level], 1);

    if (activation == Activation::relu)
        for (int l = 0; l + 1 < n_layers; l++) {
            const LayerView& v = views[l];
            for (int64_t o = 0; o < v.n_out; o++) {
                bool zero = v.bias.value[o] <= 0.0f;
                // Momentum can lift a bias although its gradient is zero.
                if (purpose == Purpose::training) zero = zero && v.bias.first[o] >= 0.0f;
                for (int64_t k = v.indptr[o]; zero && k < v.indptr[o + 1]; k++)
                    zero = !matters[l][v.indices[k]];
                if (zero) matters[l + 1][o] = 0;
            }
        }
    if (purpose == Purpose::every_unit && wanted == nullptr) return matters;
    const auto only = [&](int level, const std::vector<uint8_t>& needed) {
        for (int64_t j = 0; j < sizes[level]; j++)
            matters[level][j] &= needed[j] | (wanted == nullptr ? 0 : (*wanted)[level][j]);
    };
    if (wanted != nullptr) only(n_layers, (*wanted)[n_layers]);
    for (int l = n_layers - 1; l >= 0; l--) {
        const LayerView& v = views[l];
        std::vector<uint8_t> heard(v.n_in, 0);
        for (int64_t o = 0; o < v.n_out; o++)
            if (matters[l + 1][o])
                for (int64_t k = v.indptr[o]; k < v.indptr[o + 1]; k++) heard[v.indices[k]] = 1;
        only(l, heard);
    }
    return matters;
}

PlanLayer plan_layer(const LayerView& view, const std::vector<int32_t>& in_at,
                     const std::vector<int32_t>& out_at, int64_t n_in, int64_t n_out) {
    PlanLayer layer;
    layer.input_start.assign(n_in + 1, 0);
    layer.output_start.assign(n_out + 1, 0);
    for (int64_t o = 0; o < view.n_out; o++)
        for (int64_t k = view.indptr[o]; k < view.indptr[o + 1]; k++)
            if (out_at[o] >= 0 && in_at[view.indices[k]] >= 0) {
                layer.output_start[out_at[o] + 1]++;
                layer.input_start[in_at[view.indices[k]] + 1]++;
            }
    for (int64_t o = 0; o < n_out; o++) layer.output_start[o + 1] += layer.output_start[o];
    for (int64_t i = 0; i < n_in; i++) layer.input_start[i + 1] += layer.input_start[i];

    const int64_t n_live = layer.input_start[n_in];
    layer.input_other.resize(n_live);
    layer.output_other.resize(n_live);
    layer.output_place.resize(n_live);
    layer.weights.n_live = n_live;
    layer.weights.origin.resize(view.n_connections());
    std::vector<int64_t> next(layer.input_start.begin(), layer.input_start.end() - 1);
    int64_t by_output = 0, rest = n_live;
    for (int64_t o = 0; o < view.n_out; o++)
        for (int64_t k = view.indptr[o]; k < view.indptr[o + 1]; k++) {
            const int32_t i = in_at[view.indices[k]];
            if (out_at[o] < 0 || i < 0) {
                layer.weights.origin[rest++] = k;
                continue;
            }
            const int64_t by_input = next[i]++;
            layer.weights.origin[by_input] = k;
            layer.input_other[by_input] = out_at[o];
            layer.output_place[by_input] = static_cast<int32_t>(by_output);
            layer.output_other[by_output++] = i;
        }

    layer.bias.n_live = n_out;
    layer.bias.origin.resize(view.n_out);
    rest = n_out;
    for (int64_t o = 0; o < view.n_out; o++)
        layer.bias.origin[out_at[o] >= 0 ? out_at[o] : rest++] = o;

    layer.weights.take(view.weights);
    layer.bias.take(view.bias);
    layer.output_weight.resize(n_live);
    layer.copy_weights_to_output_order(0, n_live);
    return layer;
}

}  // namespace

Plan::Plan(const std::vector<LayerView>& views, Activation hidden_activation, Purpose purpose,
           const Marks* wanted)
    : activation(hidden_activation) {
    sizes.push_back(views.front().n_in);
    for (const LayerView& v : views) sizes.push_back(v.n_out);
    const Marks matters = neurons_that_matter(views, sizes, activation, purpose, wanted);
    for (std::size_t level = 0; level < sizes.size(); level++) {
        std::vector<int32_t> at(sizes[level], -1);
        int32_t n = 0;
        for (int64_t j = 0; j < sizes[level]; j++)
            if (matters[level][j]) at[j] = n++;
        live_at.push_back(std::move(at));
        n_live.push_back(n);
    }
    for (std::size_t l = 0; l < views.size(); l++)
        layers.push_back(
            plan_layer(views[l], live_at[l], live_at[l + 1], n_live[l], n_live[l + 1]));
}

bool Plan::stays_finite(double largest_input) const {
    constexpr double limit = std::numeric_limits<float>::max() / 2;  // room for rounding
    double largest = largest_input;
    for (const PlanLayer& layer : layers) {
        if (!(largest < limit)) return false;
        double next = 0;
        for (int64_t o = 0; o < layer.bias.n_live; o++) {
            double sum = std::fabs(layer.bias.value[o]);
            for (int64_t k = layer.output_start[o]; k < layer.output_start[o + 1]; k++)
                sum += std::fabs(layer.output_weight[k]) * largest;
            next = std::max(next, sum);
        }
        largest = next;  // no activation function adds to it
    }
    return largest < limit;
}

int64_t Plan::widest() const { return *std::max_element(n_live.begin(), n_live.end()); }

}  // namespace cofire
