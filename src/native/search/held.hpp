// The signals of few rows: computed once, and held for as long as a search looks at them.
#pragma once

#include <cstdint>
#include <vector>

#include "search/signals.hpp"

namespace cofire {

class HeldSignals : public SignalSource {
public:
    struct Tile {
        SignalSpace space;
        int n = 0;                    // samples
        float weight[kMaxTile] = {};  // of padding: 0
        int n8() const { return (n + 7) / 8; }
        const float* stage(int v) const { return space.forward.stage[v].data(); }
    };

    // Whether they are activations, of few rows, and take little enough memory.
    static bool fits(const SearchContext& context, const RowList& list);

    // Where correlations are wanted, signals are less their means.
    HeldSignals(const SearchContext& context, const RowList& list);

    const std::vector<Tile>& tiles() const { return tiles_; }
    int64_t multiply_adds() const { return multiply_adds_; }

    int64_t n_samples() const override { return n_samples_; }
    SignalSpace make_space() const override { return {}; }
    int64_t cost(int) const override { return 0; }
    void with_tile(int64_t first, int, SignalSpace&, const Use& use) const override;
    const HeldSignals* held() const override { return this; }

private:
    const Plan& plan_;
    const Kernels& kernels_;
    const bool has_weights_;  // other than 1
    const int64_t n_samples_;
    const int tile_size_;
    std::vector<Tile> tiles_;
    int64_t multiply_adds_ = 0;

    double total_weight() const;
    void centre(int stage, int64_t begin, int64_t end, double weight);
};

}  // namespace cofire
