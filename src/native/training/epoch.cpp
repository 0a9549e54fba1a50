#include "training/epoch.hpp"

#include <algorithm>
#include <cmath>

#include "training/gradient_sums.hpp"
#include "training/input_dropout.hpp"
#include "training/plan.hpp"

namespace cofire {
namespace {

// The tiling with which tiles and groups are the largest. The last batch may be cut differently:
// fewer samples can mean fewer, wider tiles.
Tiling largest_tiling(const Batches& batches, int64_t widest) {
    Tiling tiling(std::clamp<int64_t>(batches.n_rows, 1, batches.batch_size), widest);
    const Tiling last(std::max<int64_t>(batches.n_rows % batches.batch_size, 1), widest);
    tiling.tile_size = std::max(tiling.tile_size, last.tile_size);
    tiling.n_groups = std::max(tiling.n_groups, last.n_groups);
    return tiling;
}

class Trainer {
public:
    Trainer(const NetworkView& network, const Samples& samples, const Batches& batches,
            const Optimizer& optimizer, const CallContext& context)
        : plan_(network, Purpose::training), kernels_(kernels()), output_(network.output),
          samples_(samples), batches_(batches), dropout_{batches.input_dropout, batches.passes},
          optimizer_(optimizer), largest_(largest_tiling(batches, plan_.widest())),
          workers_(context, largest_.n_groups), exact_(batches.passes.size <= batches.batch_size) {
        for (int t = 0; t < workers_.n_threads(); t++) {
            spaces_.push_back(plan_.make_space(largest_.tile_size));
            if (batches.augmentation)
                scratch_.emplace_back(samples.rows.n_features * largest_.tile_size);
            fired_.emplace_back();
            for (int64_t n : plan_.n_live) fired_.back().emplace_back(n, uint8_t{0});
        }
        if (dropout_.fraction > 0) input_keys_ = dropout_.keys(plan_.tile_row[0], plan_.n_live[0]);
        const int n_groups = largest_.n_groups;
        group_targets_.assign(n_groups, Floats(samples.targets.scratch_size(plan_.n_live.back())));
        for (int g = 0; g < n_groups; g++) sums_.emplace_back(plan_, exact_);
        group_loss_.resize(n_groups);
        group_bad_layer_.resize(n_groups);
        cut_update_into_chunks();
        n_steps_ = batches.n_rows / batches.batch_size;
        if (!batches.drop_last) n_steps_ += batches.n_rows % batches.batch_size != 0;
        batches_.batch_size = std::clamp<int64_t>(batches.n_rows, 1, batches.batch_size);
    }

    EpochResult run() {
        // All tasks are done, even once stopped: an update that has begun must be finished.
        workers_.all_phases([this](int64_t i, int thread) { do_task(i, thread); },
                            [this] { return next_phase(); });
        result_.loss = weight_seen_ > 0 ? loss_seen_ / weight_seen_ : 0.0;
        result_.interrupted = workers_.stopped();
        if (result_.diverged_layer < 0)
            for (int l = plan_.n_layers() - 1; l >= 0; l--)
                if (!plan_.layers[l].weights.all_finite() || !plan_.layers[l].bias.all_finite())
                    result_.diverged_layer = l;
        if (result_.diverged_layer < 0 && !plan_.stays_finite(samples_.largest_input))
            result_.diverged_layer = overflowing_layer();
        count_fired();
        return result_;
    }

    void copy_to(const NetworkView& network) const {
        for (int l = 0; l < plan_.n_layers(); l++) {
            plan_.layers[l].weights.copy_to(network.layers[l].weights);
            plan_.layers[l].bias.copy_to(network.layers[l].bias);
        }
    }

private:
    struct Chunk {
        int layer;
        bool bias;
        int64_t begin, end;
    };
    static constexpr int64_t kChunk = 16384;
    static constexpr int64_t kFewParameters = 2048;  // faster updated by one thread

    Plan plan_;
    const Kernels& kernels_;
    const Output output_;
    const Samples& samples_;
    Batches batches_;
    const InputDropout dropout_;
    const Optimizer optimizer_;
    const Tiling largest_;
    Workers workers_;
    const bool exact_;  // a batch holds all rows: sum in double (exact_sums.hpp)

    std::vector<TileSpace> spaces_;                         // per thread
    std::vector<Floats> scratch_;                           // per thread, for augmentation
    std::vector<uint32_t> input_keys_;                      // per live input, for dropout
    std::vector<std::vector<std::vector<uint8_t>>> fired_;  // per thread and stage
    std::vector<Floats> group_targets_;                     // per group
    std::vector<GradientSums> sums_;                        // per group
    int n_summands_ = 0;  // groups whose gradients the update adds up
    std::vector<double> group_loss_;
    std::vector<int> group_bad_layer_;
    std::vector<Chunk> chunks_;

