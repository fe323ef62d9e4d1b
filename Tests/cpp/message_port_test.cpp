// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// message_port_test.cpp: message ports: names, messages, requests and their replies, ends.
#include "check.hpp"

using namespace treadle;

static const char *const replies = "replies";

// A name that no other test has.
static std::string new_name() {
    static std::atomic<int> used{0};
    return "treadle.cpp." + std::to_string(getpid()) + "." + std::to_string(used++);
}

// A thread that serves a name until it goes.
template <class F> class Server {
  public:
    Server(const std::string &name, F f) : port_(MessagePort::local(name, std::move(f))), thread_(Thread::worker()) {
        thread_.start_and_wait();
        thread_.loop().add(port_);
    }
    ~Server() {
        port_.close(std::nothrow);
        thread_.stop_and_join();
    }
    const MessagePort &port() const { return port_; }

  private:
    MessagePort port_;
    Thread thread_;
};

TEST(a_message_arrives_and_a_request_gets_its_reply, "MSG-5 MSG-6 MSG-9") {
    const std::string name = new_name();
    const Loop loop = Loop::current();
    std::vector<std::string> got;
    const MessagePort local = MessagePort::local(name, [&](const MessagePort &self, const IncomingMessage &message) {
        CHECK(self.is_valid() && !self.is_remote());
        CHECK(message.sender_process() == getpid() && message.sender_user() == getuid());
        got.push_back(std::to_string(message.id()) + std::string(message.bytes()) + (message.wants_reply() ? "?" : ""));
        const std::string reply = "re: " + std::string(message.bytes());
        CHECK_EQUAL(message.reply(reply), message.wants_reply());
        if (message.wants_reply()) CHECK_ERROR(message.reply("again"), state, "reply");
    });
    const MessagePort remote = MessagePort::remote(name);
    CHECK(remote.is_remote() && remote.name() == name && local.name() == name);
    CHECK(loop.add(local) && loop.add(local, replies) && loop.contains(local) && !loop.add(local));
    CHECK_EQUAL(loop.items()[0].kind(), ItemKind::descriptor);
    remote.send(-7, "one");
    CHECK(remote.send_for(0s, 2, {}));
    CHECK_EQUAL(loop.run({}, RunOptions::return_after_source), RunResult::handled_source);
    CHECK_EQUAL(got.size(), 1u);
    CHECK_EQUAL(remote.request(3, "three", replies), "re: three");
    CHECK((got == std::vector<std::string>{"-7one", "2", "3three?"}));
    const std::string large(300000, 'x');
    CHECK_EQUAL(remote.request_for(10min, 4, large, replies), "re: " + large);
    CHECK(local.describe().find(name) != std::string::npos);
    local.invalidate();
    CHECK(!loop.contains(local) && !local.is_valid() && !local.check());
}

TEST(another_process_asks, "MSG-6 MSG-9") {
    const std::string name = new_name();
    int ready[2];
    CHECK(pipe(ready) == 0);
    const pid_t child = fork(); // before anything of Treadle's
    if (child == 0) {
        char byte = 0;
        alarm(watchdog_seconds());
        CHECK(read(ready[0], &byte, 1) == 1);
        const MessagePort remote = MessagePort::remote(name);
        CHECK_EQUAL(remote.request(1, "hello"), "hello, child");
        remote.send(2, "bye");
        while (remote.check()) sched_yield();
        CHECK_ERROR(remote.send(3, ""), state, "invalid");
        _exit(0);
    }
    const Loop loop = Loop::current();
    const MessagePort local = MessagePort::local(name, [&](const IncomingMessage &message) {
        CHECK_EQUAL(message.sender_process(), child);
        if (message.id() == 1) message.reply(std::string(message.bytes()) + ", child");
        else loop.stop();
    });
    loop.add(local);
    CHECK(write(ready[1], "r", 1) == 1);
    CHECK_EQUAL(loop.run(), RunResult::stopped);
    local.invalidate();
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK_EQUAL(status, 0);
}

TEST(both_timeouts_are_told_apart_and_a_late_reply_is_dropped, "MSG-6 MSG-8") {
    const std::string name = new_name();
    Semaphore entered, go;
    int count = 0;
    auto serve = [&](const IncomingMessage &message) {
        if (count++ == 0) {
            entered.post();
            go.wait();
        }
        message.reply("reply " + std::to_string(message.id()));
    };
    const Server server(name, serve);
    const MessagePort remote = MessagePort::remote(name);
    CHECK_ERROR(remote.request_for(0s, 1, "", replies), no_reply, "reply_timeout_ns");
    // Nobody takes messages from here on: the queue is full some time, and stays so.
    entered.wait();
    int sent = 0;
    while (remote.send_for(0s, 2, std::string(50000, 'm'))) sent++;
    CHECK(sent > 0);
    CHECK(!remote.send_for(1ms, 2, std::string(50000, 'm')));
    CHECK_ERROR(remote.request_for(1ms, 3, std::string(50000, 'm')), timeout, "room");
    go.post();
    CHECK_EQUAL(remote.request(4, "", replies), "reply 4");
    CHECK_ERROR(remote.request(5, "", Mode::common()), argument, "common");
}

