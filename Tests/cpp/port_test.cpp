// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// port_test.cpp: ports in a process and the messages that they receive.
#include "check.hpp"

#include <fcntl.h>

using namespace treadle;

TEST(messages_arrive_whole_and_in_their_order, "PORT-6 MPORT-2 MPORT-3") {
    const Loop loop = Loop::current();
    std::vector<std::string> got;
    const Port port([&](const Port &self, const Message &message) {
        CHECK(message.port() == self && self.is_valid());
        got.push_back(std::to_string(message.id()) + std::string(message.bytes()));
        if (!message.reply_port()) CHECK_EQUAL(message.size(), message.bytes().empty() ? 0u : 1u);
    });
    CHECK(loop.add(port) && loop.contains(port) && !loop.add(port));
    CHECK_EQUAL(port.capacity(), 1024u);
    std::string text = "one";
    port.send_bytes(1, text);
    text = "lost";
    port.send_bytes(4294967295u, {});
    port.send(3, {"three", std::string(5000, 'x'), std::string_view("")}, port);
    CHECK_EQUAL(port.count(), 3u);
    CHECK_EQUAL(loop.run({}, RunOptions::return_after_source), RunResult::handled_source);
    CHECK((got == std::vector<std::string>{"1one"}));
    CHECK_EQUAL(port.count(), 2u);
    loop.poll(), loop.poll();
    CHECK((got == std::vector<std::string>{"1one", "4294967295", "3three"}));
    port.invalidate();
    CHECK(!loop.contains(port));
}

TEST(components_are_bytes_ports_and_descriptors, "MPORT-2 MPORT-3") {
    const Loop loop = Loop::current();
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    const std::uint64_t number = 42;
    Message kept;
    const Port other([] {});
    const Port port([&](const Message &message) { kept = message; }, 5, "mail");
    CHECK_EQUAL(port.capacity(), 5u);
    CHECK(port.describe().find("mail") != std::string::npos);
    loop.add(port);
    port.send(0, {Component(&number, sizeof number), other, Component::descriptor(ends[1])}, port);
    close(ends[1]);
    loop.poll();
    CHECK_EQUAL(kept.size(), 3u);
    CHECK(kept.reply_port() == port);
    const ReceivedComponent first = kept.component(0), second = kept.component(1), third = kept.component(2);
    CHECK(first.kind == ComponentKind::bytes && first.bytes.size() == sizeof number && !first.port && first.descriptor == -1);
    CHECK(std::memcmp(first.bytes.data(), &number, sizeof number) == 0);
    CHECK(second.kind == ComponentKind::port && second.port == other && second.bytes.empty());
    CHECK(third.kind == ComponentKind::descriptor && third.descriptor >= 0);
    CHECK_ERROR(kept.component(3), range, "index");
    CHECK_ERROR(kept.take_descriptor(0), not_found, "index");
    const int taken = kept.take_descriptor(2);
    CHECK_EQUAL(taken, third.descriptor);
    CHECK_EQUAL(kept.component(2).descriptor, -1);
    CHECK_ERROR(kept.take_descriptor(2), not_found, "index");
    kept.reset();
    char letter = 0;
    CHECK(write(taken, "w", 1) == 1 && read(ends[0], &letter, 1) == 1 && letter == 'w');
    close(taken);
    CHECK_EQUAL(read(ends[0], &letter, 1), 0); // nobody else has a copy
    close(ends[0]);
    CHECK_ERROR(kept.id(), argument, "message");
    port.invalidate();
}

TEST(a_worker_answers_whoever_asks, "MPORT-1 PORT-4 PORT-5") {
    const Loop loop = Loop::current();
    std::vector<std::string> answers;
    const Port answer([&](const Message &message) {
        answers.emplace_back(message.bytes());
        if (answers.size() == 20) loop.stop();
    });
    const Port question([](const Message &message) {
        const std::string text = "re: " + std::string(message.bytes());
        message.reply_port().send_bytes(message.id(), text);
    });
    const Thread worker = Thread::worker();
    worker.start_and_wait();
    worker.loop().add(question);
    loop.add(answer);
    for (std::uint32_t number = 0; number < 20; number++) question.send(number, {std::to_string(number)}, answer);
    CHECK_EQUAL(loop.run(), RunResult::stopped);
    for (std::size_t number = 0; number < 20; number++) CHECK_EQUAL(answers[number], "re: " + std::to_string(number));
    question.close();
    answer.close();
    worker.stop_and_join();
}

