// The threads of one call from Python, which Ctrl-C can stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "threads/crew.hpp"

namespace cofire {

// How a call from Python may run.
struct CallContext {
    int n_threads = 1;
    std::function<bool()> interrupted;  // asked now and then, on the calling thread only
};

class Workers {
public:
    // most: threads that have something to do.
    explicit Workers(const CallContext& context, int64_t most = INT32_MAX)
        : n_threads_(static_cast<int>(
              std::clamp<int64_t>(context.n_threads, 1, std::max<int64_t>(most, 1)))),
          interrupted_(context.interrupted) {}

    int n_threads() const { return n_threads_; }
    bool stopped() const { return stop_; }

    // Looks for Ctrl-C; for thread 0, in the middle of a long task. Asks only ten times per second,
    // because the answer needs the interpreter's lock; and not again after a yes, because then an
    // exception waits in the interpreter.
    void poll() {
        const auto now = std::chrono::steady_clock::now();
        if (stop_ || now - asked_ < std::chrono::milliseconds(100)) return;
        asked_ = now;
        if (interrupted_()) stop_ = true;
    }

    // task(i, thread) for the tasks of each phase; between() returns the number of tasks of the
    // next phase, 0 to end. All tasks are done, stopped or not.
    template <class Task, class Between> void all_phases(Task task, Between between) {
        Crew::run(n_threads_, task, between, [this] { poll(); });
    }

    // The same, but once stopped no task begins and no phase opens.
    template <class Task, class Between> void phases(Task task, Between between) {
        all_phases(
            [&](int64_t i, int thread) {
                if (!stop_) task(i, thread);
            },
            [&]() -> uint64_t { return stop_ ? 0 : between(); });
    }

    // One phase of n tasks.
    template <class Task> void parallel_for(int64_t n, Task task) {
        bool begun = false;
        phases(task, [&]() -> uint64_t { return std::exchange(begun, true) ? 0 : n; });
    }

private:
    const int n_threads_;
    const std::function<bool()> interrupted_;
    std::atomic<bool> stop_{false};
    std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

}  // namespace cofire