TEST(the_end_is_told_once_to_both_sides, "MSG-7 MSG-8 OBJ-5") {
    const std::string name = new_name();
    const Loop loop = Loop::current();
    int local_ends = 0, remote_ends = 0;
    MessagePortOptions options;
    options.invalidated = [&](const MessagePort &ended) { local_ends += !ended.is_valid(); };
    MessagePort local = MessagePort::local(name, [] {}, options);
    options.invalidated = [&](const MessagePort &ended) {
        remote_ends += !ended.is_valid() && ended.is_remote();
        loop.stop();
    };
    const MessagePort remote = MessagePort::remote(name, options);
    CHECK(loop.add(remote) && remote.check());
    local.invalidate();
    local.invalidate();
    CHECK_EQUAL(local_ends, 1);
    CHECK_EQUAL(loop.run(), RunResult::stopped); // by the port's end
    CHECK(remote_ends == 1 && !remote.is_valid());
    CHECK_ERROR(remote.send(1, ""), state, "invalid");
    CHECK_ERROR(MessagePort::remote(name), not_found, "served");
    // The last reference ends a port as well.
    options.invalidated = [&](const MessagePort &) { local_ends++; };
    local = MessagePort::local(name, [] {}, options);
    local.reset();
    CHECK_EQUAL(local_ends, 2);
}

TEST(who_waits_learns_of_the_end, "MSG-7 MSG-8") {
    const std::string name = new_name();
    auto serve = [](const MessagePort &self, const IncomingMessage &) { self.invalidate(); };
    const Server server(name, serve);
    const MessagePort remote = MessagePort::remote(name);
    CHECK_ERROR(remote.request(1, "", replies), closed, "lost its other side");
    CHECK(!remote.check());
}

TEST(names_are_served_once_and_may_change, "MSG-1 MSG-2 MSG-3") {
    const std::string first = new_name(), second = new_name();
    const MessagePort local = MessagePort::local(std::nullopt, [] {});
    CHECK_EQUAL(local.name(), "");
    CHECK(local.set_name(first) && !local.set_name(first));
    {
        const MessagePort remote = MessagePort::remote(first), again = MessagePort::remote(first);
        CHECK(remote == again && remote.check());
        MessagePortOptions options;
        options.invalidated = [](const MessagePort &) {};
        CHECK_ERROR(MessagePort::remote(first, options), exists, "connected");
        CHECK_ERROR(remote.set_name(second), state, "remote");
        CHECK(local.set_name(second) && !remote.check());
    }
    int calls = 0;
    CHECK_ERROR(MessagePort::local(second, [&] { calls++; }), exists, "another port of this process");
    CHECK_ERROR(MessagePort::local("", [] {}), argument, "name");
    CHECK_ERROR(MessagePort::local(std::string("a\0b", 3), [] {}), argument, "NUL");
    CHECK_ERROR(MessagePort::local(first, std::function<void()>()), argument, "empty");
    MessagePortOptions options;
    options.owner = 0;
    CHECK_ERROR(MessagePort::local(first, [] {}, options), argument, "owner");
    options.owner.reset();
    options.users = {1, 2};
    CHECK_ERROR(MessagePort::remote(second, options), argument, "users");
    CHECK_EQUAL(MessagePort::local(first, [] {}, options).name(), first);
    CHECK_ERROR(MessagePort().send(1, ""), argument, "port");
}

TEST(a_paused_port_keeps_its_messages, "MSG-4 MSG-6") {
    const std::string name = new_name();
    const Loop loop = Loop::current();
    int count = 0;
    const MessagePort local = MessagePort::local(name, [&] { count++; });
    loop.add(local);
    const MessagePort remote = MessagePort::remote(name);
    remote.send(1, "x");
    local.pause();
    loop.poll();
    CHECK_EQUAL(count, 0);
    local.resume();
    loop.poll();
    CHECK_EQUAL(count, 1);
}

enum class Colour : std::uint8_t { red = 3, green };
struct Point {
    double x, y;
};
extern "C" {
static std::int32_t add(std::int32_t a, std::int32_t b) noexcept { return a + b; }
static double mixed(bool yes, Colour colour, float f, const char *text) noexcept {
    return (yes ? 1 : 0) + static_cast<int>(colour) + double(f) + (text ? double(std::strlen(text)) : -100);
}
static Point mirrored(Point point) noexcept { return {point.y, point.x}; }
static void reverse(char *bytes, std::uint64_t size) noexcept {
    for (std::uint64_t i = 0; i < size / 2; i++) std::swap(bytes[i], bytes[size - 1 - i]);
}
static std::atomic<int> noted{0};
static void note(std::int32_t number) noexcept { noted = number; }
}
static MessagePortOptions exporting() {
    MessagePortOptions options;
    options.functions = {{"add", add}, {"mixed", mixed}, {"note", note},
                         {"mirrored", "{Point=dd}{Point=dd}", reinterpret_cast<void (*)()>(mirrored)},
                         {"reverse", "vN^cQ", reinterpret_cast<void (*)()>(reverse)}};
    return options;
}