TEST(what_cannot_be_sent_is_refused, "OBJ-2 MPORT-2 PORT-2") {
    const Loop loop = Loop::current();
    CHECK_ERROR(Port(std::function<void()>()), argument, "empty");
    CHECK_ERROR(Port([] {}, 1u << 24), range, "capacity");
    const Port port([] {}, 1);
    CHECK_ERROR(port.send(1, {Component::descriptor(-1)}), argument, "descriptor");
    CHECK_ERROR(port.send(1, {Component(nullptr, 3)}), argument, "bytes");
    CHECK_ERROR(port.send(1, {Port()}), argument, "port");
    CHECK_ERROR(Port().send_bytes(1, ""), argument, "port");
    CHECK_EQUAL(port.count(), 0u);
    loop.add(port);
    port.send_bytes(1, "first");
    CHECK(!port.send_bytes_for(0s, 2, "second") && !port.send_for(-1s, 2, {}));
    CHECK_ERROR(port.send_bytes(2, "second"), deadlock, "only the calling thread");
    std::optional<Status> refused;
    const Port unread([] {}, 1);
    unread.send_bytes(1, {});
    std::thread thread([&] {
        try {
            unread.send_bytes(2, {});
        } catch (const Error &error) { refused = error.status(); }
    });
    unread.invalidate();
    thread.join();
    CHECK(refused == Status::closed);
    loop.poll(); // there is room again
    CHECK_ERROR(port.send_for(0s, 1, {}, Port::adopt(treadle_port(8))), stale, "reply_port");
    port.invalidate();
    CHECK_ERROR(port.send(1, {}), closed, "invalid");
}

TEST(the_end_of_a_port_is_told, "PORT-2 NOTE-1 OBJ-5") {
    int all = 0, one = 0;
    const Port port([] {});
    const Notification of_all = Notification::port_invalid([&] { all++; });
    Notification of_one = Notification::port_invalid(port, [&](const Port &ended) {
        CHECK(ended == port && !ended.is_valid());
        one++;
    });
    {
        const Scoped<Port> other([] {}, 3u);
        Loop::current().add(other);
    }
    CHECK(all == 1 && one == 0);
    port.invalidate();
    port.invalidate();
    CHECK(all == 2 && one == 1);
    { const Port last([] {}); }
    CHECK_EQUAL(all, 3);
    CHECK_ERROR(Notification::port_invalid(Port(), [] {}), argument, "port");
}

TEST(callables_and_messages_end_once, "OBJ-2 OBJ-3 PORT-2") {
    {
        const Loop loop = Loop::current();
        const Port port([counted = Counted()](const Message &) { (void)counted; });
        loop.add(port);
        port.send(1, {port}, port);
        CHECK_EQUAL(Counted::alive.load(), 1);
        CHECK(loop.items().size() == 1 && loop.items()[0].kind() == ItemKind::port);
        port.invalidate(); // its queue refers to it
        CHECK_EQUAL(port.count(), 0u);
    }
    CHECK_EQUAL(Counted::alive.load(), 0);
    Scope scope;
    scope.enter();
    const Port port([] {});
    scope.leave();
    CHECK(scope.holders().size() == 1 && scope.holders()[0].kind == HolderKind::port);
    CHECK(scope.close() == Closing::closed && !port.is_valid());
}

static Port received_on;
static std::string received;
extern "C" {
static void receive(treadle_port port, std::uint32_t id, treadle_message message) {
    CHECK(port == received_on.native());
    received += std::to_string(id) + std::string(Message::retaining(message).bytes());
}
}

TEST(a_routine_receives, "PORT-6 MPORT-3") {
    const Loop loop = Loop::current();
    received_on = Port(Routine(receive, From::subject, From::value, From::argument));
    loop.add(received_on);
    received_on.send_bytes(9, "text");
    loop.poll();
    CHECK_EQUAL(received, "9text");
    received_on.invalidate();
}
