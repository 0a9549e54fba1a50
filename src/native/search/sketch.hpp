// Many rows in few columns: each column is a sum of rows, each with a random sign.
//
// The product of two neurons' sums estimates that of their activations over all the rows, and the
// cosine of the sums that of the activations, the better the larger it is. A sample of as many
// rows would see a neuron that rarely fires hardly ever; a sum of all rows always does.
#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "search/signals.hpp"
#include "search/top_places.hpp"
#include "threads/workers.hpp"

namespace cofire {

constexpr int64_t kSketchColumns = 256;

class Sketch : public SignalSource {
public:
    // Tiles of columns, at most as many as the rows fill.
    Sketch(const Plan& plan, const RowSignals& rows, const SearchRequest& request, int tile_size,
           int64_t n_tiles, Workers& workers)
        : tile_size_(tile_size), ones_(tile_size, 1.0f) {
        const int64_t n_row_tiles = (rows.n_samples() + tile_size - 1) / tile_size;
        n_tiles = std::min(n_tiles, n_row_tiles);
        for (int64_t t = 0; t < n_tiles; t++) tiles_.emplace_back(plan, tile_size);
        std::vector<SignalSpace> spaces;
        for (int t = 0; t < workers.n_threads(); t++) spaces.push_back(rows.make_space());
        const int64_t per_row =
            std::accumulate(plan.n_live.begin(), plan.n_live.end(), rows.price(plan.n_layers()));
        multiply_adds_ = rows.n_samples() * per_row;
        const CounterRandom signs = request.random.stream(Stream::sketch_signs);
        workers.share(n_tiles, [&](int64_t tile, int thread) {
            for (int64_t t = tile * n_row_tiles / n_tiles; t < (tile + 1) * n_row_tiles / n_tiles;
                 t++)
                rows.with_tile(t * tile_size, plan.n_layers(), spaces[thread],
                               [&](const Signals& signals) {
                                   add(plan, signals, t * tile_size, signs, tiles_[tile]);
                               });
        });
    }

    int64_t n_tiles() const { return static_cast<int64_t>(tiles_.size()); }
    // Of one tile of columns: a row of tile_size columns per neuron.
    const float* rows(int64_t tile, int level) const { return tiles_[tile].level[level].data(); }

    int64_t multiply_adds() const { return multiply_adds_; }

    SignalSpace make_space() const override { return {}; }
    int64_t price(int) const override { return 0; }
    int64_t n_samples() const override { return n_tiles() * tile_size_; }

    void with_tile(int64_t first, int, SignalSpace&, const Use& use) const override {
        const std::vector<Floats>& level = tiles_[first / tile_size_].level;
        use(Signals{tile_size_ / 8, level, level, ones_.data()});
    }

private:
    const int tile_size_;
    const Floats ones_;
    int64_t multiply_adds_ = 0;
    std::vector<TileSpace> tiles_;

    void add(const Plan& plan, const Signals& signals, int64_t first, const CounterRandom& signs,
             TileSpace& sums) const {
        const int64_t stride = signals.n8 * 8;
        float factor[kMaxTile] = {};
        for (int64_t s = 0; s < stride; s++)
            factor[s] = (signs.at(first + s) & 1 ? 1.0f : -1.0f) * std::sqrt(signals.weight[s]);
        for (int v = 0; v <= plan.n_layers(); v++)
            kernels().add_rows(signals.n8, plan.n_live[v], signals.inputs[v].data(), factor,
                               tile_size_, sums.level[v].data());
    }
};

}  // namespace cofire
