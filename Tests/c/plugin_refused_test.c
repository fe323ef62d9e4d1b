/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_refused_test.c: files that are no plugins, descriptions that lie, and bad arguments: each is refused by name, before any
 * code but the query has run, and nothing is left of it. */
#include "plugin_files.h"

/* The first bytes of a plugin, or all. */
static void copy_plugin(const char *name, const char *to, size_t most) {
    read_file(path_of(name));
    if (file_size > most) file_size = most;
    write_file(to);
}

TEST(a_file_that_is_no_plugin_is_refused, "PLUG-1") {
    struct stat file;
    begin_folder();
    CHECK_INT(try_file(in_folder("nothing.so"), 0), TREADLE_E_SYSTEM);
    CHECK_ERROR_SAYS("path names no file: ");
    CHECK_ERROR_SAYS("nothing.so");
    CHECK_INT(try_file(folder, 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("no regular file");
    CHECK_INT(try_file("/dev/null", 0), TREADLE_E_PLUGIN);
    CHECK_INT(try_file("", 0), TREADLE_E_SYSTEM);
    CHECK_INT(try_file(path_of("no_plugin"), 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("treadle_plugin_query");
    CHECK_INT(try_file(path_of("unbound"), 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("nobody_has_this");
    CHECK(!is_mapped("no_plugin"));
    /* Cut at every length that matters to a loader. */
    CHECK_INT(stat(path_of("provider"), &file), 0);
    for (off_t size = 0; size < file.st_size; size += size < 128 ? 8 : file.st_size / 61) {
        unlink(in_folder("cut.so")); /* one that has lost its sections stays mapped */
        copy_plugin("provider", in_folder("cut.so"), (size_t)size);
        treadle_status status = try_file(in_folder("cut.so"), 0);
        if (status != TREADLE_OK) CHECK_INT(status, TREADLE_E_PLUGIN); /* cut behind all that is mapped */
    }
    CHECK_SAID("");
    unlink(in_folder("cut.so"));
    rmdir(folder);
}

TEST(a_file_that_others_may_write_is_refused, "PLUG-1") {
    begin_folder();
    copy_plugin("provider", in_folder("open.so"), SIZE_MAX);
    CHECK_INT(chmod(in_folder("open.so"), 0602), 0);
    CHECK_INT(try_file(in_folder("open.so"), 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("another user");
    CHECK_INT(try_file(in_folder("open.so"), TREADLE_PLUGIN_LOAD_WRITABLE), TREADLE_OK);
    CHECK_INT(chmod(in_folder("open.so"), 0600), 0);
    CHECK_INT(try_file(in_folder("open.so"), 0), TREADLE_OK);
    if (geteuid() == 0) {
        CHECK_INT(chown(in_folder("open.so"), 12345, 12345), 0);
        CHECK_INT(try_file(in_folder("open.so"), 0), TREADLE_E_PLUGIN);
        CHECK_INT(chown(in_folder("open.so"), 0, 12345), 0);
        CHECK_INT(chmod(in_folder("open.so"), 0660), 0);
        CHECK_INT(try_file(in_folder("open.so"), 0), TREADLE_E_PLUGIN);
    }
    unlink(in_folder("open.so"));
    rmdir(folder);
}

TEST(a_file_that_others_may_replace_is_refused, "PLUG-1") {
    char link[] = "/tmp/treadle-link-XXXXXX", path[64];
    begin_folder();
    CHECK(mkdtemp(link));
    copy_plugin("provider", in_folder("plugin.so"), SIZE_MAX);
    snprintf(path, sizeof path, "%s/link.so", link);
    CHECK_INT(symlink(in_folder("plugin.so"), path), 0);
    CHECK_INT(chmod(folder, 0777), 0);
    CHECK_INT(try_file(in_folder("plugin.so"), 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("another user may replace");
    CHECK_INT(try_file(path, 0), TREADLE_E_PLUGIN);
    CHECK_INT(try_file(path, TREADLE_PLUGIN_LOAD_WRITABLE), TREADLE_OK);
    CHECK_INT(chmod(folder, 01777), 0); /* as /tmp */
    CHECK_INT(try_file(path, 0), TREADLE_OK);
    CHECK_INT(chmod(folder, 0755), 0);
    CHECK_INT(try_file(in_folder("plugin.so"), 0), TREADLE_OK);
    CHECK_INT(chmod(link, 0777), 0);
    CHECK_INT(try_file(path, 0), TREADLE_E_PLUGIN);
    CHECK_INT(chmod(link, 0700), 0);
    if (geteuid() == 0) {
        CHECK_INT(chown(folder, 12345, 0), 0);
        CHECK_INT(try_file(in_folder("plugin.so"), 0), TREADLE_E_PLUGIN);
        CHECK_INT(chown(folder, 0, 12345), 0);
        CHECK_INT(chmod(folder, 0775), 0);
        CHECK_INT(try_file(in_folder("plugin.so"), 0), TREADLE_E_PLUGIN);
    }
    unlink(path);
    unlink(in_folder("plugin.so"));
    rmdir(folder);
    rmdir(link);
}

/* In a user namespace that maps nobody, the files of all users look like the process's own. */
TEST(a_file_of_a_user_whom_the_namespace_does_not_map_is_refused, "PLUG-1") {
    enum { CANNOT = 99 };
    begin_folder();
    copy_plugin("provider", in_folder("foreign.so"), SIZE_MAX);
    CHECK_INT(chmod(in_folder("foreign.so"), 0644), 0);
    if (geteuid() == 0) CHECK_INT(chown(in_folder("foreign.so"), 12345, 12345), 0);
    int status = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (unshare(CLONE_NEWUSER) != 0) _exit(CANNOT);
        CHECK(treadle_after_fork_child() >= 0);
        CHECK_INT(try_file(in_folder("foreign.so"), 0), TREADLE_E_PLUGIN);
        CHECK_ERROR_SAYS("another user");
        CHECK_INT(try_file(in_folder("foreign.so"), TREADLE_PLUGIN_LOAD_WRITABLE), TREADLE_OK);
        _exit(0);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) fprintf(stderr, "plugin_refused: skipped: no user namespace here\n");
    else CHECK_INT(status, 0);
    unlink(in_folder("foreign.so"));
    rmdir(folder);
}

TEST(a_description_that_lies_is_refused, "PLUG-1") {
    enum { LIES = 46 };
    char number[8];
    for (int lie = 1; lie <= LIES; lie++) {
        snprintf(number, sizeof number, "%d", lie);
        setenv("LIE", number, 1);
        treadle_status status = try_file(path_of("liar"), 0);
        if (status != TREADLE_E_PLUGIN) check_failed(__FILE__, __LINE__, "lie %d: %d", lie, status);
        CHECK(!is_mapped("liar"));
        if (lie == LIES - 1) CHECK_ERROR_SAYS("minimum is above its maximum");
        if (lie == LIES) CHECK_ERROR_SAYS("unknown type");
    }
    const char *const truths[] = {"0", "47"}; /* as it is: behind the last lie as well */
    for (size_t i = 0; i < 2; i++) {
        setenv("LIE", truths[i], 1);
        CHECK_INT(try_file(path_of("liar"), 0), TREADLE_OK);
    }
    CHECK_SAID("");
}

TEST(an_id_is_used_once, "PLUG-1") {
    treadle_plugin plugin = load("provider");
    begin_folder();
    copy_plugin("provider", in_folder("twin.so"), SIZE_MAX);
    CHECK_INT(try_file(path_of("provider"), 0), TREADLE_E_EXISTS);
    CHECK_ERROR_SAYS("org.example.provider");
    CHECK_INT(try_file(in_folder("twin.so"), 0), TREADLE_E_EXISTS);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(try_file(in_folder("twin.so"), 0), TREADLE_E_EXISTS);
    unload(plugin);
    CHECK_INT(try_file(in_folder("twin.so"), 0), TREADLE_OK);
    unlink(in_folder("twin.so"));
    rmdir(folder);
}

static const treadle_plugin_description *no_description(uint32_t host_abi) { return (void)host_abi, NULL; }
TEST(bad_arguments_are_named, "ABI-4 PLUG-1") {
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_of(path_of("provider"));
    CHECK_INT(treadle_plugin_load(NULL, &plugin), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_load(&config, NULL), TREADLE_E_ARG);
    config.struct_size--;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
    config = config_of(NULL);
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
    config.query = no_description;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_PLUGIN);
    config.path = path_of("provider");
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
    config = config_of(path_of("provider"));
    config.flags = 4;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
    config.flags = 0, config.reserved = 1;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
    config.reserved = 0, config.host_name = "\xff";
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
    CHECK_ERROR_SAYS("host_name");
    config.host_name = "a test", config.host_version = "\xc0\x80";
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
    CHECK_ERROR_SAYS("host_version");
    treadle_scope_config other = TREADLE_INIT(treadle_scope_config);
    treadle_scope scope;
    size_t count;
    treadle_plugin_info info = {.struct_size = sizeof info};
    const void *extension;
    CHECK_INT(treadle_scope_create(&other, &scope), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(scope), TREADLE_E_KIND);
    CHECK_INT(treadle_plugin_start(NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_start((treadle_plugin)treadle_loop_current()), TREADLE_E_KIND);
    CHECK_INT(treadle_plugin_get_info(scope, &info), TREADLE_E_KIND);
    CHECK_INT(treadle_plugin_set(scope, "size", "1"), TREADLE_E_KIND);
    CHECK_INT(treadle_plugin_copy_setting(scope, "size", NULL, 0, &count), TREADLE_E_KIND);
    CHECK_INT(treadle_plugin_get_extension(scope, "example.number/1", &extension), TREADLE_E_KIND);
    config = config_of(path_of("provider"));
    CHECK_INT(treadle_plugin_reload(scope, &config, 0, &plugin), TREADLE_E_KIND);
    plugin = load("provider");
    CHECK_INT(treadle_plugin_get_info(plugin, NULL), TREADLE_E_ARG);
    info.struct_size = 8;
    CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_get_extension(plugin, NULL, &extension), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_get_extension(plugin, "example.number/1", NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_set(plugin, NULL, "1"), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_set(plugin, "size", NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_copy_setting(plugin, "size", NULL, 1, &count), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_copy_setting(plugin, "size", NULL, 0, NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_copy_all(NULL, 1, &count), TREADLE_E_ARG);
    CHECK_INT(treadle_plugin_copy_all(NULL, 0, NULL), TREADLE_E_ARG);
    unload(plugin);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}

static const char *setting(treadle_plugin plugin, const char *key) {
    static char value[64];
    size_t length;
    CHECK_INT(treadle_plugin_copy_setting(plugin, key, value, sizeof value, &length), TREADLE_OK);
    CHECK_INT(length, strlen(value));
    return value;
}
TEST(settings_are_checked_before_the_plugin_sees_them, "PLUG-6") {
    const char *const good[] = {"size", "9", "greeting", "", "loud", "true", "ratio", "1.7976931348623157e308", "ratio", "0e999999999999999999999",
                                "ratio", "-17976931348623157000e289", "ratio", "0.0001e312", "ratio", "9e-400", "ratio", "-.5E+7", NULL};
    const char *const bad[] = {"size", "0", "size", "10", "size", "-1", "size", "1x", "size", "", "size", "99999999999999999999", "loud", "yes",
                               "ratio", "", "ratio", ".", "ratio", "1e", "ratio", "1.2.3", "ratio", "1.7976931348623159e308",
                               "ratio", "-1e309", "ratio", "2e308", "ratio", "1000e306", "ratio", "0.01e311", "ratio", "1e99999999999999999999",
                               "ratio", "nan", "greeting", "\xff", NULL};
    treadle_plugin plugin = load("provider");
    CHECK(strcmp(setting(plugin, "size"), "3") == 0 && strcmp(setting(plugin, "greeting"), "hello") == 0);
    CHECK_INT(treadle_plugin_set(plugin, "volume", "3"), TREADLE_E_NOT_FOUND);
    CHECK_ERROR_SAYS("volume");
    for (int i = 0; bad[i]; i += 2) {
        CHECK_INT(treadle_plugin_set(plugin, bad[i], bad[i + 1]), TREADLE_E_ARG);
        CHECK_ERROR_SAYS(bad[i]);
    }
    for (int i = 0; good[i]; i += 2) {
        CHECK_INT(treadle_plugin_set(plugin, good[i], good[i + 1]), TREADLE_OK);
        CHECK(strcmp(setting(plugin, good[i]), good[i + 1]) == 0);
    }
    CHECK_SAID("");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "size", "5"), TREADLE_OK);
    CHECK_SAID("provider.init provider.start provider.set");
    on_step = NULL;
    unload(plugin);
    said[0] = 0;
    treadle_plugin_config config = config_of(path_of("provider"));
    config.settings = good;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK(strcmp(setting(plugin, "size"), "9") == 0);
    unload(plugin);
    const char *const unknown[] = {"volume", "1", NULL}, *const without[] = {"size", NULL};
    config.settings = unknown;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_NOT_FOUND);
    config.settings = without;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
    for (int i = 0; bad[i]; i += 2) {
        const char *const one[] = {bad[i], bad[i + 1], NULL};
        config.settings = one;
        CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG);
        CHECK_ERROR_SAYS(bad[i]);
    }
    CHECK(!is_mapped("provider"));
}

static treadle_status refuse_to_set(const treadle_plugin_host *host, const char *who, const char *what) {
    (void)who;
    char value[8];
    size_t length;
    if (strcmp(what, "set")) return TREADLE_OK;
    /* It still is what it was. */
    CHECK_INT(host->copy_setting(host, "size", value, sizeof value, &length), TREADLE_OK);
    CHECK(strcmp(value, "3") == 0);
    CHECK_INT(host->copy_setting(host, "none", value, sizeof value, &length), TREADLE_E_NOT_FOUND);
    return TREADLE_E_RANGE;
}
TEST(a_plugin_may_refuse_a_setting, "PLUG-6") {
    on_step = refuse_to_set;
    treadle_plugin plugin = load_and_start("provider");
    CHECK_INT(treadle_plugin_set(plugin, "size", "4"), TREADLE_E_RANGE);
    CHECK_ERROR_SAYS("org.example.provider: size");
    CHECK(strcmp(setting(plugin, "size"), "3") == 0);
    unload(plugin);
}

TEST(a_reload_hands_the_state_over, "PLUG-7") {
    treadle_plugin first = load("provider"), second = NULL;
    begin_folder();
    copy_plugin("provider", in_folder("new.so"), SIZE_MAX);
    treadle_plugin_config config = config_of(in_folder("new.so"));
    CHECK_INT(treadle_plugin_start(first), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(first, "greeting", "kept"), TREADLE_OK);
    said[0] = 0;
    CHECK_INT(treadle_plugin_reload(first, &config, TREADLE_FOREVER, &second), TREADLE_OK);
    CHECK_SAID("?.stop ?.save ?.deinit provider.init provider.kept provider.start");
    CHECK(!treadle_is_valid(first) && !is_mapped("provider"));
    CHECK_INT(treadle_release(first), TREADLE_OK);
    /* Another one; and one while it is used. */
    config = config_of(path_of("user"));
    CHECK_INT(treadle_plugin_reload(second, &config, TREADLE_FOREVER, &first), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("org.example.user");
    treadle_plugin user = load_and_start("user");
    said[0] = 0;
    config = config_of(path_of("provider"));
    CHECK_INT(treadle_plugin_reload(second, &config, 0, &first), TREADLE_E_TIMEOUT);
    CHECK(treadle_is_valid(second) && !is_mapped("provider"));
    CHECK_SAID("");
    unload(user);
    /* That has left nothing: the next one hands the state over. */
    said[0] = 0;
    CHECK_INT(treadle_plugin_reload(second, &config, TREADLE_FOREVER, &first), TREADLE_OK);
    CHECK_SAID("?.stop ?.save ?.deinit provider.init provider.kept provider.start");
    CHECK_INT(treadle_release(second), TREADLE_OK);
    unload(first);
    CHECK_INT(treadle_plugin_reload(first, &config, 0, &second), TREADLE_E_STALE);
    unlink(in_folder("new.so"));
    rmdir(folder);
}

TEST(each_of_many_reloads_takes_the_file_of_its_time, "PLUG-7") {
    static const char *const files[] = {"provider", "version_two"};
    char path[128], other[128];
    begin_folder();
    snprintf(path, sizeof path, "%s", in_folder("plugin.so"));
    snprintf(other, sizeof other, "%s", in_folder("other.so"));
    copy_plugin("provider", path, SIZE_MAX);
    treadle_plugin plugin, next = NULL;
    treadle_plugin_config config = config_of(path);
    treadle_plugin_info info = {.struct_size = sizeof info};
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    for (int i = 1; i < 9; i++) {
        copy_plugin(files[i % 2], other, SIZE_MAX);
        CHECK_INT(rename(other, path), 0);
        CHECK_INT(treadle_plugin_reload(plugin, &config, TREADLE_FOREVER, &next), TREADLE_OK);
        CHECK_INT(treadle_plugin_get_info(next, &info), TREADLE_OK);
        CHECK(strcmp(info.description->version, i % 2 ? "2" : "1") == 0);
        CHECK_INT(treadle_release(plugin), TREADLE_OK);
        plugin = next;
    }
    unload(plugin);
    unlink(path);
    rmdir(folder);
}

TEST(a_file_that_is_replaced_is_loaded_anew_and_one_that_is_written_over_refused, "PLUG-7 PLUG-1") {
    begin_folder();
    char path[128], other[128];
    snprintf(path, sizeof path, "%s", in_folder("plugin.so"));
    snprintf(other, sizeof other, "%s", in_folder("other.so"));
    copy_plugin("stays", path, SIZE_MAX);
    for (int i = 0; i < 3; i++) {
        treadle_plugin plugin = NULL;
        treadle_plugin_config config = config_of(path);
        CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        unload(plugin);
        copy_plugin("stays", other, SIZE_MAX);
        CHECK_INT(rename(other, path), 0);
    }
    CHECK_INT(try_file(path, 0), TREADLE_OK);
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_of(path);
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    unload(plugin);
    struct timespec times[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
    CHECK_INT(utimensat(AT_FDCWD, path, times, 0), 0);
    CHECK_INT(try_file(path, 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("written over");
    unlink(path);
    rmdir(folder);
}

TEST_MAIN()
