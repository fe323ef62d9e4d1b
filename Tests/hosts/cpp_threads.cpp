// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// cpp_threads.cpp: the list of host tests, in C++: threads, what ends while it is used, ports, scopes and closures.
#include <algorithm>
#include <atomic>
#include <future>
#include <optional>

#include "cpp.hpp"

#define MODE Mode(case_name)
constexpr auto all_the_same = RunOptions::when_empty;

static void thread_order() {
    const Thread worker = start_worker();
    int calls = 0;
    for (int i = 0; i < 100; i++) worker.perform([&, i] { REQUIRE(Thread::current() == worker && calls++ == i); });
    worker.perform_and_wait([] {});
    REQUIRE(calls == 100);
    worker.stop_and_join();
}

static void thread_closed() {
    const Thread worker = start_worker();
    worker.stop_and_join();
    REQUIRE(refuses(Status::closed, "thread", [&] { worker.perform([] {}); }));
    REQUIRE(refuses(Status::closed, "thread", [&] { worker.perform_and_wait([] { return 1; }); }));
}

static void thread_at_once() {
    const Thread worker = start_worker();
    const Loop loop = worker.loop();
    std::atomic<int> calls{0};
    std::promise<void> inside, go_on;
    loop.post([&] {
        calls++;
        inside.set_value();
        go_on.get_future().wait();
    });
    for (int i = 0; i < 3; i++) loop.post([&] { calls++; });
    inside.get_future().wait();
    worker.request_stop(StopOptions::at_once);
    go_on.set_value();
    worker.join();
    REQUIRE(calls == 1 && !loop.post([&] { calls++; }) && loop.wake() == Status::ok);
}

static void deadlock() {
    const Thread worker = start_worker(), self = Thread::current();
    worker.perform_and_wait([&] {
        REQUIRE(refuses(Status::deadlock, "thread", [&] { self.perform_and_wait([] {}); }));
        seen += "refused";
    });
    REQUIRE(seen == "refused");
    worker.stop_and_join();
}

static void thread_of_loop() {
    const Thread worker = start_worker();
    const Loop loop = worker.loop();
    REQUIRE(Thread::of_loop(loop) == worker && Thread::of_loop(here()) == Thread::current());
    worker.stop_and_join();
    REQUIRE(refuses(Status::not_found, "finished", [&] { return Thread::of_loop(loop); }));
}

static void values() {
    const auto value = std::make_shared<int>(0);
    const Thread worker = start_worker();
    worker.perform_and_wait([&] { Thread::current().set_value("key", value); });
    REQUIRE(value.use_count() == 2 && worker.use_value<std::shared_ptr<int>>("key", [&](auto &own) { REQUIRE(own == value); }));
    worker.stop_and_join();
    REQUIRE(value.use_count() == 1 && refuses(Status::state, "thread", [&] { worker.set_value("key", value); }));
}

static void closes() {
    const Thread worker = start_worker();
    std::promise<void> inside, go_on;
    const Source source([&](const Source &self) {
        REQUIRE(refuses(Status::deadlock, "object", [&] { self.close(); }));
        inside.set_value();
        go_on.get_future().wait();
    });
    worker.loop().add(source);
    source.signal_and_wake();
    inside.get_future().wait();
    REQUIRE(!source.close_for(1ns) && !source.is_valid());
    go_on.set_value();
    source.close();
    worker.stop_and_join();
}

// --- Ports --------------------------------------------------------------------------------------------------------

static void note_parts(const Port &, const Message &message) {
    seen += std::to_string(message.id());
    for (std::size_t i = 0; i < message.size(); i++) {
        const auto part = message.component(i);
        seen += part.kind == ComponentKind::port ? "port" : std::string(part.bytes);
    }
    if (message.reply_port()) message.reply_port().send_bytes(2, "yes");
}
struct Inbox : Port {
    explicit Inbox(std::uint32_t capacity = 0) : Port(note_parts, capacity) { here().add(*this, MODE); }
    ~Inbox() { invalidate(); }
};

static void message() {
    const Inbox port;
    port.send(1, {"ab", static_cast<const Port &>(port)});
    port.send_bytes(2, "c");
    here().poll(MODE);
    REQUIRE(seen == "1abport");
    here().poll(MODE);
    REQUIRE(seen == "1abport2c");
}

static void reply() {
    const Inbox port, answers;
    port.send(1, {}, answers);
    for (int i = 0; i < 2; i++) here().poll(MODE);
    REQUIRE(seen == "12yes");
}

static void port_full() {
    const Inbox port(1);
    REQUIRE(port.send_bytes_for(0ns, 1, "a") && !port.send_bytes_for(0ns, 1, "b"));
    here().poll(MODE);
    REQUIRE(seen == "1a" && port.send_bytes_for(0ns, 2, "c"));
}

static void port_ended() {
    const Inbox port;
    port.send_bytes(1, "a");
    port.invalidate();
    REQUIRE(refuses(Status::closed, "port", [&] { port.send_bytes(1, "b"); }));
    REQUIRE(here().poll(MODE) == RunResult::finished && seen.empty());
}

// --- Scopes and closures ------------------------------------------------------------------------------------------

static void scopes() {
    const Scope scope;
    std::optional<Source> source;
    {
        const Scope::Entry inside(scope);
        source.emplace([] { seen += 's'; });
        here().add(*source, MODE);
        here().post([] { seen += 'p'; }, {MODE});
        source->signal();
    }
    REQUIRE(source->is_valid() && scope.close() == Closing::closed && !source->is_valid());
    for (int i = 0; i < 2; i++) here().run_for(0ns, MODE, all_the_same);
    REQUIRE(seen.empty());
}

static void scope_closed() {
    const Scope scope;
    {
        const Scope::Entry inside(scope);
        REQUIRE(scope.close() == Closing::closed);
        REQUIRE(refuses(Status::closed, "scope", [] { return Source([] {}); }));
        REQUIRE(refuses(Status::closed, "scope", [] { here().post([] {}); }));
    }
    REQUIRE(refuses(Status::closed, "scope", [&] { scope.enter(); }));
}

static void closure() {
    int numbers[] = {3, 1, 2}, compared = 0;
    const Closure<int(const void *, const void *)> compare([&](const void *a, const void *b) {
        const int one = *static_cast<const int *>(a), two = *static_cast<const int *>(b);
        compared++;
        return (one > two) - (one < two);
    });
    std::qsort(numbers, 3, sizeof *numbers, compare.code());
    REQUIRE(std::is_sorted(numbers, numbers + 3) && compared > 0);
    compare.close();
    REQUIRE(!compare.is_valid());
}

const host_case thread_cases[] = {
    {"thread-order", thread_order, nullptr}, {"thread-closed", thread_closed, nullptr}, {"thread-at-once", thread_at_once, nullptr},
    {"deadlock", deadlock, nullptr}, {"thread-of-loop", thread_of_loop, nullptr}, {"values", values, nullptr}, {"close", closes, nullptr}, {"message", message, nullptr},
    {"reply", reply, nullptr}, {"port-full", port_full, nullptr}, {"port-ended", port_ended, nullptr}, {"scope", scopes, nullptr},
    {"scope-closed", scope_closed, nullptr}, {"closure", closure, nullptr}, {nullptr, nullptr, nullptr}};
