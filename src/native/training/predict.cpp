#include <algorithm>
#include <numeric>
#include <optional>

#include "training/epoch.hpp"
#include "training/plan.hpp"

namespace cofire {
namespace {

// For so many rows or fewer, a plan takes longer than it saves: the network is walked as the
// caller holds it. The bits are the same, because what a plan leaves out adds zeros.
constexpr int64_t kFew = 256;

// One of the networks, ready to predict.
struct Predictor {
    Activation activation;
    Output output;
    std::optional<Plan> plan;  // what the members below point into, if there are many rows
    std::vector<Connections> by_output;  // per layer
    std::vector<const float*> bias;
    std::vector<int64_t> n_live;    // per stage
    std::vector<int32_t> tile_row;  // per input
    int tile_size;
    std::vector<TileSpace> spaces;  // per thread

    Predictor(const NetworkView& network, int64_t n_rows, int n_threads)
        : activation(network.activation), output(network.output) {
        if (n_rows > kFew)
            take(Plan(network, Purpose::prediction));
        else
            take(network);
        const int64_t widest = *std::max_element(n_live.begin(), n_live.end());
        tile_size = Tiling(std::clamp<int64_t>(n_rows, 1, 2 * kMaxTile), widest).tile_size;
        for (int t = 0; t < n_threads; t++) spaces.push_back(tile_space(n_live, tile_size));
    }

    // Only what can matter.
    void take(Plan made) {
        plan = std::move(made);
        for (const PlanLayer& layer : plan->layers) {
            by_output.push_back(layer.by_output());
            bias.push_back(layer.bias.value.data());
        }
        n_live = plan->n_live;
        tile_row = plan->tile_row.front();
    }

    // All of it.
    void take(const NetworkView& network) {
        for (const LayerView& layer : network.layers) {
            by_output.push_back({layer.n_out, layer.indptr, layer.indices, layer.weights.value});
            bias.push_back(layer.bias.value);
        }
        for (int stage = 0; stage <= network.n_layers(); stage++)
            n_live.push_back(network.n_neurons(stage));
        tile_row.resize(network.n_in());
        std::iota(tile_row.begin(), tile_row.end(), 0);
    }

    // Writes the outputs of some rows to out, or adds them to what is there.
    void predict(const Rows& rows, int64_t begin, int64_t end, int thread, bool add,
                 Workers& workers, float* out) {
        const Kernels& k = kernels();
        const int64_t n_out = n_live.back();
        std::vector<Floats>& stage = spaces[thread].stage;
        const float* outputs = stage.back().data();
        for (int64_t row = begin; row < end; row += tile_size) {
            if (thread == 0) workers.poll();
            if (workers.stopped()) return;
            int64_t ids[kMaxTile];
            const int n = static_cast<int>(std::min<int64_t>(tile_size, end - row));
            const TileSamples samples{ids, n};
            for (int s = 0; s < n; s++) ids[s] = row + s;
            rows.gather(k, samples, nullptr, tile_row.data(), stage.front().data());
            for (std::size_t l = 0; l < by_output.size(); l++)
                k.forward(samples.n8(), by_output[l], bias[l], stage[l].data(), stage[l + 1].data(),
                          l + 1 < by_output.size() ? activation : Activation::identity,
                          beyond_cache(n_live[l], samples.n8()));
            rows.clear(samples, tile_row.data(), stage.front().data());
            k.predict(samples.n8(), n_out, stage.back().data(), output);
            for (int s = 0; s < n; s++)
                for (int64_t c = 0; c < n_out; c++) {
                    float& to = out[(row + s) * n_out + c];
                    const float value = outputs[c * samples.n_columns() + s];
                    to = add ? to + value : value;
                }
        }
    }
};

}  // namespace

bool predict(const std::vector<NetworkView>& networks, const Rows& rows, float* out,
             const CallContext& context) {
    const int64_t n_tasks = (rows.n_rows + kRowsPerTask - 1) / kRowsPerTask;
    const int64_t n_out = networks.front().n_out();
    Workers workers(context, n_tasks);
    std::vector<Predictor> predictors;
    predictors.reserve(networks.size());
    for (const NetworkView& network : networks)
        predictors.emplace_back(network, rows.n_rows, workers.n_threads());
    workers.parallel_for(n_tasks, [&](int64_t task, int thread) {
        const int64_t begin = task * kRowsPerTask;
        const int64_t end = std::min(begin + kRowsPerTask, rows.n_rows);
        for (std::size_t i = 0; i < predictors.size(); i++)
            predictors[i].predict(rows, begin, end, thread, i > 0, workers, out);
        if (predictors.size() > 1)
            for (int64_t j = begin * n_out; j < end * n_out; j++)
                out[j] /= static_cast<float>(predictors.size());
    });
    return !workers.stopped();
}

}  // namespace cofire
