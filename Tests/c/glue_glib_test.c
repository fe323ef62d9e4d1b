/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * glue_glib_test.c: run loops and GLib's main contexts, either inside of the other: a program with D-Bus on a bus of its own, a file
 * monitor, and threads that ask both loops.
 * needs: dbus-daemon
 * pkg-config: gio-2.0 gio-unix-2.0 */
#include "glue.h"

#include <gio/gio.h>
#include <sys/prctl.h>
#include <treadle-glib.h>

static GMainLoop *main_loop;
static void quit_theirs(void) { g_main_loop_quit(main_loop); }

/* The threads' calls of GLib. */
static gboolean called(gpointer info) {
    (void)info;
    theirs_called();
    return G_SOURCE_REMOVE;
}
static void call_theirs(void) { g_idle_add_full(G_PRIORITY_DEFAULT, called, NULL, NULL); }

/* GLib's timer, which runs ours inside of its callback. */
static gboolean beat(gpointer info) {
    int *left = info;
    if (*left % 8 == 0) {
        treadle_status status = treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY);
        CHECK(status == TREADLE_RUN_TIMED_OUT || status == TREADLE_RUN_STOPPED);
    }
    if (--*left) return G_SOURCE_CONTINUE;
    part_ends();
    return G_SOURCE_REMOVE;
}

