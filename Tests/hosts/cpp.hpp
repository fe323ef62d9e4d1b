// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// cpp.hpp: what the files of the runner in C++ share.
#pragma once

#include <string>
#include <thread>
#include <treadle.hpp>

#include "host.h"

using namespace treadle;
using namespace std::chrono_literals;

extern const host_case item_cases[], thread_cases[];
extern std::string seen; // what the callbacks of a case note

// The calling thread's loop; each runner of a case makes it when it begins.
inline Loop here() { return Loop::current(); }
inline Thread start_worker() {
    const Thread worker = Thread::worker();
    worker.start_and_wait();
    return worker;
}
// Whether a call throws an error of this status, whose text has a word.
template <class Call> bool refuses(Status status, const char *word, Call call) {
    try {
        static_cast<void>(call());
        return false;
    } catch (const Error &error) { return error.status() == status && std::strstr(error.what(), word); }
}
