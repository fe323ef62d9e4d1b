// flags: -fno-exceptions -fno-rtti
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// no_exceptions_test.cpp: a program without exceptions and run-time type information: what works as with them, and what ends
// the program in place of an exception.
#include "check.hpp"

#ifdef __cpp_exceptions
#error "this test is for -fno-exceptions"
#endif

using namespace treadle;

TEST(a_program_without_exceptions_runs_its_loops, "RUN-1 PERF-7 THR-12") {
    const Loop loop = Loop::current();
    std::string trace;
    {
        const Source source([&, counted = Counted()] { trace += 's'; });
        loop.add(source);
        source.signal();
        loop.add(Timer::after(0s, [&] { trace += 't'; }));
        loop.post([&, counted = Counted()] { trace += 'p'; });
        loop.poll();
        loop.poll();
        CHECK_EQUAL(trace.size(), 3u);
        loop.remove(source);
    }
    CHECK_EQUAL(Counted::alive, 0);
    const Scoped<Thread> thread(Thread::worker());
    thread.start_and_wait();
    thread.set_value("key", std::string("value"));
    CHECK(thread.use_value<std::string>("key", [](const std::string &value) { CHECK_EQUAL(value, "value"); }));
    CHECK_EQUAL(thread.perform_and_wait([] { return 7; }), 7);
    const Thread returns([] { return static_cast<void *>(&tests()); });
    returns.start();
    CHECK(returns.join() == &tests());
    const Thread exits([] { Thread::exit(&tests()); });
    exits.start();
    CHECK(exits.join() == &tests());
}

// A call that would throw reports its error and ends the program by std::terminate.
static void check_ends(void (*call)(), const char *error) {
    const Ended plain = in_child(call);
    CHECK(WIFSIGNALED(plain.status));
    CHECK_EQUAL(WTERMSIG(plain.status), SIGABRT);
    CHECK(plain.errors.find("C++ error") != plain.errors.npos);
    CHECK(plain.errors.find(error) != plain.errors.npos);
}

TEST(a_failed_call_ends_a_program_without_exceptions, "THR-19") {
    check_ends([] { Source().signal(); }, "treadle_source_signal: ");
    check_ends([] { Loop::current().post(std::function<void()>()); }, "treadle::Loop::post: the callback is empty");
    check_ends([] { Mode(std::string_view("a\0b", 3)); }, "treadle::Mode: the mode's name contains NUL");
    check_ends([] { Clock::after(std::chrono::duration<double>(std::nan(""))); }, "the duration is not a number");
    check_ends(
        [] {
            const Thread ended([] {});
            ended.start();
            ended.join();
            ended.perform([] {});
        },
        "treadle_perform: ");
}

TEST(the_last_resort_handler_learns_of_it_and_cannot_go_on, "THR-19") {
    const Ended ended = in_child([] {
        set_last_resort([](const Thread &thread, std::string_view kind, std::string_view message) {
            const bool right = thread == Thread::current() && kind == "C++ error" && message.find("loop_add") != message.npos;
            std::fprintf(stderr, right ? "as it should be\n" : "otherwise\n");
            return true;
        });
        Loop::current().add(Source());
        std::fprintf(stderr, "it goes on\n");
    });
    CHECK(WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGABRT);
    CHECK(ended.errors.find("as it should be") != ended.errors.npos);
    CHECK(ended.errors.find("goes on") == ended.errors.npos);
}

TEST(functions_that_return_a_status_do_so_without_exceptions, "OBJ-10") {
    CHECK_EQUAL(Loop().wake(), Status::argument);
    CHECK_EQUAL(Source().invalidate(std::nothrow), Status::argument);
    // A failure that is to be survived: by the function of C.
    CHECK_EQUAL(treadle_source_signal(Source().native()), TREADLE_E_ARG);
    CHECK_EQUAL(Error::last().status(), Status::argument);
}

TEST(runs_after_a_shutdown_return_without_exceptions, "THR-21") {
    const Ended ended = in_child([] {
        shutdown(0s);
        for (int i = 0; i < 3; i++) CHECK_EQUAL(Loop::current().run(), RunResult::closed);
        CHECK(Loop::current().dispatch() == RunResult::closed);
    });
    CHECK(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0);
}

namespace {
struct Refusing : PluginBase {
    static constexpr PluginAbout about{"org.example.refusing", "Refusing", "1.0"};
    using PluginBase::PluginBase;
    Status start() {
        host().fail("it does not want to");
        return Status::not_supported;
    }
    Status stop(std::chrono::nanoseconds timeout) {
        if (timeout == 0ns) host().stopped();
        return Status::deferred;
    }
    Status set(const char *, const char *value) { return *value ? Status::ok : Status::range; }
};
} // namespace

TEST(a_plugins_method_fails_by_a_status_and_its_stop_may_be_over_later, "PLUG-2 PLUG-4") {
    static std::string why;
    static int stops;
    auto host = TREADLE_INIT(treadle_plugin_host);
    host.fail = [](const treadle_plugin_host *, const char *text) { why = text; };
    host.stopped = [](const treadle_plugin_host *) { stops++; };
    const treadle_plugin_description description = detail::PluginFunctions<Refusing>::describe();
    void *instance = nullptr;
    CHECK_EQUAL(description.init(&host, &instance), TREADLE_OK);
    CHECK_EQUAL(description.start(instance), TREADLE_E_NOT_SUPPORTED);
    CHECK_EQUAL(why, "it does not want to");
    CHECK_EQUAL(description.stop(instance, 0), TREADLE_DEFERRED);
    CHECK_EQUAL(description.stop(instance, 1), TREADLE_DEFERRED);
    CHECK_EQUAL(stops, 1);
    CHECK_EQUAL(description.set(instance, "key", ""), TREADLE_E_RANGE);
    CHECK_EQUAL(description.set(instance, "key", "1"), TREADLE_OK);
    CHECK(!description.save);
    description.deinit(instance);
}
