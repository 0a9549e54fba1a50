// Threads that work through phases of tasks, started and joined within one call.
//
// A phase is a number of independent tasks, in at most 64 bundles; any thread takes a free bundle,
// and the thread that finishes the last one opens the next phase. No thread waits for one that
// holds no bundle, so a thread that lost its core to another process delays only the bundle it
// holds. Each thread looks for work at its own position first: undisturbed, it does the same part
// of every step, and what that part reads and writes stays in its cache.
// A waiting thread polls for a moment (a step takes about 100 us, the others are nearly done)
// and then sleeps.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

// A test puts a pause here, at the point where a thread that loses its core does the most harm.
#ifndef COFIRE_BEFORE_TAKING
#define COFIRE_BEFORE_TAKING() (void)0
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
    // returns the number of tasks of the next, 0 to end; poll() runs on the calling thread, after
    // each of its tasks. An exception from any of them, on whatever thread, ends the work and is
    // thrown here.
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
    static constexpr uint64_t kMaxBundles = 64;  // bundle b has the tasks b, b + 64, …
    static constexpr int kPolls = 2000;

    const int n_threads_;
    // On cache lines of their own: reading one does not slow down writing the other.
    alignas(64) std::atomic<uint64_t> free_{0};  // a bit for each bundle that no thread has taken
    alignas(64) std::atomic<uint64_t> done_{0};
    // Written only between two phases, when no bundle is free and no thread holds one; so a thread
    // may read them only while it holds a bundle.
    uint64_t n_tasks_ = 0, n_bundles_ = 0;
    std::atomic<bool> failed_{false};
    std::exception_ptr error_;  // the first; read when all threads have ended

    explicit Crew(int n_threads) : n_threads_(n_threads) {}

    bool open_phase(uint64_t n_tasks) {
        n_tasks_ = n_tasks;
        n_bundles_ = n_tasks < kMaxBundles ? n_tasks : kMaxBundles;
        done_.store(0, std::memory_order_relaxed);
        // The end is a phase of no tasks and one bundle, which is passed on and never done.
        const uint64_t all =
            n_bundles_ == kMaxBundles ? ~uint64_t{0} : (uint64_t{1} << n_bundles_) - 1;
        offer(n_tasks == 0 ? 1 : all);
        return n_tasks > 0;
    }

    void offer(uint64_t bundles) {
        free_.store(bundles, std::memory_order_release);
        free_.notify_all();
    }

    template <class Task, class Between, class Poll>
    void work(int thread, Task& task, Between& between, Poll poll) {
        for (;;) {
            // Phases may begin and end between the look and the taking: only the bundle that was
            // taken counts, and only then can its phase be known.
            uint64_t free = free_bundles();
            const int bundle = first_from(free, thread);
            const uint64_t bit = uint64_t{1} << bundle;
            COFIRE_BEFORE_TAKING();
            if (!free_.compare_exchange_weak(free, free & ~bit, std::memory_order_acq_rel))
                continue;
            const uint64_t n_tasks = n_tasks_, n_bundles = n_bundles_;
            if (n_tasks == 0) return offer(1);
            for (uint64_t i = bundle; i < n_tasks; i += kMaxBundles)
                attempt([&] {
                    task(static_cast<int64_t>(i), thread);
                    poll();
                });
            if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 < n_bundles) continue;
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

    // A thread's first exception allocates memory, and ends the process if there is none. So that
    // memory is allocated before the work; a thread that gets none leaves the work to the others.
    static bool can_throw() {
        // A page, freed at once: so there is room for the few bytes that cannot be asked for.
        void* page = std::malloc(4096);
        if (page == nullptr) return false;
        std::free(page);
        return std::uncaught_exceptions() == 0;
    }

    // The free bundle next to this thread's position, counted upwards and around.
    int first_from(uint64_t free, int thread) const {
        const int top = 64 - __builtin_clzll(free);  // bundles in use, as far as can be seen
        const int start = top * thread / n_threads_;
        const uint64_t later = free >> start << start;
        return __builtin_ctzll(later != 0 ? later : free);
    }

    // The free bundles, once there are any.
    uint64_t free_bundles() {
        for (int n_polls = 0;; n_polls++) {
            const uint64_t free = free_.load(std::memory_order_acquire);
            if (free != 0) return free;
            if (n_polls < kPolls)
                relax();
            else
                free_.wait(0, std::memory_order_acquire);
        }
    }
};

}  // namespace cofire
