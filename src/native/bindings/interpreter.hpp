// How a native call shares the interpreter: other Python threads run meanwhile, and Ctrl-C ends it.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

#include "threads/workers.hpp"

namespace cofire {

// While Python shuts down it ends the threads that ask for its lock (up to 3.13), through C++
// frames that would end the process. They wait for its end instead, as from 3.14 on.
template <class Ask> auto unless_python_ends(Ask ask) {
    try {
        return ask();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// While it lives, other Python threads may run.
class Unlocked {
public:
    Unlocked() = default;
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    ~Unlocked() {
        unless_python_ends([this] { PyEval_RestoreThread(state_); });
    }

private:
    PyThreadState* state_ = PyEval_SaveThread();
};

inline bool signals_pending() {
    // Not nb::gil_scoped_acquire, which lets no exception pass.
    const PyGILState_STATE gil = unless_python_ends([] { return PyGILState_Ensure(); });
    const bool pending = PyErr_CheckSignals() != 0;
    PyGILState_Release(gil);
    return pending;
}

// What run(context) returns, run without the interpreter's lock. An interrupted call must end with
// throw nanobind::python_error(): the exception is already set.
template <class Run> auto run_unlocked(int n_threads, Run run) {
    const Unlocked unlocked;
    return run(CallContext{n_threads, signals_pending});
}

}  // namespace cofire
