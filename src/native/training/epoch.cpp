#include "training/epoch.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "threads/crew.hpp"
#include "threads/interrupt_poll.hpp"
#include "training/gradient_sums.hpp"
#include "training/tile_space.hpp"

namespace cofire {

Tiling::Tiling(int64_t n_samples, int64_t widest) {
    // Wide layers leave the cache: narrower tiles keep more of them in.
    const int64_t largest = widest <= 8192 ? 64 : 32;
    // An even number of tiles, so that two threads get equal parts.
    int64_t wanted = (n_samples + largest - 1) / largest;
    if (n_samples > 16) wanted += wanted % 2;
    const int64_t share = (n_samples + wanted - 1) / wanted;
    tile_size = static_cast<int>((share + 7) / 8 * 8);
    n_tiles = static_cast<int>((n_samples + tile_size - 1) / tile_size);
    n_groups = std::min(n_tiles, kMaxGroups);
}

namespace {

class Trainer {
public:
    Trainer(const std::vector<LayerView>& layers, Activation activation, Loss loss,
            const Rows& rows, const Targets& targets, const float* sample_weight,
            const Batches& batches, const Optimizer& optimizer, int n_threads)
        : plan_(layers, activation, Purpose::training), kernels_(kernels()), loss_(loss),
          rows_(rows), targets_(targets), sample_weight_(sample_weight), batches_(batches),
          optimizer_(optimizer) {
        // The last batch may be cut otherwise: fewer samples can mean fewer, wider tiles.
        const Tiling full(std::clamp<int64_t>(batches.n_rows, 1, batches.batch_size),
                          plan_.widest());
        const Tiling last(std::max<int64_t>(batches.n_rows % batches.batch_size, 1),
                          plan_.widest());
        const int tile_size = tile_size_ = std::max(full.tile_size, last.tile_size);
        const int n_groups = std::max(full.n_groups, last.n_groups);
        n_threads_ = std::clamp(n_threads, 1, n_groups);
        for (int t = 0; t < n_threads_; t++) {
            spaces_.emplace_back(plan_, tile_size);
            if (batches.augmentation != nullptr) scratch_.emplace_back(rows.n_features * tile_size);
            fired_.emplace_back();
            for (int64_t n : plan_.n_live) fired_.back().emplace_back(n, uint8_t{0});
        }
        if (batches.input_dropout.share > 0)
            input_keys_ = batches.input_dropout.keys(plan_.live_at[0], plan_.n_live[0]);
        const int64_t n_out = plan_.n_live.back();
        group_targets_.assign(n_groups, Floats(targets.room(n_out)));
        exact_ = batches.n_rows <= batches.batch_size;
        for (int g = 0; g < n_groups; g++) sums_.emplace_back(plan_, exact_);
        group_loss_.resize(n_groups);
        group_bad_layer_.resize(n_groups);
        cut_update_into_chunks();
        n_steps_ = batches.n_rows / batches.batch_size;
        if (!batches.drop_last) n_steps_ += batches.n_rows % batches.batch_size != 0;
        batches_.batch_size = std::clamp<int64_t>(batches.n_rows, 1, batches.batch_size);
    }

    EpochResult run(const std::function<bool()>& interrupted) {
        InterruptPoll poll(interrupted, stop_);
        poll_ = &poll;
        Crew::run(
            n_threads_, [this](int64_t i, int thread) { do_task(i, thread); },
            [this] { return next_phase(); }, poll);
        result_.loss = weight_seen_ > 0 ? loss_seen_ / weight_seen_ : 0.0;
        result_.interrupted = stop_;
        if (result_.diverged_layer < 0)
            for (int l = plan_.n_layers() - 1; l >= 0; l--)
                if (!plan_.layers[l].weights.all_finite() || !plan_.layers[l].bias.all_finite())
                    result_.diverged_layer = l;
        if (result_.diverged_layer < 0 && !plan_.stays_finite(batches_.largest_input))
            result_.diverged_layer = overflowing_layer();
        count_fired();
        return result_;
    }

    void give_back(const std::vector<LayerView>& layers) const {
        for (int l = 0; l < plan_.n_layers(); l++) {
            plan_.layers[l].weights.give_back(layers[l].weights);
            plan_.layers[l].bias.give_back(layers[l].bias);
        }
    }

private:
    struct Chunk {
        int layer;
        bool bias;
        int64_t begin, end;
    };
    static constexpr int64_t kChunk = 16384;
    static constexpr int64_t kWorthSharing = 2048;  // parameters: fewer are sooner done alone

