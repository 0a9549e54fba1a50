#include "search/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "search/windows.hpp"

namespace cofire {

Sketch::Sketch(const SearchContext& context, const RowSignals& rows, int64_t n_tiles)
    : tile_size_(context.tile_size), ones_(tile_size_, 1.0f) {
    const Plan& plan = context.plan;
    Workers& workers = context.workers;
    const int64_t n_row_tiles = divide_up(rows.n_samples(), tile_size_);
    n_tiles = std::min(n_tiles, n_row_tiles);
    for (int64_t t = 0; t < n_tiles; t++) tiles_.push_back(plan.make_space(tile_size_));
    std::vector<SignalSpace> spaces;
    for (int t = 0; t < workers.n_threads(); t++) spaces.push_back(rows.make_space());
    const int64_t per_row =
        std::accumulate(plan.n_live.begin(), plan.n_live.end(), rows.cost(plan.last_stage()));
    multiply_adds_ = rows.n_samples() * per_row;
    const CounterRandom signs = context.request.random.stream(Stream::sketch_signs);
    const auto add = [&](const Signals& signals, int64_t first, TileSpace& sums) {
        float factor[kMaxTile] = {};
        for (int64_t s = 0; s < signals.n8 * 8; s++)
            factor[s] = (signs.at(first + s) & 1 ? 1.0f : -1.0f) * std::sqrt(signals.weight[s]);
        for (int v = 0; v <= plan.last_stage(); v++)
            context.kernels.add_tile_rows(signals.n8, plan.n_live[v], signals.inputs[v].data(),
                                          factor, tile_size_, sums.stage[v].data());
    };
    workers.parallel_for(n_tiles, [&](int64_t tile, int thread) {
        const int64_t end = (tile + 1) * n_row_tiles / n_tiles;
        for (int64_t t = tile * n_row_tiles / n_tiles; t < end; t++)
            rows.with_tile(
                t * tile_size_, plan.last_stage(), spaces[thread],
                [&](const Signals& signals) { add(signals, t * tile_size_, tiles_[tile]); });
    });
}

void Sketch::with_tile(int64_t first, int, SignalSpace&, const Use& use) const {
    const std::vector<Floats>& stage = tiles_[first / tile_size_].stage;
    use(Signals{tile_size_ / 8, stage, stage, ones_.data()});
}

}  // namespace cofire
