// The search for the best pairs of neurons to connect, in three ways: among all pairs, among all
// pairs but screened by a sketch, and among pairs with a hash in common. None holds all pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "random/counter_random.hpp"
#include "threads/workers.hpp"
#include "training/network.hpp"
#include "training/targets.hpp"

namespace cofire {

// By what pairs are ranked (ranking.hpp). All but the last look at activations on both sides;
// gradient looks at the activation of the input and the delta of the output.
enum class Metric : int { cosine, pearson, lowest_cosine, hebb, euclidean, gradient };

// Among equals: at random, or the lower input and then the lower output first.
enum class Ties : int { random, index };

constexpr Named<Metric> kMetrics[] = {
    {"cosine", Metric::cosine},
    {"pearson", Metric::pearson},
    {"lowest_cosine", Metric::lowest_cosine},
    {"hebb", Metric::hebb},
    {"euclidean", Metric::euclidean},
    {"gradient", Metric::gradient},
};
constexpr Named<Ties> kTies[] = {{"random", Ties::random}, {"index", Ties::index}};
static_assert(is_in_order(kMetrics) && is_in_order(kTies));

// Ascending flat indices of a layer (LayerView).
struct FlatIndices {
    const int64_t* begin = nullptr;
    const int64_t* end = nullptr;
    int64_t size() const { return end - begin; }
};

struct SearchRequest {
    Rows rows;
    const int64_t* row_ids = nullptr;      // the samples to look at
    int64_t n_rows = 0;                    // as many
    const float* sample_weight = nullptr;  // per row of the data; nullptr: all 1
    std::vector<FlatIndices> kept;         // per layer: not candidates
    std::vector<int64_t> n_wanted;         // per layer; 0: the layer is left out
    Metric metric = Metric::cosine;
    Ties ties = Ties::random;
    std::vector<double> gate;  // per layer: standard errors to exceed; < 0: none
    int sharpness = 0;         // 0: the best; else a draw by this power of the score (ranking.hpp)
    Targets targets;           // for gradients
    RandomKey random;
};

struct SearchResult {
    std::vector<std::vector<int64_t>> pairs;  // per layer: flat indices, ascending
    std::vector<int64_t> n_firing;            // per stage: neurons that fire for some row
    int64_t multiply_adds = 0;                // that it took
    bool interrupted = false;
};

// Per layer the n_wanted best pairs outside kept, of which there must be as many; fewer where too
// few pass the gate. The same for any number of threads.
SearchResult best_pairs(const NetworkView& network, const SearchRequest& request,
                        const CallContext& call);

// How pairs are screened: a sketch of a sample of rows ranks all of them, and the best by the
// sketch, several times as many as wanted, are ranked by the rows themselves (race.hpp).
struct Screening {
    const int64_t* sample_ids = nullptr;
    int64_t n_sample = 0;
    const float* row_weight = nullptr;  // how many rows each stands for; nullptr: 1
    std::vector<int64_t> factor;        // per layer: candidates to begin with, over n_wanted
    double recall = 0.99;               // wanted
    int64_t n_sure = 0;                 // rows at the beginning of request.row_ids: rare ones
};

struct ScreenedResult {
    std::vector<std::vector<int64_t>> pairs;  // per layer: flat indices, ascending
    std::vector<double> recall;               // per layer, estimated
    std::vector<int64_t> factor;              // per layer: what was enough
    int64_t n_rows = 0;                       // that the candidates were ranked by
    int64_t multiply_adds = 0;                // that it took
    bool interrupted = false;
};

// Nearly what best_pairs finds. request.row_ids are in random order behind the first n_sure.
ScreenedResult screened_pairs(const NetworkView& network, const SearchRequest& request,
                              const Screening& screening, const CallContext& call);

struct Hashing {
    const float* row_weight = nullptr;  // how many rows each of request.row_ids stands for
    int64_t n_tables = 1;
};

// The best of the pairs whose sketches have a hash in common in some table, at most n_wanted. Time
// and memory follow the numbers of neurons, connections and pairs wanted. request.row_ids are a
// sample.
SearchResult hashed_pairs(const NetworkView& network, const SearchRequest& request,
                          const Hashing& hashing, const CallContext& call);

}  // namespace cofire
