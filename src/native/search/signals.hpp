// What the neurons of a layer's two sides show for some rows: what the search compares.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "search/search.hpp"
#include "training/tile_space.hpp"

namespace cofire {

// What a thread needs to look at a tile.
struct SignalSpace {
    TileSpace forward;
    TileSpace deltas;                // only where gradients are wanted
    Floats gradient, bias, targets;  // of which nobody wants the content, but the last
    std::vector<uint8_t> fired;

    SignalSpace() = default;
    SignalSpace(const Plan& plan, int tile_size, const SearchRequest& request)
        : forward(plan, tile_size),
          deltas(plan, request.metric == Metric::gradient ? tile_size : 0) {
        if (request.metric != Metric::gradient) return;
        int64_t n_connections = 0;
        for (const PlanLayer& layer : plan.layers)
            n_connections = std::max(n_connections, layer.weights.n_live);
        gradient.resize(n_connections + 16);
        bias.resize(plan.widest() + 16);
        fired.resize(plan.widest());
        targets.resize(request.targets.room(plan.n_live.back()));
    }
};

// The signals of one tile: rows of neurons, per level. An output's signal is its activation, or
// what the loss would have it change by.
struct Signals {
    int n8;
    const std::vector<Floats>& inputs;
    const std::vector<Floats>& outputs;
    const float* weight;  // per sample; padding weighs nothing
};

// Where signals come from, a tile of samples at a time.
class SignalSource {
public:
    using Use = std::function<void(const Signals&)>;
    virtual ~SignalSource() = default;
    virtual int64_t n_samples() const = 0;
    virtual SignalSpace make_space() const = 0;
    // Multiply-adds per sample of a tile up to a level.
    virtual int64_t price(int last_level) const = 0;
    // use(signals) of the samples from `first` on, at most a tile, up to a level.
    virtual void with_tile(int64_t first, int last_level, SignalSpace& space,
                           const Use& use) const = 0;
};

// Rows of the data, and how much each stands for (nullptr: one).
struct RowList {
    const int64_t* ids = nullptr;
    int64_t n = 0;
    const float* weight = nullptr;
};

class RowSignals : public SignalSource {
public:
    RowSignals(const Plan& plan, const Kernels& kernels, Loss loss, const Rows& rows,
               const SearchRequest& request, const RowList& list, int tile_size)
        : plan_(plan), kernels_(kernels), loss_(loss), rows_(rows), request_(request), list_(list),
          tile_size_(tile_size) {
        const Centres& centres = request.centres;
        for (std::size_t v = 0; v < centres.mean.size(); v++) {
            mean_.emplace_back(plan.n_live[v], 0.0f);
            varies_.emplace_back(plan.n_live[v], uint8_t{0});
            for (int64_t j = 0; j < plan.sizes[v]; j++) {
                const int32_t row = plan.live_at[v][j];
                if (row < 0) continue;
                mean_[v][row] = centres.mean[v][j];
                varies_[v][row] = centres.varies[v][j];
            }
        }
    }

    int64_t n_samples() const override { return list_.n; }
    SignalSpace make_space() const override { return {plan_, tile_size_, request_}; }
    int64_t price(int last_level) const override {
        if (request_.metric != Metric::gradient) return plan_.n_connections(last_level);
        const int64_t all = plan_.n_connections(plan_.n_layers());
        return all + 2 * (all - plan_.n_connections(1));  // backward: deltas and gradients
    }

    void with_tile(int64_t first, int last_level, SignalSpace& space,
                   const Use& use) const override {
        const int64_t rest = list_.n - first;
        const int n = static_cast<int>(std::min<int64_t>(tile_size_, rest)), n8 = (n + 7) / 8;
        const int64_t* ids = list_.ids + first;
        const int64_t* next_ids = rest >= tile_size_ + 8 ? ids + tile_size_ : nullptr;
        const int32_t* destination = plan_.live_at[0].data();
        std::vector<Floats>& level = space.forward.level;
        float weight[kMaxTile] = {};
        for (int s = 0; s < n; s++) {
            weight[s] = list_.weight == nullptr ? 1.0f : list_.weight[first + s];
            if (request_.sample_weight != nullptr) weight[s] *= request_.sample_weight[ids[s]];
        }

        rows_.gather(kernels_, ids, n, n8, next_ids, destination, level[0].data());
        if (request_.metric == Metric::gradient) {
            forward_through(plan_, kernels_, n8, space.forward);
            find_deltas(ids, n, n8, space);
        } else {
            forward_through(plan_, kernels_, n8, space.forward, last_level);
        }
        if (last_level == plan_.n_layers())
            kernels_.predict(n8, plan_.n_live.back(), level.back().data(), loss_);
        if (!mean_.empty()) centre(n8, last_level, level);
        for (int v = 0; v <= plan_.n_layers(); v++)  // what stands for neurons that are left out
            std::fill_n(level[v].data() + plan_.n_live[v] * n8 * 8, n8 * 8, 0.0f);
        const bool gradient = request_.metric == Metric::gradient;
        use(Signals{n8, level, gradient ? space.deltas.level : level, weight});
        if (!mean_.empty() && rows_.kind == Rows::Kind::sparse)
            std::fill_n(level[0].data(), plan_.n_live[0] * n8 * 8, 0.0f);
        else
            rows_.clear(ids, n, n8, destination, level[0].data());
    }

private:
    const Plan& plan_;
    const Kernels& kernels_;
    const Loss loss_;
    const Rows& rows_;
    const SearchRequest& request_;
    const RowList list_;
    const int tile_size_;
    std::vector<std::vector<float>> mean_;  // per level and row of a tile, or nothing
    Marks varies_;

    void centre(int n8, int last_level, std::vector<Floats>& level) const {
        const int64_t stride = n8 * 8;
        for (int v = 0; v <= last_level; v++)
            for (int64_t j = 0; j < plan_.n_live[v]; j++) {
                float* row = level[v].data() + j * stride;
                const float mean = mean_[v][j], factor = varies_[v][j] ? 1.0f : 0.0f;
                for (int64_t s = 0; s < stride; s++) row[s] = (row[s] - mean) * factor;
            }
    }

    // Deltas are found in place of activations, which are still wanted: in a copy. They are those
    // of each sample's own loss; its weight comes in where products are summed.
    void find_deltas(const int64_t* ids, int n, int n8, SignalSpace& space) const {
        const int last = plan_.n_layers();
        std::vector<Floats>& delta = space.deltas.level;
        for (int v = 1; v <= last; v++)
            std::copy_n(space.forward.level[v].data(), plan_.n_live[v] * n8 * 8, delta[v].data());
        float one[kMaxTile] = {};
        std::fill_n(one, n, 1.0f);
        request_.targets.loss_and_delta(kernels_, loss_, ids, n, n8, plan_.n_live.back(), one, one,
                                        space.targets.data(), delta[last].data());
        for (int l = last - 1; l > 0; l--)
            kernels_.backward(n8, plan_.layers[l].by_input(), delta[l + 1].data(), delta[l].data(),
                              plan_.activation, space.gradient.data(), space.bias.data(), false,
                              space.fired.data(), plan_.is_far(l + 1, n8));
    }
};

}  // namespace cofire
