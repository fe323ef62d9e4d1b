// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// What every C++ consumer builds: the same as main.c, with C++'s ways of saying it.
#include <iostream>
#include <treadle.h>

namespace {
struct Counts {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = nullptr;
    int fired = 0;
    int performed = 0;
};
} // namespace

int main() {
    Counts counts;
    auto source = TREADLE_INIT(treadle_source_context);
    source.info = &counts;
    source.perform = [](treadle_source, void *info) {
        auto *counts = static_cast<Counts *>(info);
        if (++counts->performed == 3) treadle_loop_stop(counts->loop);
    };
    auto timer = TREADLE_INIT(treadle_timer_context);
    timer.info = &counts;
    timer.fire_at = treadle_time_now();
    timer.interval_ns = 1000000;
    timer.fire = [](treadle_timer, void *info) {
        auto *counts = static_cast<Counts *>(info);
        counts->fired++;
        treadle_source_signal_and_wake(counts->source);
    };

    treadle_timer ticker = nullptr;
    if (treadle_source_create(&source, &counts.source) || treadle_timer_create(&timer, &ticker)) return 1;
    treadle_loop_add_source(counts.loop, counts.source, TREADLE_DEFAULT_MODE);
    treadle_loop_add_timer(counts.loop, ticker, TREADLE_DEFAULT_MODE);
    const treadle_status status = treadle_loop_run_default(counts.loop);
    treadle_timer_invalidate(ticker);
    treadle_source_invalidate(counts.source);
    treadle_timer_release(ticker);
    treadle_source_release(counts.source);
    std::cout << "treadle " << treadle_version_string() << ": performed " << counts.performed << ", stopped "
              << (status == TREADLE_RUN_STOPPED && counts.fired >= 3) << "\n";
}
