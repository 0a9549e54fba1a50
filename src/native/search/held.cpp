#include "search/held.hpp"

#include <algorithm>
#include <numeric>

#include "search/windows.hpp"

namespace cofire {

namespace {

constexpr int64_t kMaxRows = 768;               // as many as are multiplied at once
constexpr int64_t kMaxHeld = int64_t{1} << 24;  // floats: 64 MB

int64_t n_neurons(const Plan& plan) {
    return std::accumulate(plan.n_live.begin(), plan.n_live.end(), int64_t{0});
}

// Weighted sums of some neurons' signals and of their squares.
struct Sums {
    static constexpr int n = 8;  // so many at once: each sum is a chain of additions
    double sum[n] = {}, square[n] = {};

    void add(const Sums& other) {
        for (int c = 0; c < n; c++) {
            sum[c] += other.sum[c];
            square[c] += other.square[c];
        }
    }
    void add(const HeldSignals::Tile& tile, const float* const* tile_rows) {
        for (int s = 0; s < tile.n8() * 8; s++)
            for (int c = 0; c < n; c++) {
                const double x = tile_rows[c][s], weighted = tile.weight[s] * x;
                sum[c] += weighted;
                square[c] += weighted * x;
            }
    }
};

}  // namespace

bool HeldSignals::fits(const SearchContext& context, const RowList& list) {
    return context.request.metric != Metric::gradient && list.n <= kMaxRows &&
           list.n * n_neurons(context.plan) <= kMaxHeld;
}

HeldSignals::HeldSignals(const SearchContext& context, const RowList& list)
    : plan_(context.plan), n_samples_(list.n), tile_size_(context.tile_size),
      tiles_(divide_up(list.n, context.tile_size)) {
    const RowSignals rows(context, plan_, list);
    for (std::size_t t = 0; t < tiles_.size(); t++)
        tiles_[t].n = static_cast<int>(std::min<int64_t>(tile_size_, list.n - t * tile_size_));
    Workers& workers = context.workers;
    workers.parallel_for(tiles_.size(), [&](int64_t t, int) {
        Tile& tile = tiles_[t];
        tile.space = rows.make_space();
        rows.fill(t * tile_size_, plan_.last_stage(), tile.space, tile.weight);
    });
    multiply_adds_ = list.n * rows.cost(plan_.last_stage());
    if (context.request.metric != Metric::pearson || workers.stopped()) return;

    constexpr int64_t kAtOnce = 256;
    struct Task {
        int stage;
        int64_t begin;
    };
    std::vector<Task> tasks;
    for (int v = 0; v <= plan_.last_stage(); v++)
        for (int64_t j = 0; j < plan_.n_live[v]; j += kAtOnce) tasks.push_back({v, j});
    const double weight = total_weight();
    workers.parallel_for(tasks.size(), [&](int64_t i, int) {
        const auto [stage, begin] = tasks[i];
        centre(stage, begin, std::min(begin + kAtOnce, plan_.n_live[stage]), weight);
    });
    multiply_adds_ += list.n * n_neurons(plan_);
}

// As find_centres has it, to the bit: tiles are distributed over groups by their number, and the
// groups summed in their order.
double HeldSignals::total_weight() const {
    double groups[kMaxGroups] = {};
    for (std::size_t t = 0; t < tiles_.size(); t++)
        for (int s = 0; s < tiles_[t].n8() * 8; s++) groups[t % kMaxGroups] += tiles_[t].weight[s];
    return std::accumulate(groups + 1, groups + kMaxGroups, groups[0]);
}

void HeldSignals::centre(int stage, int64_t begin, int64_t end, double weight) {
    const auto tile_row = [&](Tile& tile, int64_t j) {
        return tile.space.forward.stage[stage].data() + j * tile.n8() * 8;
    };
    for (int64_t j = begin; j < end; j += Sums::n) {
        Sums groups[kMaxGroups];
        for (std::size_t t = 0; t < tiles_.size(); t++) {
            const float* tile_rows[Sums::n];
            for (int c = 0; c < Sums::n; c++)
                tile_rows[c] = tile_row(tiles_[t], std::min(j + c, end - 1));
            Sums of_tile;
            of_tile.add(tiles_[t], tile_rows);
            groups[t % kMaxGroups].add(of_tile);
        }
        for (int g = 1; g < kMaxGroups; g++) groups[0].add(groups[g]);
        for (int c = 0; c < Sums::n && j + c < end; c++) {
            const Centre centre(groups[0].sum[c], groups[0].square[c], weight);
            for (Tile& tile : tiles_) centre.apply(tile.n8() * 8, tile_row(tile, j + c));
        }
    }
}

void HeldSignals::with_tile(int64_t first, int, SignalSpace&, const Use& use) const {
    const Tile& tile = tiles_[first / tile_size_];
    const std::vector<Floats>& stage = tile.space.forward.stage;
    use(Signals{tile.n8(), stage, stage, tile.weight});
}

}  // namespace cofire