    int64_t n_steps_ = 0, step_ = -1;
    bool updating_ = false;
    int64_t first_ = 0, n_samples_ = 0;  // the batch's part of the order
    Tiling tiling_{1, 1};
    double weight_sum_ = 0, weight_seen_ = 0, loss_seen_ = 0;
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
        if (workers_.stopped() || !close_gradients()) return 0;
        int64_t n_parameters = 0;
        for (const Chunk& c : chunks_) n_parameters += c.end - c.begin;
        if (workers_.n_threads() > 1 && n_parameters > kFewParameters) {
            updating_ = true;
            return chunks_.size();
        }
        for (const Chunk& c : chunks_) update(c);
        return open_step();
    }

    uint64_t open_step() {
        step_++;
        if (step_ > 0) result_.n_steps++;
        if (step_ >= n_steps_ || workers_.stopped()) return 0;
        first_ = step_ * batches_.batch_size;
        n_samples_ = std::min(batches_.batch_size, batches_.n_rows - first_);
        tiling_ = Tiling(n_samples_, plan_.widest());
        weight_sum_ = 0;
        if (samples_.weight == nullptr)
            weight_sum_ = static_cast<double>(n_samples_);
        else
            for (int64_t s = 0; s < n_samples_; s++)
                weight_sum_ += samples_.weight[batches_.order[first_ + s]];
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
            if (thread == 0) workers_.poll();
            if (workers_.stopped()) return;  // a step that is not finished is not taken
            train_tile(tile, group, thread, accumulate);
            accumulate = true;
        }
    }

    void train_tile(int tile, int group, int thread, bool accumulate) {
        const int64_t begin = static_cast<int64_t>(tile) * tiling_.tile_size;
        const TileSamples samples{
            batches_.order + first_ + begin,
            static_cast<int>(std::min<int64_t>(tiling_.tile_size, n_samples_ - begin))};
        const int64_t ahead = first_ + batches_.batch_size + begin;
        const int64_t* next_ids = ahead + 8 <= batches_.n_rows ? batches_.order + ahead : nullptr;
        TileSpace& space = spaces_[thread];
        float* inputs = space.stage[0].data();
        const int32_t* tile_row = plan_.tile_row[0].data();

        if (!batches_.augmentation)
            samples_.rows.gather(kernels_, samples, next_ids, tile_row, inputs);
        else
            batches_.augmentation->gather(samples_.rows, batches_.passes, first_ + begin, kernels_,
                                          samples, tile_row, scratch_[thread].data(), inputs);
        if (dropout_.fraction > 0)
            dropout_.apply(kernels_, input_keys_, samples, first_ + begin, inputs);
        plan_.forward(kernels_, samples.n8(), space, plan_.last_stage());
        const double loss = loss_and_delta(samples, group, space.stage.back().data());
        if (!std::isfinite(loss) && group_bad_layer_[group] < 0)
            group_bad_layer_[group] = first_bad_layer(samples.n8(), space);
        group_loss_[group] += loss;

        exact_ ? backward_exact(samples, group, thread)
               : backward(samples.n8(), group, thread, accumulate);
        samples_.rows.clear(samples, tile_row, inputs);
    }

    void backward(int n8, int group, int thread, bool accumulate) {
        std::vector<Floats>& stage = spaces_[thread].stage;
        GradientSums& sums = sums_[group];
        const int last = plan_.last_stage();
        kernels_.tile_row_sums(n8, plan_.n_live[last], stage[last].data(),
                               sums.bias[last - 1].data(), accumulate);
        for (int l = last - 1; l >= 0; l--)
            kernels_.backward(n8, plan_.layers[l].by_input(), stage[l + 1].data(), stage[l].data(),
                              plan_.activation, sums.weights[l].data(),
                              l > 0 ? sums.bias[l - 1].data() : nullptr, accumulate,
                              fired_[thread][l].data(), plan_.is_far(l + 1, n8));
    }

    void backward_exact(const TileSamples& samples, int group, int thread) {
        std::vector<Floats>& stage = spaces_[thread].stage;
        GradientSums& sums = sums_[group];
        const int last = plan_.last_stage(), n8 = samples.n8();
        double weight[kMaxTile] = {};
        for (int s = 0; s < samples.n; s++) weight[s] = samples_.weight_of(samples.ids[s]);
        kernels_.tile_row_sums_exact(n8, plan_.n_live[last], stage[last].data(), weight,
                                     sums.exact_bias[last - 1].data());
        for (int l = last - 1; l >= 0; l--)
            kernels_.backward_exact(
                n8, plan_.layers[l].by_input(), stage[l + 1].data(), stage[l].data(),
                plan_.activation, weight, sums.exact_weights[l].data(),
                l > 0 ? sums.exact_bias[l - 1].data() : nullptr, fired_[thread][l].data());
    }

