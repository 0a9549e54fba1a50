#include <algorithm>

#include "training/epoch.hpp"
#include "training/plan.hpp"

namespace cofire {
namespace {

// One of the networks, ready to predict.
struct Predictor {
    Plan plan;
    Output output;
    int tile_size;
    std::vector<TileSpace> spaces;  // per thread

    Predictor(const NetworkView& network, int n_threads)
        : plan(network, Purpose::prediction), output(network.output),
          tile_size(Tiling(kMaxTile * 2, plan.widest()).tile_size) {
        for (int t = 0; t < n_threads; t++) spaces.push_back(plan.make_space(tile_size));
    }

    // Writes the outputs of some rows to out, or adds them to what is there.
    void predict(const Rows& rows, int64_t begin, int64_t end, int thread, bool add,
                 Workers& workers, float* out) {
        const Kernels& k = kernels();
        const int64_t n_out = plan.n_live.back();
        const int32_t* tile_row = plan.tile_row[0].data();
        TileSpace& space = spaces[thread];
        const float* outputs = space.stage.back().data();
        for (int64_t row = begin; row < end; row += tile_size) {
            if (thread == 0) workers.poll();
            if (workers.stopped()) return;
            int64_t ids[kMaxTile];
            const int n = static_cast<int>(std::min<int64_t>(tile_size, end - row));
            const TileSamples samples{ids, n};
            for (int s = 0; s < n; s++) ids[s] = row + s;
            rows.gather(k, samples, nullptr, tile_row, space.stage.front().data());
            plan.forward(k, samples.n8(), space, plan.last_stage());
            rows.clear(samples, tile_row, space.stage.front().data());
            k.predict(samples.n8(), n_out, space.stage.back().data(), output);
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
    // A task has enough rows to be worth taking.
    constexpr int64_t kTask = 1024;
    const int64_t n_tasks = (rows.n_rows + kTask - 1) / kTask;
    const int64_t n_out = networks.front().n_out();
    Workers workers(context, n_tasks);
    std::vector<Predictor> predictors;
    for (const NetworkView& network : networks)
        predictors.emplace_back(network, workers.n_threads());
    workers.parallel_for(n_tasks, [&](int64_t task, int thread) {
        const int64_t begin = task * kTask, end = std::min(begin + kTask, rows.n_rows);
        for (std::size_t i = 0; i < predictors.size(); i++)
            predictors[i].predict(rows, begin, end, thread, i > 0, workers, out);
        if (predictors.size() > 1)
            for (int64_t j = begin * n_out; j < end * n_out; j++)
                out[j] /= static_cast<float>(predictors.size());
    });
    return !workers.stopped();
}

}  // namespace cofire
