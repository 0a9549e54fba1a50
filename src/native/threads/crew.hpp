// Threads that work through phases of tasks, started and joined within one call.
//
// A phase is a number of independent tasks; any thread takes a free one, and whoever finishes
// the last opens the next phase. Nobody waits for a thread that holds no task, so a thread
// that lost its core to another process delays only the task in its hands. Each thread looks
// for work at its own place first: undisturbed, it does the same part of every step, and what
// that part reads and writes stays in its cache.
// A waiting thread looks a moment (a step takes about 100 us, the others are nearly done)
// and then sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

// A test puts a pause here, at the point where a thread that loses its core does the most harm.
#ifndef COFIRE_BEFORE_GRIP
#define COFIRE_BEFORE_GRIP() (void)0
#endif

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
    // returns the number of tasks of the next, 0 to end; poll() runs on the calling thread. What
    // any of them throws, on whatever thread, ends the work and is thrown here.
    template <class Task, class Between, class Poll>
    static void run(int n_threads, Task task, Between between, Poll poll) {
        Crew crew(n_threads);
        if (!crew.open_phase(between())) return;
        std::vector<std::thread> others;
        others.reserve(n_threads - 1);
        try {
            for (int t = 1; t < n_threads; t++)
                others.emplace_back([&, t] {
                    if (can_throw()) crew.work(t, task, between, [] {});
                });
        } catch (const std::exception&) {
            // No more threads to be had, or no memory: the ones there are do all the tasks.
        }
        crew.work(0, task, between, poll);
        for (std::thread& other : others) other.join();
        if (crew.error_) std::rethrow_exception(crew.error_);
    }

private:
    static constexpr uint64_t kLots = 64;  // tasks are dealt into so many lots at most
    static constexpr int kLooks = 2000;

    const int n_threads_;
    // On lines of their own: who looks at one does not slow down who writes the other.
    alignas(64) std::atomic<uint64_t> free_{0};  // a bit for each lot that nobody has taken
    alignas(64) std::atomic<uint64_t> done_{0};
    // Written between two phases only, when no lot is free and none is in anybody's hands;
    // so to be read only with a lot in hand.
    uint64_t n_tasks_ = 0, n_lots_ = 0;
    std::atomic<bool> failed_{false};
    std::exception_ptr error_;  // the first; read when all threads are back

    explicit Crew(int n_threads) : n_threads_(n_threads) {}

    bool open_phase(uint64_t n_tasks) {
        n_tasks_ = n_tasks;
        n_lots_ = n_tasks < kLots ? n_tasks : kLots;
        done_.store(0, std::memory_order_relaxed);
        // The end is a phase of no tasks and one lot, which is passed on and never done.
        const uint64_t all = n_lots_ == kLots ? ~uint64_t{0} : (uint64_t{1} << n_lots_) - 1;
        offer(n_tasks == 0 ? 1 : all);
        return n_tasks > 0;
    }

    void offer(uint64_t lots) {
        free_.store(lots, std::memory_order_release);
        free_.notify_all();
    }

    template <class Task, class Between, class Poll>
    void work(int thread, Task& task, Between& between, Poll poll) {
        for (;;) {
            // Phases may come and go between the look and the grip: what matters is what is
            // in hand, and of which phase it is can be asked only then.
            uint64_t free = free_lots();
            const int lot = first_from(free, thread);
            const uint64_t bit = uint64_t{1} << lot;
            COFIRE_BEFORE_GRIP();
            if (!free_.compare_exchange_weak(free, free & ~bit, std::memory_order_acq_rel))
                continue;
            const uint64_t n_tasks = n_tasks_, n_lots = n_lots_;
            if (n_tasks == 0) return offer(1);
            for (uint64_t i = lot; i < n_tasks; i += kLots)
                attempt([&] {
                    task(static_cast<int64_t>(i), thread);
                    poll();
                });
            if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 < n_lots) continue;
            uint64_t n_next = 0;
            attempt([&] { n_next = between(); });
            open_phase(n_next);
        }
    }

    // After the first failure nothing more is done, and the phases come to their end.
    template <class Work> void attempt(Work work) {
        if (failed_.load(std::memory_order_relaxed)) return;
        try {
            work();
        } catch (...) {
            if (!failed_.exchange(true)) error_ = std::current_exception();
        }
    }

    // A thread's first exception takes memory, and ends the process if there is none. So it is
    // taken before the work; a thread that gets none leaves the work to the others.
    static bool can_throw() {
        // A page, and given back: so there is room for the few bytes that cannot be asked for.
        void* page = std::malloc(4096);
        if (page == nullptr) return false;
        std::free(page);
        return std::uncaught_exceptions() == 0;
    }

    // The free lot next to this thread's place, counted upwards and around.
    int first_from(uint64_t free, int thread) const {
        const int top = 64 - __builtin_clzll(free);  // lots in use, as far as can be seen
        const int start = top * thread / n_threads_;
        const uint64_t later = free >> start << start;
        return __builtin_ctzll(later != 0 ? later : free);
    }

    // The free lots, once there are any.
    uint64_t free_lots() {
        for (int look = 0;; look++) {
            const uint64_t free = free_.load(std::memory_order_acquire);
            if (free != 0) return free;
            if (look < kLooks)
                relax();
            else
                free_.wait(0, std::memory_order_acquire);
        }
    }
};

}  // namespace cofire
