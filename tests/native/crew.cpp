// Many short crews of a few short phases, with pauses where they hurt: for test_crew.py.
//
// Two mistakes are easy here, each a hang or a phase opened twice, once in millions of epochs:
// to take the end of the work for work, after a look at the phase before; and to ask how many
// lots a phase has when one's own is done, and the phase may be over. A third ends the process:
// to let an exception leave a thread, or the caller while threads are at work.
//
//   crew n_threads n_crews           all goes well
//   crew n_threads n_crews throw     in each crew a task fails, or what is between two phases
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

inline void pause_now_and_then() {
    thread_local uint32_t looks = 0;
    if (++looks % 4 == 0) std::this_thread::yield();
}
#define COFIRE_BEFORE_GRIP() pause_now_and_then()
#include "threads/crew.hpp"

namespace {

int complain(long crew, uint64_t n_phases, uint64_t n_done) {
    std::printf("crew %ld: %d phases, %d tasks\n", crew, int(n_phases), int(n_done));
    return 1;
}

}  // namespace

int main(int n_arguments, char** arguments) {
    const int n_threads = std::atoi(arguments[1]);
    const long n_crews = std::atol(arguments[2]);
    const bool failing = n_arguments > 3;
    for (long crew = 0; crew < n_crews; crew++) {
        const uint64_t n_tasks = 1 + crew % 3;
        const uint64_t failing_phase = 1 + crew / 3 % 3;
        const bool fails_between = failing && crew % 2 == 0;
        uint64_t n_phases = 0;
        std::atomic<uint64_t> n_done{0};
        bool thrown = false;
        try {
            cofire::Crew::run(
                n_threads,
                [&](int64_t i, int) {
                    if (failing && !fails_between && n_phases == failing_phase &&
                        uint64_t(i) == crew % n_tasks)
                        throw std::bad_alloc();
                    n_done.fetch_add(1, std::memory_order_relaxed);
                },
                [&]() -> uint64_t {
                    if (fails_between && n_phases == failing_phase) throw std::bad_alloc();
                    return n_phases++ < 3 ? n_tasks : 0;
                },
                [] {});
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        if (thrown != failing) return complain(crew, n_phases, n_done);
        if (!failing && (n_phases != 4 || n_done != 3 * n_tasks))
            return complain(crew, n_phases, n_done);
        // Nothing is begun after the phase in which it failed.
        if (failing && (n_phases != failing_phase || n_done > failing_phase * n_tasks))
            return complain(crew, n_phases, n_done);
    }
}
