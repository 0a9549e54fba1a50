// The classes that Python makes and hands to the native functions: views, and the arrays that they
// point into, so that these live as long as the views.
#pragma once

#include <string>
#include <vector>

#include "bindings/arguments.hpp"
#include "training/epoch.hpp"

namespace cofire {

struct BoundRows {
    Rows view;
    std::vector<nb::object> owners;
};

struct BoundNetwork {
    NetworkView view;
    std::vector<nb::object> owners;
    int n_moments = 0;      // that came with each parameter array
    std::string read_only;  // the first parameter array that may not be written to, if any

    // Refuses a network without layers, and rows of another width.
    void check_rows(const Rows& rows) const;
    // Refuses what an optimiser cannot change.
    void check_trainable(const Optimizer& optimizer) const;
};

// One target per row, of the kind that the network's output is compared with.
Targets targets_of(nb::handle targets, const NetworkView& network, int64_t n_rows);

void add_rows(nb::module_& m);
void add_network(nb::module_& m);
void add_training(nb::module_& m);
void add_search(nb::module_& m);

}  // namespace cofire
