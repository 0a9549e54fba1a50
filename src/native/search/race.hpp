// Which of some candidates are the best, by as few rows as it takes.
//
// All rows decide about a candidate only where it is close. Rows come in a random order, in
// rounds: after each, a candidate's score on the rows so far has a standard error (the jackknife
// over eight groups of rows), and whoever is clearly in or clearly out needs no more of them. The
// race ends when the wrong decisions to be expected are few enough, at the latest when all rows
// were seen, and then the scores of those still open are exact. A pair with a neuron that fired too
// rarely to tell keeps the score of the sketch, which saw it fire. Rows with rare features are seen
// first, all of them, and are no part of the sample: a few such rows can make up much of a neuron's
// activity.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "search/field.hpp"
#include "search/ranking.hpp"
#include "search/signals.hpp"
#include "threads/workers.hpp"

namespace cofire {

class Race {
public:
    // tolerance: the share of the wanted places that may be expected to be wrong. n_sure: so many
    // rows at the beginning are no sample of the others, and are seen first.
    Race(const std::vector<LayerView>& layers, Activation activation, Loss loss, const Rows& rows,
         const SearchRequest& request, int64_t n_sure, int tile_size, double tolerance,
         Workers& workers)
        : layers_(layers), activation_(activation), loss_(loss), rows_(rows), request_(request),
          n_sure_(n_sure < request.n_rows ? n_sure : 0), kernels_(kernels()), tile_size_(tile_size),
          tolerance_(tolerance), workers_(workers) {
        const Plan plan(layers, activation, Purpose::every_unit);
        for (int t = 0; t < workers.n_threads(); t++)
            spaces_.emplace_back(plan, tile_size, request);
    }

    // Fills in the scores; returns the number of rows it took.
    int64_t run(std::vector<Field>& fields) {
        enter(fields);
        int64_t seen = n_sure_, end = n_sure_ + kFirstRound;
        if (n_sure_ > 0 && any_open()) {
            see_rows(fields, 0, n_sure_);
            for (Lane& lane : lanes_) put_aside(lane.product);
            for (Norms& norms : norms_) put_aside(norms.square);
        }
        while (any_open() && seen < request_.n_rows && !workers_.stopped()) {
            end = std::min(end, request_.n_rows);
            see_rows(fields, seen, end);
            seen = end;
            end = next_end(seen, judge(fields, seen));
        }
        return seen;
    }

    // Of all races so far.
    int64_t multiply_adds() const { return multiply_adds_; }

private:
    static constexpr int64_t kFirstRound = 4096;
    static constexpr double kClear = 4.0;  // standard errors
    static constexpr double kWorst = 3.0;  // a layer may have so many times the errors of all
    static constexpr int kGroups = kMaxGroups;

    // Sums by group of rows; behind those of the groups the sums of the rows that are no sample.
    using Sums = std::vector<double>[kGroups + 1];
    // Of one layer: its open candidates, and the sums of their products.
    struct Lane {
        std::vector<int64_t> open;  // among the candidates
        Sums product;
    };
    // Of one level: sums of squares of the neurons of open candidates.
    struct Norms {
        std::vector<int32_t> slot;     // by neuron: where its sums are, or -1
        std::vector<int32_t> neurons;  // in the order of the slots
        Sums square;
    };
    // The rows of a tile that a round looks at.
    struct Watched {
        std::vector<std::vector<int32_t>> in_row, out_row;  // per layer, of the open candidates
        std::vector<std::vector<int32_t>> row;              // per level, of the slots
        int last_level = 0;
    };

    const std::vector<LayerView>& layers_;
    const Activation activation_;
    const Loss loss_;
    const Rows& rows_;
    const SearchRequest& request_;
    const int64_t n_sure_;
    const Kernels& kernels_;
    const int tile_size_;
    const double tolerance_;
    Workers& workers_;
    std::unique_ptr<Plan> plan_;       // of what the candidates depend on
    std::size_t n_planned_ = 0;        // neurons wanted when it was made
    std::vector<SignalSpace> spaces_;  // per thread, for whatever part of the network
    std::vector<Lane> lanes_;          // per layer
    std::vector<Norms> norms_;         // per level
    int64_t multiply_adds_ = 0;

    int n_layers() const { return static_cast<int>(layers_.size()); }
    int64_t n_neurons(int level) const {
        return level == 0 ? layers_[0].n_in : layers_[level - 1].n_out;
    }
    int64_t input(int layer, int64_t place) const { return place % layers_[layer].n_in; }
    int64_t output(int layer, int64_t place) const { return place / layers_[layer].n_in; }
    bool any_open() const {
        return std::any_of(lanes_.begin(), lanes_.end(),
                           [](const Lane& lane) { return !lane.open.empty(); });
    }

