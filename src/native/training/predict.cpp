#include <algorithm>
#include <atomic>

#include "threads/crew.hpp"
#include "threads/interrupt_poll.hpp"
#include "training/epoch.hpp"
#include "training/tile_space.hpp"

namespace cofire {

bool predict(const std::vector<LayerView>& layers, Activation activation, Loss loss,
             const Rows& rows, float* out, int n_threads,
             const std::function<bool()>& interrupted) {
    const Plan plan(layers, activation, Purpose::prediction);
    const Kernels& k = kernels();
    const int64_t n_out = plan.n_live.back();
    const int tile_size = Tiling(kMaxTile * 2, plan.widest()).tile_size;
    // A task is a run of rows long enough to be worth taking.
    const int64_t run = std::max<int64_t>(tile_size, 1024);
    const int64_t n_tasks = (rows.n_rows + run - 1) / run;
    n_threads = static_cast<int>(std::clamp<int64_t>(n_threads, 1, std::max<int64_t>(n_tasks, 1)));
    std::vector<TileSpace> spaces;
    for (int t = 0; t < n_threads; t++) spaces.emplace_back(plan, tile_size);
    std::atomic<bool> stop{false};
    InterruptPoll poll(interrupted, stop);
    int64_t next_run = 0;
    const int64_t wave = 64 * n_threads;  // tasks a phase: an interrupt is seen between two
    int64_t first_task = 0;
    Crew::run(
        n_threads,
        [&](int64_t i, int thread) {
            std::vector<Floats>& level = spaces[thread].level;
            const int64_t begin = (first_task + i) * run, end = std::min(begin + run, rows.n_rows);
            for (int64_t row = begin; row < end; row += tile_size) {
                if (thread == 0) poll();
                if (stop) return;
                const int n = static_cast<int>(std::min<int64_t>(tile_size, end - row));
                const int n8 = (n + 7) / 8;
                int64_t ids[kMaxTile];
                for (int s = 0; s < n; s++) ids[s] = row + s;
                rows.gather(k, ids, n, n8, nullptr, plan.live_at[0].data(), level[0].data());
                forward_through(plan, k, n8, spaces[thread]);
                rows.clear(ids, n, n8, plan.live_at[0].data(), level[0].data());
                k.predict(n8, n_out, level.back().data(), loss);
                for (int s = 0; s < n; s++)
                    for (int64_t c = 0; c < n_out; c++)
                        out[(row + s) * n_out + c] = level.back()[c * n8 * 8 + s];
            }
        },
        [&]() -> uint64_t {
            first_task = next_run;
            const int64_t now = stop ? 0 : std::min(wave, n_tasks - next_run);
            next_run += now;
            return now;
        },
        poll);
    return !stop;
}

}  // namespace cofire