/* A bus, a service that adds, and its client: each call follows the answer to the one before. */
enum { CALLS = 100 };
static GDBusConnection *service, *client;
static pid_t bus;
static char folder[] = "/tmp/treadle-glue-XXXXXX";
static void start_bus(void) {
    char address[200], printed[300];
    int ends[2];
    CHECK(mkdtemp(folder));
    CHECK_INT(pipe2(ends, 0), 0);
    snprintf(address, sizeof address, "--address=unix:path=%s/bus", folder);
    snprintf(printed, sizeof printed, "--print-address=%d", ends[1]);
    if ((bus = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execlp("dbus-daemon", "dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog", address, printed, NULL);
        _exit(127);
    }
    CHECK(bus > 0);
    close(ends[1]);
    ssize_t length = read(ends[0], printed, sizeof printed - 1);
    CHECK(length > 0);
    printed[strcspn(printed, "\n")] = 0;
    close(ends[0]);
    GError *error = NULL;
    for (int i = 0; i < 2; i++) {
        *(i ? &client : &service) = g_dbus_connection_new_for_address_sync(printed,
            G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION, NULL, NULL, &error);
        CHECK(!error);
    }
}
static void end_bus(void) {
    CHECK(g_dbus_connection_close_sync(client, NULL, NULL) && g_dbus_connection_close_sync(service, NULL, NULL));
    kill(bus, SIGTERM);
    CHECK_INT(waitpid(bus, NULL, 0), bus);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
}
static void serve(GDBusConnection *connection, const gchar *sender, const gchar *path, const gchar *interface, const gchar *method,
                  GVariant *parameters, GDBusMethodInvocation *invocation, gpointer info) {
    gint32 one, two;
    (void)connection, (void)sender, (void)path, (void)interface, (void)method, (void)info;
    CHECK_INT(thread_id(), program.thread);
    g_variant_get(parameters, "(ii)", &one, &two);
    g_dbus_method_invocation_return_value(invocation, g_variant_new("(i)", one + two));
}
static void ask(gint32 number, GAsyncReadyCallback answered) {
    g_dbus_connection_call(client, g_dbus_connection_get_unique_name(service), "/sum", "org.treadle.Sum", "Add",
                           g_variant_new("(ii)", number, number), G_VARIANT_TYPE("(i)"), G_DBUS_CALL_FLAGS_NONE, 60000, NULL, answered,
                           GINT_TO_POINTER(number));
}
static void answered(GObject *object, GAsyncResult *result, gpointer info) {
    GError *error = NULL;
    GVariant *answer = g_dbus_connection_call_finish(client, result, &error);
    gint32 sum, number = GPOINTER_TO_INT(info);
    (void)object;
    if (error) check_failed(__FILE__, __LINE__, "%s", error->message);
    g_variant_get(answer, "(i)", &sum);
    g_variant_unref(answer);
    CHECK_INT(sum, 2 * number);
    if (number == CALLS) part_ends();
    else ask(number + 1, answered);
}
static void register_service(void) {
    static const GDBusInterfaceVTable table = {.method_call = serve};
    GDBusNodeInfo *node = g_dbus_node_info_new_for_xml("<node><interface name='org.treadle.Sum'><method name='Add'>"
        "<arg type='i' name='one' direction='in'/><arg type='i' name='two' direction='in'/><arg type='i' name='sum' direction='out'/>"
        "</method></interface></node>", NULL);
    CHECK(g_dbus_connection_register_object(service, "/sum", node->interfaces[0], &table, NULL, NULL, NULL));
    g_dbus_node_info_unref(node);
}

/* A folder is watched: our posts make its files, each when the one before was seen. */
enum { FILES = 10 };
static int seen;
static void make_file(void *info) {
    char name[100];
    (void)info;
    snprintf(name, sizeof name, "%s/file%d", folder, seen);
    FILE *file = fopen(name, "w");
    CHECK(file && fclose(file) == 0);
}
static void changed(GFileMonitor *monitor, GFile *file, GFile *other, GFileMonitorEvent event, gpointer info) {
    (void)monitor, (void)file, (void)other, (void)info;
    if (event != G_FILE_MONITOR_EVENT_CREATED || seen == FILES) return;
    if (++seen == FILES) part_ends();
    else CHECK_INT(treadle_loop_post(program.loop, make_file, NULL), TREADLE_OK);
}

static GFileMonitor *monitor;
static int beats_left;
static void begin_theirs(void) {
    GFile *file = g_file_new_for_path(folder);
    monitor = g_file_monitor_directory(file, G_FILE_MONITOR_NONE, NULL, NULL);
    CHECK(monitor);
    g_file_monitor_set_rate_limit(monitor, 0);
    g_signal_connect(monitor, "changed", G_CALLBACK(changed), NULL);
    g_object_unref(file);
    seen = 0, beats_left = 40;
    part_begins(), part_begins(), part_begins();
    CHECK_INT(treadle_loop_post(program.loop, make_file, NULL), TREADLE_OK);
    g_timeout_add(1, beat, &beats_left);
    ask(1, answered);
}
static void end_theirs(void) {
    g_file_monitor_cancel(monitor);
    g_object_unref(monitor);
    while (g_main_context_iteration(NULL, FALSE)) {}
}

/* A source of GLib's that counts how often it is asked. */
static int prepared;
static gboolean count_prepare(GSource *source, gint *timeout) {
    (void)source;
    *timeout = -1;
    prepared++;
    return FALSE;
}
static GSource *attach_counter(void) {
    static GSourceFuncs functions = {.prepare = count_prepare};
    GSource *source = g_source_new(&functions, sizeof(GSource));
    g_source_attach(source, NULL);
    prepared = 0;
    return source;
}
static bool quits_ours;
static gboolean quit_once(gpointer info) {
    (void)info;
    if (quits_ours) stop_ours();
    else quit_theirs();
    return G_SOURCE_REMOVE;
}

TEST(ours_inside_of_glib, "ABI-9") {
    GSource *source;
    main_loop = g_main_loop_new(NULL, FALSE);
    start_bus();
    register_service();
    CHECK_INT(treadle_glib_source_new(treadle_loop_current(), TREADLE_DEFAULT_MODE, &source), TREADLE_OK);
    g_source_attach(source, NULL);
    begin_program(quit_theirs, call_theirs);
    begin_theirs();
    g_main_loop_run(main_loop);
    end_program();
    end_theirs();
    /* Idle: GLib sleeps, and ours is not asked. What it lacks is counted, not how long it takes. */
    GSource *counter = attach_counter();
    uint64_t passes = count_passes();
    g_timeout_add(200, quit_once, NULL);
    g_main_loop_run(main_loop);
    CHECK(count_passes() - passes <= IDLE_TURNS);
    CHECK(prepared <= IDLE_TURNS);
    g_source_destroy(counter), g_source_unref(counter);
    /* Theirs has quit: ours is as it was, and what comes is not lost. */
    atomic_store(&program.posted, -1000);
    CHECK_INT(treadle_loop_post(program.loop, posted, NULL), TREADLE_OK);
    CHECK(!g_source_is_destroyed(source) && g_main_context_iteration(NULL, FALSE));
    CHECK_INT(atomic_load(&program.posted), -999);
    int before = count_descriptors();
    g_source_destroy(source), g_source_unref(source);
    CHECK_INT(count_descriptors(), before - 1);
    end_bus();
    g_main_loop_unref(main_loop);
}

TEST(glib_inside_of_ours, "ABI-9") {
    treadle_foreign *foreign;
    start_bus();
    register_service();
    program.loop = treadle_loop_current();
    CHECK_INT(treadle_glib_add(program.loop, TREADLE_DEFAULT_MODE, NULL, &foreign), TREADLE_OK);
    begin_program(stop_ours, call_theirs);
    begin_theirs();
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_STOPPED);
    end_program();
    end_theirs();
    GSource *counter = attach_counter();
    uint64_t passes = count_passes();
    CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(200), 0), TREADLE_RUN_TIMED_OUT);
    CHECK(count_passes() - passes <= IDLE_TURNS);
    CHECK(prepared > 0 && prepared <= 2 * IDLE_TURNS);
    g_source_destroy(counter), g_source_unref(counter);
    treadle_foreign_remove(foreign);
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_FINISHED); /* nothing of it is left */
    CHECK(g_main_context_acquire(NULL)); /* and the context is free again */
    g_main_context_release(NULL);
    end_bus();
}