    Plan plan_;
    const Kernels& kernels_;
    Loss loss_;
    const Rows& rows_;
    const Targets& targets_;
    const float* sample_weight_;
    Batches batches_;
    Optimizer optimizer_;
    int n_threads_ = 1, tile_size_ = 1;

    std::vector<TileSpace> spaces_;                         // per thread
    std::vector<Floats> scratch_;                           // per thread, for augmentation
    std::vector<uint32_t> input_keys_;                      // per live input, for dropout
    std::vector<std::vector<std::vector<uint8_t>>> fired_;  // per thread and level
    std::vector<Floats> group_targets_;                     // per group
    std::vector<GradientSums> sums_;                        // per group
    bool exact_ = false;  // one batch holds all rows: sum in double (exact_sums.hpp)
    int n_summands_ = 0;  // groups whose gradients the update adds up
    std::vector<double> group_loss_;
    std::vector<int> group_bad_layer_;
    std::vector<Chunk> chunks_;

    int64_t n_steps_ = 0, step_ = -1;
    bool updating_ = false;
    int64_t first_row_ = 0, n_samples_ = 0;
    Tiling tiling_{1, 1};
    double weight_sum_ = 0, weight_seen_ = 0, loss_seen_ = 0;
    std::atomic<bool> stop_{false};
    InterruptPoll* poll_ = nullptr;
    EpochResult result_;

    void cut_update_into_chunks() {
        for (int l = 0; l < plan_.n_layers(); l++)
            for (const bool bias : {false, true}) {
                const Parameters& p = bias ? plan_.layers[l].bias : plan_.layers[l].weights;
                const int64_t n = static_cast<int64_t>(p.origin.size());
                for (int64_t begin = 0; begin < n; begin += kChunk)
                    chunks_.push_back({l, bias, begin, std::min(begin + kChunk, n)});
            }
    }

    void do_task(int64_t i, int thread) {
        if (updating_)
            update(chunks_[i]);
        else
            train_group(static_cast<int>(i), thread);
    }

    // Runs alone between two phases: a step is the groups' gradients, then the update.
    uint64_t next_phase() {
        if (step_ < 0) return open_step();
        if (updating_) {
            updating_ = false;
            return open_step();
        }
        if (stop_ || !close_gradients()) return 0;
        int64_t n_parameters = 0;
        for (const Chunk& c : chunks_) n_parameters += c.end - c.begin;
        if (n_threads_ > 1 && n_parameters > kWorthSharing) {
            updating_ = true;
            return chunks_.size();
        }
        for (const Chunk& c : chunks_) update(c);
        return open_step();
    }

    uint64_t open_step() {
        step_++;
        if (step_ > 0) result_.n_steps++;
        if (step_ >= n_steps_ || stop_) return 0;
        first_row_ = step_ * batches_.batch_size;
        n_samples_ = std::min(batches_.batch_size, batches_.n_rows - first_row_);
        tiling_ = Tiling(n_samples_, plan_.widest());
        weight_sum_ = 0;
        if (sample_weight_ == nullptr)
            weight_sum_ = static_cast<double>(n_samples_);
        else
            for (int64_t s = 0; s < n_samples_; s++)
                weight_sum_ += sample_weight_[batches_.order[first_row_ + s]];
        return tiling_.n_groups;
    }

    // Sums the groups' losses in their order; false if a value is not finite.
    bool close_gradients() {
        double loss = 0;
        int bad = -1;
        for (int g = 0; g < tiling_.n_groups; g++) {
            loss += group_loss_[g];
            if (group_bad_layer_[g] >= 0 && (bad < 0 || group_bad_layer_[g] < bad))
                bad = group_bad_layer_[g];
        }
        if (bad >= 0) {
            result_.diverged_layer = bad;
            return false;
        }
        loss_seen_ += loss * weight_sum_;
        weight_seen_ += weight_sum_;
        n_summands_ = exact_ ? 1 : tiling_.n_groups;
        if (exact_) round_exact_sums(sums_, tiling_.n_groups, weight_sum_ == 0 ? 1.0 : weight_sum_);
        return true;
    }