TEST(functions_of_the_other_side_are_called, "MSG-11") {
    const std::string name = new_name();
    int ready[2];
    CHECK(pipe(ready) == 0);
    const pid_t child = fork(); // before anything of Treadle's
    if (child == 0) {
        alarm(watchdog_seconds());
        const MessagePort local = MessagePort::local(name, [] { Loop::current().stop(); }, exporting());
        Loop::current().add(local);
        if (write(ready[1], "r", 1) != 1) _exit(1);
        Loop::current().run();
        _exit(noted);
    }
    char byte = 0;
    CHECK(read(ready[0], &byte, 1) == 1);
    const MessagePort remote = MessagePort::remote(name);
    CHECK_EQUAL(remote.call<std::int32_t(std::int32_t, std::int32_t)>("add", replies, 40, 2), 42);
    CHECK_EQUAL(remote.call<decltype(add)>("add", replies, -1, 1), 0);
    CHECK_EQUAL(remote.call<decltype(mixed)>("mixed", replies, true, Colour::green, 0.5, "four"), 1 + 4 + 0.5 + 4);
    CHECK_EQUAL(remote.call<decltype(mixed)>("mixed", replies, false, Colour::red, 0.f, nullptr), 3 - 100);
    remote.call_for<decltype(note)>(10min, "note", replies, 7);

    Point point = {1.5, -2}, result = {};
    remote.call_encoded("mirrored", "{Point=dd}{Point=dd}", {{&point, sizeof point}}, &result, sizeof result, replies);
    CHECK(result.x == -2 && result.y == 1.5);
    std::string text = "stressed";
    std::uint64_t size = text.size();
    remote.call_encoded("reverse", "vN^cQ", {{text.data(), text.size()}, {&size, sizeof size}}, nullptr, 0, replies, 10min);
    CHECK_EQUAL(text, "desserts");

    CHECK_ERROR(remote.call<int(int)>("subtract", replies, 1), not_found, "name");
    CHECK_ERROR(remote.call<long(long)>("add", replies, 1), signature, "signature");
    CHECK_ERROR(remote.call<int(int)>(std::string("a\0b", 3), replies, 1), argument, "NUL");
    CHECK_ERROR(remote.call<int(int)>("", replies, 1), range, "name");
    CHECK_ERROR(remote.call<decltype(note)>("note", Mode::common(), 1), argument, "common");
    CHECK_ERROR(remote.call_encoded("reverse", "vN^cQ", {}, nullptr, 0, replies), range, "argument_count");
    remote.send(1, "");
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK_ERROR(remote.call<decltype(note)>("note", replies, 1), closed, "port");
}

TEST(functions_that_cannot_be_exported_are_refused, "MSG-11") {
    MessagePortOptions options = exporting();
    CHECK_EQUAL(options.functions[1].name(), "mixed");
    CHECK_EQUAL(options.functions[1].encoding(), "dBCfO*");
    const std::string name = new_name();
    const MessagePort local = MessagePort::local(name, [] {}, options);
    CHECK_ERROR(MessagePort::remote(name, options), argument, "functions");
    const MessagePort remote = MessagePort::remote(name);
    CHECK_ERROR(remote.call_for<decltype(add)>(0s, "add", replies, 1, 2), no_reply, "");
    CHECK_ERROR(local.call<decltype(add)>("add", replies, 1, 2), state, "port");
    const auto code = reinterpret_cast<void (*)()>(add);
    const auto refuse = [&](const ExportedFunction &function) {
        options.functions = {function};
        return MessagePort::local(new_name(), [] {}, options);
    };
    CHECK_ERROR(refuse({"bad", "v^v", code}), signature, "signature");
    CHECK_ERROR(refuse({std::string("a\0b", 3), "v", code}), argument, "NUL");
    CHECK_ERROR(refuse({"null", "v", nullptr}), argument, "functions");
}

TEST(callables_end_once, "OBJ-2 OBJ-3 MSG-7") {
    const std::string name = new_name();
    {
        MessagePortOptions options;
        options.invalidated = [counted = Counted()](const MessagePort &) { (void)counted; };
        options.label = "counted";
        const MessagePort local = MessagePort::local(name, [counted = Counted()] { (void)counted; }, options);
        CHECK_ERROR(MessagePort::local(name, [counted = Counted()] { (void)counted; }, options), exists, "process");
        const MessagePort remote = MessagePort::remote(name, options);
        CHECK_ERROR(MessagePort::remote(new_name(), options), not_found, "served");
        CHECK(local.describe().find("counted") != std::string::npos);
        options.invalidated = nullptr;
        CHECK_EQUAL(Counted::alive.load(), 3);
        Loop::current().add(local);
        local.invalidate();
    }
    CHECK_EQUAL(Counted::alive.load(), 0);
    Scope scope;
    scope.enter();
    const MessagePort local = MessagePort::local(name, [] {});
    scope.leave();
    CHECK(scope.close() == Closing::closed && !local.is_valid());
}