    void enter(std::vector<Field>& fields) {
        plan_.reset();
        lanes_.assign(n_layers(), {});
        norms_.assign(n_layers() + 1, {});
        for (int v = 0; v <= n_layers(); v++) norms_[v].slot.assign(n_neurons(v), -1);
        for (int l = 0; l < n_layers(); l++) {
            const Field& field = fields[l];
            const int64_t n = static_cast<int64_t>(field.places.size());
            if (n <= field.n_wanted) continue;  // all of them win
            for (int64_t c = 0; c < n; c++) lanes_[l].open.push_back(c);
            for (auto& sums : lanes_[l].product) sums.assign(n, 0.0);
        }
        choose_slots(fields);
    }

    // Neurons leave, none ever comes: sums go on from the first row.
    void choose_slots(const std::vector<Field>& fields) {
        std::vector<std::vector<uint8_t>> wanted;
        for (int v = 0; v <= n_layers(); v++) wanted.emplace_back(n_neurons(v), uint8_t{0});
        for (int l = 0; l < n_layers(); l++)
            for (int64_t c : lanes_[l].open) {
                wanted[l][input(l, fields[l].places[c])] = 1;
                wanted[l + 1][output(l, fields[l].places[c])] = 1;
            }
        for (int v = 0; v <= n_layers(); v++) {
            Norms before = std::move(norms_[v]), &after = norms_[v] = {};
            after.slot.assign(wanted[v].size(), -1);
            for (int32_t j = 0; j < static_cast<int32_t>(wanted[v].size()); j++) {
                if (!wanted[v][j]) continue;
                after.slot[j] = static_cast<int32_t>(after.neurons.size());
                after.neurons.push_back(j);
                for (int g = 0; g <= kGroups; g++)
                    after.square[g].push_back(
                        before.slot[j] < 0 ? 0.0 : before.square[g][before.slot[j]]);
            }
        }
    }

    static void put_aside(Sums& sums) {
        for (int g = 0; g < kGroups; g++)
            for (std::size_t k = 0; k < sums[g].size(); k++) {
                sums[kGroups][k] += sums[g][k];
                sums[g][k] = 0.0;
            }
    }

    // ---- a round ------------------------------------------------------------------------------

    // Only what open candidates depend on is computed. A group has tiles in a row: while one is
    // worked on, the next is brought in.
    void see_rows(const std::vector<Field>& fields, int64_t begin, int64_t end) {
        const int64_t n_tiles = divide_up(end - begin, tile_size_);
        make_plan();
        const Plan& plan = *plan_;
        const Watched watched = watch(plan, fields);
        const RowSignals rows(plan, kernels_, loss_, rows_, request_,
                              {request_.row_ids, request_.n_rows}, tile_size_);
        int64_t per_row = rows.price(watched.last_level);
        for (const Lane& lane : lanes_) per_row += static_cast<int64_t>(lane.open.size());
        for (const Norms& norms : norms_) per_row += static_cast<int64_t>(norms.neurons.size());
        multiply_adds_ += (end - begin) * per_row;
        workers_.share(kGroups, [&](int64_t group, int thread) {
            for (int64_t t = group * n_tiles / kGroups; t < (group + 1) * n_tiles / kGroups; t++) {
                if (workers_.stopped()) return;
                rows.with_tile(begin + t * tile_size_, watched.last_level, spaces_[thread],
                               [&](const Signals& signals) { add(watched, signals, group); });
            }
        });
    }

    // Anew only where much less is wanted than the time before.
    void make_plan() {
        std::size_t n = 0;
        for (const Norms& norms : norms_) n += norms.neurons.size();
        if (plan_ && 4 * n > 3 * n_planned_) return;
        n_planned_ = n;
        Marks wanted;
        for (int v = 0; v <= n_layers(); v++) {
            wanted.emplace_back(n_neurons(v), uint8_t{0});
            for (int32_t j : norms_[v].neurons) wanted[v][j] = 1;
        }
        // A softmax takes all outputs into account.
        if (loss_ == Loss::softmax && !norms_.back().neurons.empty())
            std::fill(wanted.back().begin(), wanted.back().end(), uint8_t{1});
        plan_ = std::make_unique<Plan>(layers_, activation_, Purpose::every_unit, &wanted);
    }