    void train_group(int group, int thread) {
        group_loss_[group] = 0;
        group_bad_layer_[group] = -1;
        if (exact_) sums_[group].clear_exact();
        bool accumulate = false;
        for (int tile = group; tile < tiling_.n_tiles; tile += tiling_.n_groups) {
            if (thread == 0) (*poll_)();
            if (stop_) return;  // a step that is not finished is not taken
            train_tile(tile, group, thread, accumulate);
            accumulate = true;
        }
    }

    void train_tile(int tile, int group, int thread, bool accumulate) {
        const int64_t begin = static_cast<int64_t>(tile) * tiling_.tile_size;
        const int n = static_cast<int>(std::min<int64_t>(tiling_.tile_size, n_samples_ - begin));
        const int n8 = (n + 7) / 8;
        const int64_t* ids = batches_.order + first_row_ + begin;
        const int64_t ahead = first_row_ + batches_.batch_size + begin;
        const int64_t* next_ids = ahead + 8 <= batches_.n_rows ? batches_.order + ahead : nullptr;
        std::vector<Floats>& level = spaces_[thread].level;
        const int last = plan_.n_layers();

        const int32_t* destination = plan_.live_at[0].data();
        if (batches_.augmentation == nullptr)
            rows_.gather(kernels_, ids, n, n8, next_ids, destination, level[0].data());
        else
            batches_.augmentation->gather(rows_, kernels_, ids, n, n8, destination,
                                          scratch_[thread].data(), level[0].data());
        if (batches_.input_dropout.share > 0)
            batches_.input_dropout.apply(kernels_, input_keys_, ids, n, n8, level[0].data());
        forward_through(plan_, kernels_, n8, spaces_[thread]);
        const double loss = loss_and_delta(ids, n, n8, group, level[last].data());
        if (!std::isfinite(loss) && group_bad_layer_[group] < 0)
            group_bad_layer_[group] = first_bad_layer(n8, spaces_[thread]);
        group_loss_[group] += loss;

        exact_ ? backward_exact(ids, n, n8, group, thread)
               : backward(n8, group, thread, accumulate);
        rows_.clear(ids, n, n8, destination, level[0].data());
    }

    void backward(int n8, int group, int thread, bool accumulate) {
        std::vector<Floats>& level = spaces_[thread].level;
        GradientSums& sums = sums_[group];
        const int last = plan_.n_layers();
        kernels_.row_sums(n8, plan_.n_live[last], level[last].data(), sums.bias[last - 1].data(),
                          accumulate);
        for (int l = last - 1; l >= 0; l--)
            kernels_.backward(n8, plan_.layers[l].by_input(), level[l + 1].data(), level[l].data(),
                              plan_.activation, sums.weights[l].data(),
                              l > 0 ? sums.bias[l - 1].data() : nullptr, accumulate,
                              fired_[thread][l].data(), plan_.is_far(l + 1, n8));
    }

    void backward_exact(const int64_t* ids, int n, int n8, int group, int thread) {
        std::vector<Floats>& level = spaces_[thread].level;
        GradientSums& sums = sums_[group];
        const int last = plan_.n_layers();
        double weight[kMaxTile] = {};
        for (int s = 0; s < n; s++)
            weight[s] = sample_weight_ == nullptr ? 1.0 : sample_weight_[ids[s]];
        kernels_.row_sums_exact(n8, plan_.n_live[last], level[last].data(), weight,
                                sums.exact_bias[last - 1].data());
        for (int l = last - 1; l >= 0; l--)
            kernels_.backward_exact(
                n8, plan_.layers[l].by_input(), level[l + 1].data(), level[l].data(),
                plan_.activation, weight, sums.exact_weights[l].data(),
                l > 0 ? sums.exact_bias[l - 1].data() : nullptr, fired_[thread][l].data());
    }

    double loss_and_delta(const int64_t* ids, int n, int n8, int group, float* out) {
        const int64_t n_out = plan_.n_live.back();
        float share[kMaxTile] = {}, scale[kMaxTile] = {};
        for (int s = 0; s < n; s++) {
            const double weight = sample_weight_ == nullptr ? 1.0 : sample_weight_[ids[s]];
            // Without any weight a batch says nothing: its gradients are 0, not 0 / 0.
            share[s] = weight_sum_ == 0 ? 0.0f : static_cast<float>(weight / weight_sum_);
            scale[s] = exact_ ? 1.0f : share[s];
        }
        return targets_.loss_and_delta(kernels_, loss_, ids, n, n8, n_out, share, scale,
                                       group_targets_[group].data(), out);
    }

