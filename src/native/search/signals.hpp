// What the neurons on the two sides of a layer show for some rows: what the search compares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "search/context.hpp"

namespace cofire {

// What a thread needs to look at a tile.
struct SignalSpace {
    TileSpace forward;
    // The others only where gradients are wanted. Of the last four, only `targets` is read;
    // `backward` writes the rest.
    TileSpace deltas;
    Floats gradient, bias, targets;
    std::vector<uint8_t> fired;

    SignalSpace() = default;
    SignalSpace(const Plan& plan, int tile_size, const SearchRequest& request);
};

// The signals of one tile: its tile rows, per stage. An output's signal is its activation, or
// the change that the loss asks for.
struct Signals {
    int n8;
    const std::vector<Floats>& inputs;
    const std::vector<Floats>& outputs;
    const float* weight;  // per sample; that of padding is 0
};

class HeldSignals;

// Where signals come from, a tile of samples at a time.
class SignalSource {
public:
    using Use = std::function<void(const Signals&)>;
    virtual ~SignalSource() = default;
    virtual int64_t n_samples() const = 0;
    virtual SignalSpace make_space() const = 0;
    // Multiply-adds per sample of a tile up to a stage.
    virtual int64_t cost(int last_stage) const = 0;
    // use(signals) of the samples from `first` on, at most a tile, up to a stage.
    virtual void with_tile(int64_t first, int last_stage, SignalSpace& space,
                           const Use& use) const = 0;
    // Where all signals are held: these (held.hpp).
    virtual const HeldSignals* held() const { return nullptr; }
};

// Rows of the data, and how many each stands for (nullptr: 1).
struct RowList {
    const int64_t* ids = nullptr;
    int64_t n = 0;
    const float* weight = nullptr;
};

class RowSignals : public SignalSource {
public:
    // plan: of the whole network, or of a part of it.
    RowSignals(const SearchContext& context, const Plan& plan, const RowList& list);

    int64_t n_samples() const override { return list_.n; }
    SignalSpace make_space() const override { return {plan_, tile_size_, request_}; }
    int64_t cost(int last_stage) const override;
    void with_tile(int64_t first, int last_stage, SignalSpace& space,
                   const Use& use) const override;
    // The same, but the signals stay in the space; fills in the samples' weights.
    void fill(int64_t first, int last_stage, SignalSpace& space, float weight[kMaxTile]) const;

private:
    const Plan& plan_;
    const Kernels& kernels_;
    const Output output_;
    const SearchRequest& request_;
    const RowList list_;
    const int tile_size_;
    std::vector<std::vector<Centre>> centres_;  // per stage and tile row, or nothing

    TileSamples samples(int64_t first) const {
        return {list_.ids + first,
                static_cast<int>(std::min<int64_t>(tile_size_, list_.n - first))};
    }
    void find_deltas(const TileSamples& samples, SignalSpace& space) const;
};

// Where correlations are wanted: the means of the neurons' signals over some rows. Returns the
// multiply-adds that it took.
int64_t find_centres(SearchContext& context, const RowList& list);

}  // namespace cofire