    // A neuron that is left out never fires: it gets the row of zeros behind the others.
    Watched watch(const Plan& plan, const std::vector<Field>& fields) const {
        Watched watched;
        const auto row_of = [&](int level, int64_t neuron) {
            const int32_t row = plan.live_at[level][neuron];
            return row >= 0 ? row : static_cast<int32_t>(plan.n_live[level]);
        };
        watched.in_row.resize(n_layers());
        watched.out_row.resize(n_layers());
        for (int l = 0; l < n_layers(); l++)
            for (int64_t c : lanes_[l].open) {
                watched.in_row[l].push_back(row_of(l, input(l, fields[l].places[c])));
                watched.out_row[l].push_back(row_of(l + 1, output(l, fields[l].places[c])));
                watched.last_level = l + 1;
            }
        for (int v = 0; v <= n_layers(); v++) {
            watched.row.emplace_back();
            for (int32_t j : norms_[v].neurons) watched.row[v].push_back(row_of(v, j));
        }
        return watched;
    }

    void add(const Watched& watched, const Signals& signals, int64_t group) {
        const bool plain = std::all_of(signals.weight, signals.weight + signals.n8 * 8,
                                       [](float w) { return w == 1.0f; });
        const float* weight = plain ? nullptr : signals.weight;
        const auto add_pairs = [&](const Floats& a, const std::vector<int32_t>& a_row,
                                   const Floats& b, const std::vector<int32_t>& b_row,
                                   std::vector<double>& sums) {
            kernels_.pair_sums(signals.n8, static_cast<int64_t>(a_row.size()), a.data(),
                               a_row.data(), b.data(), b_row.data(), weight, sums.data());
        };
        for (int l = 0; l < watched.last_level; l++)
            add_pairs(signals.inputs[l], watched.in_row[l], signals.outputs[l + 1],
                      watched.out_row[l], lanes_[l].product[group]);
        for (int v = 0; v <= watched.last_level; v++)
            add_pairs(signals.inputs[v], watched.row[v], signals.inputs[v], watched.row[v],
                      norms_[v].square[group]);
    }

    // Standard errors fall with the square root of 1 / seen - 1 / all, and with them the errors
    // to be expected: where they will be few enough is known. At least a first round more, and at
    // most as many rows again, after which fewer candidates are open.
    int64_t next_end(int64_t seen, double errors) const {
        const double all = static_cast<double>(request_.n_rows - n_sure_);
        const int64_t sample = seen - n_sure_;
        const double wanted = errors > 1.0 ? 1.0 / (errors * errors) : 1.0;
        const double enough = 1.02 / ((1.0 / sample - 1.0 / all) * wanted + 1.0 / all);
        const int64_t end = std::clamp(static_cast<int64_t>(std::min(enough, all)),
                                       sample + kFirstRound, 2 * sample);
        return n_sure_ + (end + tile_size_ - 1) / tile_size_ * tile_size_;
    }

    // ---- after a round ------------------------------------------------------------------------

    // What the rows so far tell of a neuron, as if of all rows.
    struct Seen {
        Strength all, without[kGroups];  // of all groups, and of all but one
        // The groups tell of a spread only where it fired about as much in most of them: a neuron
        // that a few rows excite has not been seen until those rows were.
        bool even;
    };
    struct Estimate {
        double score, variance;
    };

    // What a row of the sample stands for.
    double scale(int64_t seen) const {
        return static_cast<double>(request_.n_rows - n_sure_) / (seen - n_sure_);
    }
    static constexpr double kOthers = kGroups / (kGroups - 1.0);  // for a group that is left out

    std::vector<Seen> look_at_neurons(const Norms& norms, int64_t seen) const {
        const double scale = this->scale(seen);
        std::vector<Seen> all(norms.neurons.size());
        for (std::size_t j = 0; j < all.size(); j++) {
            double sum = 0.0, squares = 0.0;
            for (int g = 0; g < kGroups; g++) {
                sum += norms.square[g][j];
                squares += norms.square[g][j] * norms.square[g][j];
            }
            const double sure = norms.square[kGroups][j];
            all[j].all = Strength(sure + scale * sum);
            for (int g = 0; g < kGroups; g++)
                all[j].without[g] = Strength(sure + scale * kOthers * (sum - norms.square[g][j]));
            all[j].even = sum == 0.0 ? sure > 0.0 : sum * sum > 0.75 * kGroups * squares;
        }
        return all;
    }

    // About the standard error of a sketch's cosine where only some of the rows in which a rare
    // neuron fires were in the sample; nothing is known of the other scores.
    double sketch_error(double score) const {
        if (!is_cosine(request_.metric)) return std::numeric_limits<double>::infinity();
        return (1.0 - std::min(score * score, 1.0)) / 8.0 + 0x1p-16;
    }

