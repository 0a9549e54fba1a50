// Threads that work through phases of tasks, started and joined within one call.
//
// A phase is a number of independent tasks; any thread takes the next free one, and whoever
// finishes the last opens the next phase. Nobody waits for a thread that holds no task, so
// a thread that lost its core to another process delays only the task in its hands.
// A waiting thread looks a moment (a step takes about 100 us, the others are nearly done)
// and then sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace cofire {

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

class Crew {
public:
    // task(i, thread) does task i of the open phase; between() runs alone after each phase and
    // returns the number of tasks of the next, 0 to end; poll() runs on the calling thread.
    template <class Task, class Between, class Poll>
    static void run(int n_threads, Task task, Between between, Poll poll) {
        Crew crew;
        const uint64_t first = between();
        if (first == 0) return;
        crew.state_.store(first << kBits);
        std::vector<std::thread> others;
        for (int t = 1; t < n_threads; t++) {
            try {
                others.emplace_back([&, t] { crew.work(t, task, between, [] {}); });
            } catch (const std::system_error&) {
                break;  // no more threads to be had: the ones there are do all the tasks
            }
        }
        crew.work(0, task, between, poll);
        for (std::thread& other : others) other.join();
    }

private:
    // state = phase | number of tasks | next free task, so that one compare-and-swap takes a task.
    static constexpr int kBits = 20;
    static constexpr uint64_t kMask = (uint64_t{1} << kBits) - 1;
    static constexpr int kLooks = 2000;
    std::atomic<uint64_t> state_{0};
    std::atomic<uint64_t> done_{0};

    template <class Task, class Between, class Poll>
    void work(int thread, Task& task, Between& between, Poll poll) {
        uint64_t seen = state_.load(std::memory_order_acquire);
        for (;;) {
            const uint64_t n_tasks = (seen >> kBits) & kMask;
            if (n_tasks == 0) return;
            if ((seen & kMask) == n_tasks) {
                seen = next_state(seen);
                continue;
            }
            if (!state_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
            task(static_cast<int64_t>(seen & kMask), thread);
            poll();
            if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == n_tasks) {
                done_.store(0, std::memory_order_relaxed);
                const uint64_t phase = (seen >> (2 * kBits)) + 1;
                const uint64_t tasks = between();
                state_.store((phase << (2 * kBits)) | (tasks << kBits), std::memory_order_release);
                state_.notify_all();
            }
            seen = state_.load(std::memory_order_acquire);
        }
    }

    // The state once its phase is no longer the one seen.
    uint64_t next_state(uint64_t seen) {
        for (int look = 0;; look++) {
            const uint64_t now = state_.load(std::memory_order_acquire);
            if (now != seen) return now;
            if (look < kLooks)
                relax();
            else
                state_.wait(seen, std::memory_order_acquire);
        }
    }
};

}  // namespace cofire