    double loss_and_delta(const TileSamples& samples, int group, float* out) {
        float fraction[kMaxTile] = {}, scale[kMaxTile] = {};
        for (int s = 0; s < samples.n; s++) {
            const double weight = samples_.weight_of(samples.ids[s]);
            // A batch without any weight has gradients of 0, not 0 / 0.
            fraction[s] = weight_sum_ == 0 ? 0.0f : static_cast<float>(weight / weight_sum_);
            scale[s] = exact_ ? 1.0f : fraction[s];
        }
        return samples_.targets.loss_and_delta(kernels_, output_, samples, plan_.n_live.back(),
                                               fraction, scale, group_targets_[group].data(), out);
    }

    int first_bad_layer(int n8, const TileSpace& space) const {
        for (int l = 0; l + 1 < plan_.n_layers(); l++)
            for (int64_t j = 0; j < plan_.n_live[l + 1] * n8 * 8; j++)
                if (!std::isfinite(space.stage[l + 1][j])) return l;
        return plan_.n_layers() - 1;
    }

    // In the network after the last step: the first layer with a value that is not finite for some
    // row of any weight, held out or not, or -1. Only asked where weights are that large.
    int overflowing_layer() {
        TileSpace& space = spaces_[0];
        float* inputs = space.stage[0].data();
        const int32_t* tile_row = plan_.tile_row[0].data();
        std::vector<int64_t> ids;
        for (int64_t i = 0; i < samples_.rows.n_rows; i++)
            if (samples_.weight_of(i) > 0) ids.push_back(i);
        const int64_t n_ids = static_cast<int64_t>(ids.size());
        for (int64_t first = 0; first < n_ids && !workers_.stopped(); first += largest_.tile_size) {
            workers_.poll();
            const TileSamples samples{ids.data() + first, static_cast<int>(std::min<int64_t>(
                                                              largest_.tile_size, n_ids - first))};
            samples_.rows.gather(kernels_, samples, nullptr, tile_row, inputs);
            plan_.forward(kernels_, samples.n8(), space, plan_.last_stage());
            samples_.rows.clear(samples, tile_row, inputs);
            const float* out = space.stage.back().data();
            if (!std::all_of(out, out + plan_.n_live.back() * samples.n_columns(),
                             [](float x) { return std::isfinite(x); }))
                return first_bad_layer(samples.n8(), space);
        }
        return -1;
    }

    void update(const Chunk& chunk) {
        PlanLayer& layer = plan_.layers[chunk.layer];
        Parameters& p = chunk.bias ? layer.bias : layer.weights;
        const float* gradients[kMaxGroups];
        for (int g = 0; g < n_summands_; g++)
            gradients[g] = (chunk.bias ? sums_[g].bias : sums_[g].weights)[chunk.layer].data();
        float* moments[kMaxMoments];
        for (int m = 0; m < kMaxMoments; m++) moments[m] = p.moments[m].data();
        const StepRange range{chunk.begin, chunk.end,      p.n_live, n_summands_,
                              gradients,   p.value.data(), moments};
        const Step step{optimizer_.learning_rate, chunk.bias ? 0.0f : optimizer_.alpha,
                        optimizer_.settings, optimizer_.steps_done + step_ + 1};
        kernels_.steps[optimizer_.kind](range, step);
        if (!chunk.bias) layer.copy_weights_to_output_order(chunk.begin, chunk.end);
    }

    void count_fired() {
        for (int stage = 1; stage < plan_.last_stage(); stage++) {
            int64_t n = 0;
            for (int64_t j = 0; j < plan_.n_live[stage]; j++)
                n += std::any_of(fired_.begin(), fired_.end(),
                                 [&](const auto& f) { return f[stage][j] != 0; });
            result_.fired.push_back(n);
        }
    }
};

}  // namespace

EpochResult train_epoch(const NetworkView& network, const Samples& samples, const Batches& batches,
                        const Optimizer& optimizer, const CallContext& context) {
    Trainer trainer(network, samples, batches, optimizer, context);
    const EpochResult result = trainer.run();
    if (result.diverged_layer < 0) trainer.copy_to(network);
    return result;
}

}  // namespace cofire
