/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * workers_test.c: ten workers in three processes serve one name as a queue group, one process of which is killed under load:
 * each request gets one reply, or its error, and none is received by two workers.
 *
 * A worker appends a line for each request that it receives to a file that all share; an append is one write. */
#include "server.h"

enum { PROCESSES = 3, ASKERS = 4, REQUESTS = 150, KILLED_AFTER = 40 };
static const int workers_of[PROCESSES] = {4, 3, 3};
static int receipts; /* the file */

static void work(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    char line[64];
    (void)port, (void)info;
    CHECK(message->size < 32);
    int length = snprintf(line, sizeof line, "%.*s\n", (int)message->size, (const char *)message->data);
    CHECK_INT(write(receipts, line, (size_t)length), length);
    CHECK_INT(nats->reply(message->call, message->data, message->size), TREADLE_OK);
}
static void *run_worker(void *argument) {
    int ready = *(int *)argument;
    make_local_in(name_of("work"), work, TREADLE_DEFAULT_MODE);
    CHECK_INT(write(ready, "r", 1), 1);
    treadle_loop_run_default(treadle_loop_current());
    return NULL;
}
/* A process with workers. It lives until it is killed. */
static pid_t start_workers(int count, int ready) {
    pid_t process = fork();
    CHECK(process >= 0);
    if (process > 0) return process;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_t threads[8];
    start_plugin(NULL);
    for (int i = 0; i < count; i++) CHECK_INT(pthread_create(&threads[i], NULL, run_worker, &ready), 0);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    _exit(1);
}

static atomic_int asked, answered, failed;
static pid_t victim;
static void *run_asker(void *argument) {
    treadle_nats_port port = make_remote(name_of("work"));
    struct answer answer;
    char text[32];
    for (int i = 0; i < REQUESTS; i++) {
        if (atomic_fetch_add(&asked, 1) == KILLED_AFTER) CHECK_INT(kill(victim, SIGKILL), 0);
        snprintf(text, sizeof text, "%d.%d", *(int *)argument, i);
        /* What the killed process had got is lost, which NATS does not tell: the time has to pass. */
        treadle_status status = ask(port, 1, text, SECONDS(10), &answer);
        CHECK_INT(answer.count, status == TREADLE_OK);
        if (status == TREADLE_OK) {
            CHECK_TEXT(answer.text, text);
            answered++;
        } else {
            CHECK_INT(status, TREADLE_E_NO_REPLY);
            failed++;
        }
    }
    end(port);
    return NULL;
}

static int compare(const void *left, const void *right) { return strcmp(*(char *const *)left, *(char *const *)right); }
/* How many requests were received; none twice. */
static int check_receipts(void) {
    static char text[1 << 16];
    static char *lines[ASKERS * REQUESTS + 1];
    int count = 0;
    ssize_t size = pread(receipts, text, sizeof text - 1, 0);
    CHECK(size > 0 && (size_t)size < sizeof text - 1);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        CHECK(count < ASKERS * REQUESTS);
        lines[count++] = line;
    }
    qsort(lines, (size_t)count, sizeof *lines, compare);
    for (int i = 1; i < count; i++)
        if (strcmp(lines[i - 1], lines[i]) == 0) check_failed(__FILE__, __LINE__, "the request %s was received twice", lines[i]);
    return count;
}

TEST(each_request_gets_one_reply_or_its_error_when_workers_are_killed, "") {
    int ready[2], numbers[ASKERS];
    char path[] = "/tmp/treadle-nats-XXXXXX", byte;
    pid_t processes[PROCESSES];
    pthread_t askers[ASKERS];
    receipts = mkstemp(path);
    CHECK(receipts >= 0 && unlink(path) == 0);
    CHECK_INT(fcntl(receipts, F_SETFL, O_APPEND), 0);
    start_nats(-1, NULL);
    CHECK(pipe(ready) == 0);
    for (int i = 0; i < PROCESSES; i++) processes[i] = start_workers(workers_of[i], ready[1]);
    for (int i = 0; i < 10; i++) CHECK_INT(read(ready[0], &byte, 1), 1);
    victim = processes[1];

    treadle_plugin plugin = start_plugin(NULL);
    for (int i = 0; i < ASKERS; i++) {
        numbers[i] = i;
        CHECK_INT(pthread_create(&askers[i], NULL, run_asker, &numbers[i]), 0);
    }
    for (int i = 0; i < ASKERS; i++) CHECK_INT(pthread_join(askers[i], NULL), 0);
    int received = check_receipts();
    CHECK_INT(answered + failed, ASKERS * REQUESTS);
    CHECK(received >= answered && received <= ASKERS * REQUESTS);
    /* Those alone that the killed process had got have an error; others served on. */
    CHECK(answered > KILLED_AFTER);
    if (getenv("TREADLE_NATS_COUNTS")) fprintf(stderr, "%d answered, %d with an error, %d received\n", answered, failed, received);
    unload(plugin, PLUGIN);
    for (int i = 0; i < PROCESSES; i++) {
        kill(processes[i], SIGKILL);
        CHECK_INT(waitpid(processes[i], NULL, 0), processes[i]);
    }
    stop_nats();
}

TEST_MAIN()