/* A number that was closed is used again at once, and the old file is kept open by a copy, which is ready in one round. */
static int pipes[2][2], reads;
static gboolean read_pipe(gint fd, GIOCondition condition, gpointer info) {
    char letter;
    (void)condition, (void)info;
    CHECK_INT(read(fd, &letter, 1), 1);
    return ++reads, G_SOURCE_REMOVE;
}
TEST(a_number_that_is_used_again_is_watched_anew, "ABI-9 SRC1-11") {
    treadle_foreign *foreign;
    program.loop = treadle_loop_current();
    CHECK_INT(treadle_glib_add(program.loop, TREADLE_DEFAULT_MODE, NULL, &foreign), TREADLE_OK);
    for (int round = 0; round < 3; round++) {
        CHECK_INT(pipe(pipes[0]), 0);
        guint id = g_unix_fd_add(pipes[0][0], G_IO_IN, read_pipe, NULL);
        CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(1), 0), TREADLE_RUN_TIMED_OUT);
        if (round != 2) g_source_remove(id);
        int copy = dup(pipes[0][0]), number = pipes[0][0];
        if (round % 2) CHECK_INT(write(pipes[0][1], "a", 1), 1);
        CHECK_INT(pipe(pipes[1]), 0);
        CHECK_INT(dup2(pipes[1][0], number), number);
        if (round != 2) g_unix_fd_add(number, G_IO_IN, read_pipe, NULL); /* else the source is not asked */
        uint64_t passes = count_passes();
        CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(50), 0), TREADLE_RUN_TIMED_OUT);
        CHECK(count_passes() - passes <= IDLE_TURNS);
        CHECK_INT(write(pipes[1][1], "b", 1), 1);
        CHECK_INT(reads, round);
        while (reads == round)
            CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, SECONDS(60), TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
        close(copy), close(number), close(pipes[0][1]), close(pipes[1][0]), close(pipes[1][1]);
    }
    treadle_foreign_remove(foreign);
}