    int first_bad_layer(int n8, const TileSpace& space) const {
        for (int l = 0; l + 1 < plan_.n_layers(); l++)
            for (int64_t j = 0; j < plan_.n_live[l + 1] * n8 * 8; j++)
                if (!std::isfinite(space.level[l + 1][j])) return l;
        return plan_.n_layers() - 1;
    }

    // What the last step made of the network: the first layer with a value that is not finite for
    // some row of any weight, held out or not, or -1. Only asked where weights are that large.
    int overflowing_layer() {
        TileSpace& space = spaces_[0];
        const int32_t* destination = plan_.live_at[0].data();
        const int last = plan_.n_layers();
        std::vector<int64_t> ids;
        for (int64_t i = 0; i < rows_.n_rows; i++)
            if (sample_weight_ == nullptr || sample_weight_[i] > 0) ids.push_back(i);
        const int64_t n_ids = static_cast<int64_t>(ids.size());
        for (int64_t row = 0; row < n_ids && !stop_; row += tile_size_) {
            (*poll_)();
            const int n = static_cast<int>(std::min<int64_t>(tile_size_, n_ids - row));
            const int n8 = (n + 7) / 8;
            const int64_t* tile = ids.data() + row;
            rows_.gather(kernels_, tile, n, n8, nullptr, destination, space.level[0].data());
            forward_through(plan_, kernels_, n8, space);
            rows_.clear(tile, n, n8, destination, space.level[0].data());
            const float* out = space.level[last].data();
            if (!std::all_of(out, out + plan_.n_live[last] * n8 * 8,
                             [](float x) { return std::isfinite(x); }))
                return first_bad_layer(n8, space);
        }
        return -1;
    }

    void update(const Chunk& chunk) {
        PlanLayer& layer = plan_.layers[chunk.layer];
        Parameters& p = chunk.bias ? layer.bias : layer.weights;
        const float* gradients[kMaxGroups];
        for (int g = 0; g < n_summands_; g++)
            gradients[g] = (chunk.bias ? sums_[g].bias : sums_[g].weights)[chunk.layer].data();
        const float l2 = chunk.bias ? 0.0f : optimizer_.alpha;
        if (optimizer_.kind == Optimizer::Kind::sgd) {
            const SgdStep step{optimizer_.learning_rate, optimizer_.momentum, optimizer_.nesterov,
                               l2};
            kernels_.sgd(chunk.begin, chunk.end, p.n_live, n_summands_, gradients, p.value.data(),
                         p.first.data(), step);
        } else {
            const double t = static_cast<double>(optimizer_.steps_done + step_ + 1);
            const double size = optimizer_.learning_rate *
                                std::sqrt(1.0 - std::pow(double(optimizer_.beta_2), t)) /
                                (1.0 - std::pow(double(optimizer_.beta_1), t));
            const AdamStep step{static_cast<float>(size), optimizer_.beta_1, optimizer_.beta_2,
                                optimizer_.epsilon, l2};
            kernels_.adam(chunk.begin, chunk.end, p.n_live, n_summands_, gradients, p.value.data(),
                          p.first.data(), p.second.data(), step);
        }
        if (!chunk.bias) layer.copy_weights_to_output_order(chunk.begin, chunk.end);
    }

    void count_fired() {
        for (int level = 1; level < plan_.n_layers(); level++) {
            int64_t n = 0;
            for (int64_t j = 0; j < plan_.n_live[level]; j++)
                n += std::any_of(fired_.begin(), fired_.end(),
                                 [&](const auto& f) { return f[level][j] != 0; });
            result_.fired.push_back(n);
        }
    }
};

}  // namespace

EpochResult train_epoch(const std::vector<LayerView>& layers, Activation activation, Loss loss,
                        const Rows& rows, const Targets& targets, const float* sample_weight,
                        const Batches& batches, const Optimizer& optimizer, int n_threads,
                        const std::function<bool()>& interrupted) {
    Trainer trainer(layers, activation, loss, rows, targets, sample_weight, batches, optimizer,
                    n_threads);
    const EpochResult result = trainer.run(interrupted);
    if (result.diverged_layer < 0) trainer.give_back(layers);
    return result;
}

}  // namespace cofire
