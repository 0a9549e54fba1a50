#include <algorithm>

#include "training/epoch.hpp"
#include "training/plan.hpp"

namespace cofire {

bool predict(const NetworkView& network, const Rows& rows, float* out, const CallContext& context) {
    const Plan plan(network, Purpose::prediction);
    const Kernels& k = kernels();
    const int64_t n_out = plan.n_live.back();
    const int tile_size = Tiling(kMaxTile * 2, plan.widest()).tile_size;
    // A task has enough rows to be worth taking.
    const int64_t task_size = std::max<int64_t>(tile_size, 1024);
    const int64_t n_tasks = (rows.n_rows + task_size - 1) / task_size;
    Workers workers(context, n_tasks);
    std::vector<TileSpace> spaces;
    for (int t = 0; t < workers.n_threads(); t++) spaces.push_back(plan.make_space(tile_size));
    const int32_t* tile_row = plan.tile_row[0].data();
    workers.parallel_for(n_tasks, [&](int64_t task, int thread) {
        float* inputs = spaces[thread].stage.front().data();
        float* outputs = spaces[thread].stage.back().data();
        const int64_t end = std::min((task + 1) * task_size, rows.n_rows);
        for (int64_t row = task * task_size; row < end; row += tile_size) {
            if (thread == 0) workers.poll();
            if (workers.stopped()) return;
            int64_t ids[kMaxTile];
            const TileSamples samples{ids,
                                      static_cast<int>(std::min<int64_t>(tile_size, end - row))};
            for (int s = 0; s < samples.n; s++) ids[s] = row + s;
            rows.gather(k, samples, nullptr, tile_row, inputs);
            plan.forward(k, samples.n8(), spaces[thread], plan.last_stage());
            rows.clear(samples, tile_row, inputs);
            k.predict(samples.n8(), n_out, outputs, network.output);
            for (int s = 0; s < samples.n; s++)
                for (int64_t c = 0; c < n_out; c++)
                    out[(row + s) * n_out + c] = outputs[c * samples.n_columns() + s];
        }
    });
    return !workers.stopped();
}

}  // namespace cofire