/* A loop of ours that has something to do in every pass serves GLib's timers and idle sources, too. */
static void again(treadle_source source, void *info) {
    (void)info;
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
static gboolean idle(gpointer info) {
    if (--*(int *)info == 0) g_timeout_add(1, quit_once, NULL);
    return *(int *)info ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}
TEST(a_loop_that_never_sleeps_turns_glib, "ABI-9 PASS-7") {
    treadle_foreign *foreign;
    treadle_source source;
    int left = 20;
    program.loop = treadle_loop_current();
    CHECK_INT(treadle_glib_add(program.loop, TREADLE_DEFAULT_MODE, NULL, &foreign), TREADLE_OK);
    CHECK_INT(treadle_source_start(again, NULL, &source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    g_idle_add(idle, &left);
    quits_ours = true;
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_STOPPED);
    CHECK_INT(left, 0);
    discard(source);
    treadle_foreign_remove(foreign);
}

/* Two sources for one loop; and a context that nobody turns for long. */
static void count_post(void *info) { ++*(int *)info; }
TEST(two_that_dispatch_and_one_that_never_does, "ABI-9 BLK-2") {
    GSource *sources[2];
    int count = 0;
    program.loop = treadle_loop_current();
    for (int i = 0; i < 2; i++) {
        CHECK_INT(treadle_glib_source_new(program.loop, TREADLE_DEFAULT_MODE, &sources[i]), TREADLE_OK);
        g_source_attach(sources[i], NULL);
    }
    for (int i = 0; i < 20000; i++) CHECK_INT(treadle_loop_post(program.loop, count_post, &count), TREADLE_OK);
    while (count < 20000) g_main_context_iteration(NULL, TRUE);
    g_source_destroy(sources[0]), g_source_unref(sources[0]);
    CHECK_INT(treadle_loop_post(program.loop, count_post, &count), TREADLE_OK);
    while (count < 20001) g_main_context_iteration(NULL, TRUE);
    g_source_destroy(sources[1]), g_source_unref(sources[1]);
}

/* What is told of a pass that does not end as usual. */
static treadle_status told;
static bool goes_on;
static bool note_end(treadle_status status, void *info) {
    CHECK(info == &told);
    told = status;
    return goes_on;
}
static void stop_at_once(void *info) {
    (void)info;
    CHECK_INT(treadle_loop_stop(program.loop), TREADLE_OK);
}
static void *iterate_elsewhere(void *info) {
    while (!g_source_is_destroyed(info)) g_main_context_iteration(NULL, TRUE);
    return NULL;
}
TEST(ends_are_told, "ABI-9 STOP-2") {
    GSource *source;
    pthread_t thread;
    int before = 0;
    program.loop = treadle_loop_current();
    for (int round = 0; round < 3; round++) {
        if (round == 1) before = count_descriptors();
        CHECK_INT(treadle_glib_source_new(program.loop, TREADLE_DEFAULT_MODE, &source), TREADLE_OK);
        g_source_set_callback(source, (GSourceFunc)(void (*)(void))note_end, &told, NULL);
        g_source_attach(source, NULL);
        for (goes_on = true; !g_source_is_destroyed(source); goes_on = false) {
            told = 0;
            CHECK_INT(treadle_loop_post(program.loop, stop_at_once, NULL), TREADLE_OK);
            if (!goes_on && round == 1) { /* iterated where it must not be */
                CHECK_INT(pthread_create(&thread, NULL, iterate_elsewhere, source), 0);
                CHECK_INT(pthread_join(thread, NULL), 0);
                CHECK_INT(told, TREADLE_E_WRONG_THREAD);
            } else if (!goes_on && round == 2) { /* somebody has closed its descriptor */
                close(((treadle_glib_inner_ *)source)->fd);
                while (!told) g_main_context_iteration(NULL, TRUE);
                CHECK_INT(told, TREADLE_E_SYSTEM);
            } else {
                while (!told) g_main_context_iteration(NULL, TRUE);
                CHECK_INT(told, TREADLE_RUN_STOPPED);
            }
        }
        g_source_unref(source);
    }
    while (g_main_context_iteration(NULL, FALSE)) {}
    CHECK_INT(count_descriptors(), before);
    CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_STOPPED); /* the post of the last round */
}

TEST(glib_refuses_what_it_must, "ABI-9") {
    GSource *source = (GSource *)&told;
    treadle_foreign *foreign = (treadle_foreign *)&told;
    program.loop = treadle_loop_current();
    CHECK_ERROR(treadle_glib_source_new(program.loop, TREADLE_COMMON_MODES, &source), TREADLE_E_ARG, "mode");
    CHECK(!source);
    int taken = take_all_references(program.loop);
    CHECK_ERROR(treadle_glib_source_new(program.loop, TREADLE_DEFAULT_MODE, &source), TREADLE_E_RANGE, "references");
    CHECK(!source);
    return_references(program.loop, taken);
    CHECK_ERROR(treadle_glib_add(program.loop, NULL, NULL, &foreign), TREADLE_E_ARG, "mode");
    CHECK(!foreign);
    CHECK_ERROR(treadle_glib_add(NULL, TREADLE_DEFAULT_MODE, NULL, &foreign), TREADLE_E_ARG, "object");
    CHECK(!foreign && g_main_context_acquire(NULL));
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_FINISHED);
}

TEST_MAIN()
