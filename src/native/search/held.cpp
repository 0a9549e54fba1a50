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
    std::vector<double> sum, square;
    explicit Sums(int64_t n) : sum(n, 0.0), square(n, 0.0) {}

    void add(const Sums& other) {
        for (std::size_t j = 0; j < sum.size(); j++) {
            sum[j] += other.sum[j];
            square[j] += other.square[j];
        }
    }
    // Becomes those of a tile; in the order of the samples.
    void find(int n8, const float* tile_rows, const float* weight) {
        for (std::size_t j = 0; j < sum.size(); j++) {
            sum[j] = square[j] = 0.0;
            for (int s = 0; s < n8 * 8; s++) {
                const double x = tile_rows[j * n8 * 8 + s], weighted = weight[s] * x;
                sum[j] += weighted;
                square[j] += weighted * x;
            }
        }
    }
};

}  // namespace

bool HeldSignals::fits(const SearchContext& context, const RowList& list) {
    return context.request.metric != Metric::gradient && list.n <= kMaxRows &&
           list.n * n_neurons(context.plan) <= kMaxHeld;
}

HeldSignals::HeldSignals(const SearchContext& context, const RowList& list)
    : plan_(context.plan), kernels_(context.kernels),
      has_weights_(list.weight != nullptr || context.request.sample_weight != nullptr),
      n_samples_(list.n), tile_size_(context.tile_size),
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
    const int64_t n = end - begin;
    std::vector<Sums> groups(std::min<std::size_t>(kMaxGroups, tiles_.size()), Sums(n));
    Sums of_tile(n);
    for (std::size_t t = 0; t < tiles_.size(); t++) {
        Tile& tile = tiles_[t];
        if (has_weights_)
            of_tile.find(tile.n8(), tile_row(tile, begin), tile.weight);
        else
            kernels_.moments(tile.n8(), n, tile_row(tile, begin), tile.weight, of_tile.sum.data(),
                             of_tile.square.data());
        groups[t % kMaxGroups].add(of_tile);
    }
    for (std::size_t g = 1; g < groups.size(); g++) groups[0].add(groups[g]);
    for (Tile& tile : tiles_)
        for (int64_t j = 0; j < n; j++) {
            const Centre centre(groups[0].sum[j], groups[0].square[j], weight);
            centre.apply(tile.n8() * 8, tile_row(tile, begin + j));
        }
}

void HeldSignals::with_tile(int64_t first, int, SignalSpace&, const Use& use) const {
    const Tile& tile = tiles_[first / tile_size_];
    const std::vector<Floats>& stage = tile.space.forward.stage;
    use(Signals{tile.n8(), stage, stage, tile.weight});
}

}  // namespace cofire
