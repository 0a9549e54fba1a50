// The threads of one call, and whether they shall stop.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

#include "threads/crew.hpp"
#include "threads/interrupt_poll.hpp"

namespace cofire {

class Workers {
public:
    Workers(int n_threads, const std::function<bool()>& interrupted)
        : n_threads_(std::max(n_threads, 1)), poll_(interrupted, stop_) {}

    int n_threads() const { return n_threads_; }
    bool stopped() const { return stop_; }

    // task(i, thread) for the tasks of each phase; between() says how many the next one has.
    template <class Task, class Between> void phases(Task task, Between between) {
        Crew::run(
            n_threads_,
            [&](int64_t i, int thread) {
                if (!stop_) task(i, thread);
            },
            [&]() -> uint64_t { return stop_ ? 0 : between(); }, [this] { poll_(); });
    }

    // One phase of n tasks.
    template <class Task> void share(int64_t n, Task task) {
        bool begun = false;
        phases(task, [&]() -> uint64_t { return std::exchange(begun, true) ? 0 : n; });
    }

private:
    const int n_threads_;
    std::atomic<bool> stop_{false};
    InterruptPoll poll_;
};

}  // namespace cofire
