// The search for the best pairs of neurons to connect: exact, over all pairs, without holding
// them.
#pragma once

#include <functional>
#include <vector>

#include "random/counter_random.hpp"
#include "search/centres.hpp"
#include "training/plan.hpp"
#include "training/rows.hpp"
#include "training/targets.hpp"

namespace cofire {

// By what pairs are ranked (ranking.hpp). All but the last look at activations on both sides;
// gradient looks at the activation of the input and the delta of the output.
enum class Metric : int { cosine, pearson, lowest_cosine, hebb, euclidean, gradient };

// Among equals: at random, or the lower input, then the lower output first.
enum class Ties : int { random, index };

// Ascending places (output * n_in + input) of a layer that are no candidates.
struct Places {
    const int64_t* begin = nullptr;
    const int64_t* end = nullptr;
};

struct SearchRequest {
    const int64_t* row_ids = nullptr;  // the samples to look at
    int64_t n_rows = 0;
    const float* sample_weight = nullptr;  // per row of the data, or none: all 1
    std::vector<Places> kept;              // per layer
    std::vector<int64_t> n_wanted;         // per layer; 0: the layer is left out
    Metric metric = Metric::cosine;
    Ties ties = Ties::random;
    std::vector<double> gate;  // per layer: standard errors to exceed; < 0: none
    int sharpness = 0;         // 0: the best; else a draw by this power of the score (draw.hpp)
    Targets targets;           // for gradients
    RandomKey random;
    Centres centres;  // for correlations; found by the search itself
};

struct SearchResult {
    std::vector<std::vector<int64_t>> places;  // per layer, ascending
    std::vector<int64_t> n_firing;             // per level: neurons that fire for some row
    int64_t multiply_adds = 0;                 // that it took
    bool interrupted = false;
};

// Per layer the n_wanted best places outside kept, of which there must be as many; fewer where too
// few pass the gate. The same for any number of threads. interrupted() is asked now and then on the
// calling thread.
SearchResult best_places(const std::vector<LayerView>& layers, Activation activation, Loss loss,
                         const Rows& rows, const SearchRequest& request, int n_threads,
                         const std::function<bool()>& interrupted);

// How the screened search goes about it: a sketch of a sample of rows ranks all pairs, and the
// best of them, several times as many as wanted, are ranked by the rows themselves (race.hpp).
struct Screening {
    const int64_t* sample_ids = nullptr;
    int64_t n_sample = 0;
    const float* sample_weight = nullptr;  // how many rows each stands for, or none: all 1
    std::vector<int64_t> factor;           // per layer: candidates to begin with, over n_wanted
    double recall = 0.99;                  // wanted
    int64_t n_sure = 0;                    // of request.row_ids, at the beginning: rare rows
};

struct ScreenedResult {
    std::vector<std::vector<int64_t>> places;  // per layer, ascending
    std::vector<double> recall;                // per layer, estimated
    std::vector<int64_t> factor;               // per layer: what was enough
    int64_t n_rows = 0;                        // that the candidates were ranked by
    int64_t multiply_adds = 0;                 // that it took
    bool interrupted = false;
};

// Like best_places, nearly. request.row_ids come in a random order behind the first n_sure.
ScreenedResult screened_places(const std::vector<LayerView>& layers, Activation activation,
                               Loss loss, const Rows& rows, const SearchRequest& request,
                               const Screening& how, int n_threads,
                               const std::function<bool()>& interrupted);

// The best of the pairs whose sketches have a hash in common in some table, at most n_wanted. Time
// and memory follow neurons, connections and places wanted; request.row_ids are a sample, each
// row of which stands for row_share rows (nullptr: 1).
SearchResult hashed_places(const std::vector<LayerView>& layers, Activation activation, Loss loss,
                           const Rows& rows, const SearchRequest& request, const float* row_share,
                           int64_t n_tables, int n_threads,
                           const std::function<bool()>& interrupted);

}  // namespace cofire