    // The variance is that of the jackknife.
    Estimate estimate(const Sums& product, std::size_t k, const Seen& in, const Seen& out,
                      int64_t seen) const {
        const double scale = this->scale(seen), sure = product[kGroups][k];
        double sum = 0.0;
        for (int g = 0; g < kGroups; g++) sum += product[g][k];
        const double all = score_of(request_.metric, sure + scale * sum, in.all, out.all);
        double mean = 0.0, squares = 0.0;
        for (int g = 0; g < kGroups && seen < request_.n_rows; g++) {
            const double others = sure + scale * kOthers * (sum - product[g][k]);
            const double change =
                score_of(request_.metric, others, in.without[g], out.without[g]) - all;
            mean += change / kGroups;
            squares += change * change;
        }
        const double spread = std::max(squares - mean * mean * kGroups, 0.0);
        return {all, spread / kOthers * (1.0 - 1.0 / scale)};
    }

    // Returns the errors to be expected over those that are tolerated.
    double judge(std::vector<Field>& fields, int64_t seen) {
        std::vector<std::vector<Seen>> neurons;  // per level
        for (const Norms& norms : norms_) neurons.push_back(look_at_neurons(norms, seen));
        std::vector<std::vector<int64_t>> still_open(n_layers());
        const auto look = [&](int64_t l, int) {
            Field& field = fields[l];
            const std::vector<int64_t>& open = lanes_[l].open;
            if (open.empty()) return;
            std::vector<double> error(open.size());
            std::vector<uint8_t> unknown(open.size(), 0);
            for (std::size_t k = 0; k < open.size(); k++) {
                const int64_t place = field.places[open[k]];
                const Seen& in = neurons[l][norms_[l].slot[input(l, place)]];
                const Seen& out = neurons[l + 1][norms_[l + 1].slot[output(l, place)]];
                unknown[k] = seen < request_.n_rows && !(in.even && out.even);
                if (unknown[k]) {
                    error[k] = sketch_error(field.scores[open[k]]);
                    continue;
                }
                const Estimate e = estimate(lanes_[l].product, k, in, out, seen);
                field.scores[open[k]] = e.score;
                error[k] = std::sqrt(e.variance);
            }
            still_open[l] = undecided(field, open, error, unknown);
        };
        std::size_t n_open = 0;
        for (const Lane& lane : lanes_) n_open += lane.open.size();
        if (n_open > 4096)
            workers_.share(n_layers(), look);
        else  // threads are not worth starting
            for (int l = 0; l < n_layers(); l++) look(l, 0);

        double errors = 0.0, n_wanted = 0.0, worst = 0.0;
        for (const Field& field : fields) {
            const double n = static_cast<double>(field.n_wanted);
            errors += field.expected_errors;
            n_wanted += n;
            if (field.expected_errors > 0.0) worst = std::max(worst, field.expected_errors / n);
        }
        double excess = std::numeric_limits<double>::infinity();  // where none is tolerated
        if (tolerance_ > 0.0)
            excess = std::max(errors / (tolerance_ * n_wanted), worst / (kWorst * tolerance_));
        for (int l = 0; l < n_layers(); l++)
            leave_open(lanes_[l], excess <= 1.0 ? std::vector<int64_t>() : still_open[l]);
        choose_slots(fields);
        return excess;
    }

    // Those of the open ones that may yet be in or out. Where no error is tolerated nobody is
    // clearly either before all rows were seen.
    std::vector<int64_t> undecided(Field& field, const std::vector<int64_t>& open,
                                   const std::vector<double>& error,
                                   const std::vector<uint8_t>& unknown) const {
        const double limit = field.limit();
        std::vector<int64_t> close;
        double errors = 0.0;
        for (int64_t k = 0; k < static_cast<int64_t>(open.size()); k++) {
            const double distance = std::abs(field.scores[open[k]] - limit);
            const bool clear = distance > kClear * error[k] || error[k] == 0.0;
            if (!clear) errors += 0.5 * std::erfc(distance / error[k] / std::sqrt(2.0));
            if (!clear || unknown[k] || tolerance_ == 0.0) close.push_back(k);
        }
        // Whoever should be in and is out stands for one that is in and should not be.
        field.expected_errors = errors / 2;
        return close;
    }

    static void leave_open(Lane& lane, const std::vector<int64_t>& which) {
        const auto keep = [&](auto& numbers) {
            for (std::size_t k = 0; k < which.size(); k++) numbers[k] = numbers[which[k]];
            numbers.resize(which.size());
        };
        keep(lane.open);
        for (std::vector<double>& sums : lane.product) keep(sums);
    }
};

}  // namespace cofire
