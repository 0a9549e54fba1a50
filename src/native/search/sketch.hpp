// Many rows in few columns: each column is a sum of rows, each with a random sign.
//
// The product of two neurons' sums estimates that of their activations over all the rows, and the
// cosine of the sums that of the activations, the better the larger it is. A sample of as many
// rows would hardly ever show a neuron that rarely fires; a sum of all rows always does.
#pragma once

#include <cstdint>
#include <vector>

#include "search/signals.hpp"

namespace cofire {

constexpr int64_t kSketchColumns = 256;

class Sketch : public SignalSource {
public:
    // Has n_tiles tiles of columns, or as many as the rows fill if that is less.
    Sketch(const SearchContext& context, const RowSignals& rows, int64_t n_tiles);

    int64_t n_tiles() const { return static_cast<int64_t>(tiles_.size()); }
    // Of one tile of columns: a tile row of tile_size columns per neuron.
    const float* tile(int64_t t, int stage) const { return tiles_[t].stage[stage].data(); }
    int64_t multiply_adds() const { return multiply_adds_; }

    SignalSpace make_space() const override { return {}; }
    int64_t cost(int) const override { return 0; }
    int64_t n_samples() const override { return n_tiles() * tile_size_; }
    void with_tile(int64_t first, int, SignalSpace&, const Use& use) const override;

private:
    const int tile_size_;
    const Floats ones_;
    int64_t multiply_adds_ = 0;
    std::vector<TileSpace> tiles_;
};

}  // namespace cofire
