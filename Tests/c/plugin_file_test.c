/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_file_test.c: the file that is checked is the file that is loaded, with all on the way to it and all that it brings along; and
 * a file that has lost bytes is refused before the loader reads it. */
#include "plugin_files.h"

#include <elf.h>
#include <link.h>

/* --- The way to the file -------------------------------------------------------------------------- */

static atomic_bool is_enough;
static char one[256], other[256];
static void *swap(void *info) {
    while (!is_enough) {
        if (renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) != 0) is_enough = true;
        sched_yield();
    }
    return info;
}
/* Exchanges two files until the test ends. */
static pthread_t begin_swapping(const char *first, const char *second) {
    pthread_t swapper;
    snprintf(one, sizeof one, "%s", first);
    snprintf(other, sizeof other, "%s", second);
    is_enough = false;
    CHECK_INT(pthread_create(&swapper, NULL, swap, NULL), 0);
    return swapper;
}

TEST(a_file_that_is_swapped_while_it_is_loaded_is_the_one_that_was_checked, "PLUG-1 PLUG-8") {
    int loaded = 0;
    begin_folder();
    copy_file("provider", in_folder("plugin.so"));
    copy_file("version_two", in_folder("open.so"));
    CHECK_INT(chmod(in_folder("open.so"), 0666), 0);
    pthread_t swapper = begin_swapping(in_folder("plugin.so"), in_folder("open.so"));
    for (int i = 0; loaded < 300 && i < 100000; i++) {
        treadle_plugin plugin;
        treadle_plugin_config config = config_of(one);
        treadle_plugin_info info = {.struct_size = sizeof info};
        treadle_status status = treadle_plugin_load(&config, &plugin);
        if (status != TREADLE_OK) {
            CHECK_INT(status, TREADLE_E_PLUGIN);
            CHECK_ERROR_SAYS("another user may write");
            continue;
        }
        CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_OK);
        CHECK_TEXT(info.description->version, "1");
        loaded++;
        unload(plugin);
    }
    CHECK_INT(loaded, 300);
    is_enough = true;
    CHECK_INT(pthread_join(swapper, NULL), 0);
    end_folder();
}

TEST(a_dollar_in_a_path_is_a_letter, "PLUG-8") {
    static const char *const names[] = {"$ORIGIN", "$LIB", "${PLATFORM}"};
    begin_folder();
    for (int i = 0; i < 3; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        CHECK_INT(mkdir(path, 0700), 0);
        strcat(path, "/plugin.so");
        copy_file("provider", path);
        CHECK_INT(try_file(path, 0), TREADLE_OK);
    }
    end_folder();
}

TEST(each_directory_and_link_of_a_path_is_looked_at, "PLUG-8") {
    char path[256], link[256];
    begin_folder();
    CHECK(mkdir(in_folder("outer"), 0700) == 0 && mkdir(in_folder("outer/inner"), 0700) == 0 && mkdir(in_folder("links"), 0700) == 0);
    snprintf(path, sizeof path, "%s", in_folder("outer/inner/plugin.so"));
    snprintf(link, sizeof link, "%s", in_folder("links/link.so"));
    copy_file("provider", path);
    CHECK_INT(symlink("../outer/inner/./plugin.so", link), 0);
    CHECK_INT(try_file(path, 0), TREADLE_OK);
    CHECK_INT(try_file(link, 0), TREADLE_OK);
    CHECK_INT(try_file(in_folder("links/../outer//inner/plugin.so"), 0), TREADLE_OK);
    /* Whoever may write the outer folder may put another inner one there. */
    CHECK_INT(chmod(in_folder("outer"), 0707), 0);
    CHECK_INT(try_file(path, 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("/outer/");
    CHECK_INT(try_file(link, 0), TREADLE_E_PLUGIN);
    CHECK_INT(try_file(path, TREADLE_PLUGIN_LOAD_WRITABLE), TREADLE_OK);
    CHECK_INT(chmod(in_folder("outer"), 01777), 0);
    CHECK_INT(try_file(path, 0), TREADLE_OK);
    CHECK_INT(chmod(in_folder("outer"), 0700), 0);
    /* Or lead the link elsewhere. */
    CHECK_INT(chmod(in_folder("links"), 0707), 0);
    CHECK_INT(try_file(path, 0), TREADLE_OK);
    CHECK_INT(try_file(link, 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("/links/");
    CHECK_INT(chmod(in_folder("links"), 01777), 0);
    CHECK_INT(try_file(link, 0), TREADLE_OK);
    if (geteuid() == 0) {
        CHECK_INT(lchown(link, 12345, 12345), 0);
        CHECK_INT(try_file(link, 0), TREADLE_E_PLUGIN);
        CHECK_ERROR_SAYS("/links/link.so");
        CHECK_INT(lchown(link, 0, 0), 0);
        CHECK_INT(chown(in_folder("outer"), 12345, 0), 0);
        CHECK_INT(try_file(link, 0), TREADLE_E_PLUGIN);
    }
    end_folder();
}

TEST(paths_of_every_form_lead_to_the_file, "PLUG-8") {
    char here[4096], long_path[4096];
    begin_folder();
    CHECK(getcwd(here, sizeof here));
    copy_file("provider", in_folder("plugin.so"));
    CHECK_INT(chdir(folder), 0);
    CHECK_INT(try_file("plugin.so", 0), TREADLE_OK);
    CHECK_INT(try_file("./././plugin.so", 0), TREADLE_OK);
    CHECK_INT(try_file("plugin.so/", 0), TREADLE_E_SYSTEM);
    CHECK_INT(try_file("plugin.so/..", 0), TREADLE_E_SYSTEM);
    CHECK_INT(try_file(".", 0), TREADLE_E_PLUGIN);
    CHECK_INT(try_file("/", 0), TREADLE_E_PLUGIN);
    CHECK(symlink("round.so", "round.so") == 0 && symlink("nowhere.so", "lost.so") == 0 && symlink("plugin.so", "a.so") == 0);
    CHECK_INT(try_file("round.so", 0), TREADLE_E_SYSTEM);
    CHECK_INT(try_file("lost.so", 0), TREADLE_E_SYSTEM);
    CHECK_INT(try_file("a.so", 0), TREADLE_OK);
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    CHECK_INT(try_file(long_path, 0), TREADLE_E_SYSTEM);
    for (size_t i = 0; i + 1 < sizeof long_path; i += 2) memcpy(long_path + i, "./", 2);
    memcpy(long_path + sizeof long_path - 11, "/plugin.so", 11);
    CHECK(try_file(long_path, 0) != TREADLE_OK);
    CHECK_INT(chdir(here), 0);
    end_folder();
}

/* --- What the loader calls it ---------------------------------------------------------------------- */

struct look {
    const char *name;
    int found;
};
static int look_at(struct dl_phdr_info *info, size_t size, void *memory) {
    struct look *look = memory;
    (void)size;
    if (strcmp(info->dlpi_name, look->name) == 0) look->found++;
    if (strstr(info->dlpi_name, "/fd/")) look->found = -1000;
    return 0;
}
static int images_named(const char *name) {
    struct look look = {name, 0};
    dl_iterate_phdr(look_at, &look);
    return look.found;
}
TEST(debuggers_and_dladdr_know_a_plugin_by_its_path, "PLUG-8") {
    treadle_plugin plugin;
    treadle_plugin_info info = {.struct_size = sizeof info};
    Dl_info about;
    char path[256];
    begin_folder();
    snprintf(path, sizeof path, "%s", in_folder("plugin.so"));
    copy_file("provider", path);
    treadle_plugin_config config = config_of(path);
    for (int i = 0; i < 20; i++) {
        CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_get_info(plugin, &info), TREADLE_OK);
        CHECK(dladdr(info.description, &about));
        CHECK_TEXT(about.dli_fname, path);
        CHECK_INT(images_named(path), 1);
        unload(plugin);
        CHECK_INT(images_named(path), 0);
    }
    end_folder();
}

/* --- What it brings along -------------------------------------------------------------------------- */

/* Writes another search path into the plugin. */
static void search_in(const char *path) {
    static const char own[] = "$ORIGIN/brought:/usr/lib/search-path";
    read_file(path_of("bringer"));
    char *at = memmem(file_bytes, file_size, own, sizeof own);
    CHECK(at && strlen(path) < sizeof own);
    strcpy(at, path);
    write_file(in_folder("bringer.so"));
}
static void bring(void) {
    CHECK_INT(mkdir(in_folder("brought"), 0700), 0);
    copy_file("brought/libbrought", in_folder("brought/libbrought.so"));
    copy_file("brought/libbrought-inner", in_folder("brought/libbrought-inner.so"));
}
TEST(libraries_beside_a_plugin_are_found_and_known_by_their_paths, "PLUG-8 PLUG-5") {
    treadle_plugin plugin;
    char path[256];
    begin_folder();
    bring();
    copy_file("bringer", in_folder("bringer.so"));
    snprintf(path, sizeof path, "%s", in_folder("brought/libbrought.so"));
    treadle_plugin_config config = config_of(in_folder("bringer.so"));
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        CHECK(images_named(path) == 1 && images_named(in_folder("bringer.so")) == 1);
        unload(plugin);
        CHECK(images_named(path) == 0 && images_named(in_folder("bringer.so")) == 0);
    }
    search_in("${ORIGIN}/../../$ORIGIN");
    CHECK(try_file(in_folder("bringer.so"), 0) != TREADLE_OK);
    search_in(in_folder("brought"));
    CHECK_INT(try_file(in_folder("bringer.so"), 0), TREADLE_OK);
    end_folder();
}

TEST(a_search_path_that_others_may_fill_is_refused, "PLUG-8") {
    /* The last but one is not there, and anybody may create it. */
    static const char *const bad[] = {"/tmp", "lib", "", ":/usr/lib", "$LIB", "/usr/$LIB", "/usr/${PLATFORM}", "/tmp/treadle-nobody/lib",
                                      "/usr/lib:/var/tmp"};
    begin_folder();
    bring();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        search_in(bad[i]);
        treadle_status status = try_file(in_folder("bringer.so"), 0);
        if (status != TREADLE_E_PLUGIN) check_failed(__FILE__, __LINE__, "%s: %d", bad[i], status);
        CHECK_ERROR_SAYS("bringer.so: ");
    }
    search_in("/usr/lib/there-is-none");
    CHECK_INT(try_file(in_folder("bringer.so"), 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("libbrought.so");
    copy_file("bringer", in_folder("bringer.so"));
    CHECK_INT(chmod(in_folder("brought"), 0707), 0);
    CHECK_INT(try_file(in_folder("bringer.so"), 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("/brought");
    CHECK_INT(try_file(in_folder("bringer.so"), TREADLE_PLUGIN_LOAD_WRITABLE), TREADLE_OK);
    end_folder();
}

/* --- Functions of Treadle --------------------------------------------------------------------------- */

TEST(a_plugin_that_calls_treadle_not_by_its_table_is_refused_by_name, "PLUG-1 PLUG-3") {
    CHECK_INT(try_file(path_of("bare"), 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("bare.so: treadle_timer_start");
    CHECK_ERROR_SAYS("TREADLE_PLUGIN");
    CHECK_INT(try_file(path_of("bare"), TREADLE_PLUGIN_LOAD_WRITABLE), TREADLE_E_PLUGIN);
    CHECK_INT(try_file(path_of("selfless"), 0), TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS("org.example.selfless");
    CHECK_ERROR_SAYS("TREADLE_PLUGIN");
    CHECK(!is_mapped("bare") && !is_mapped("selfless"));
}

TEST(a_library_that_a_plugin_brings_along_and_calls_treadle_is_refused_by_name, "PLUG-1 PLUG-3") {
    for (int is_absolute = 0; is_absolute < 2; is_absolute++) {
        begin_folder();
        bring();
        copy_file("brought/calling-inner", in_folder("brought/libbrought-inner.so"));
        copy_file("bringer", in_folder("bringer.so"));
        if (is_absolute) search_in(in_folder("brought"));
        CHECK_INT(try_file(in_folder("bringer.so"), 0), TREADLE_E_PLUGIN);
        CHECK_ERROR_SAYS("libbrought-inner.so: treadle_loop_current");
        CHECK_INT(try_file(in_folder("bringer.so"), TREADLE_PLUGIN_LOAD_WRITABLE), TREADLE_E_PLUGIN);
        copy_file("brought/libbrought-inner", in_folder("brought/libbrought-inner.so"));
        CHECK_INT(try_file(in_folder("bringer.so"), 0), TREADLE_OK);
        end_folder();
    }
}

TEST(a_library_that_a_plugin_brings_along_is_checked_as_the_plugin, "PLUG-8") {
    static const char *const names[] = {"brought/libbrought.so", "brought/libbrought-inner.so"};
    for (int is_absolute = 0; is_absolute < 2; is_absolute++) {
        begin_folder();
        bring();
        copy_file("bringer", in_folder("bringer.so"));
        if (is_absolute) search_in(in_folder("brought"));
        for (int i = 0; i < 2; i++) {
            CHECK_INT(chmod(in_folder(names[i]), 0606), 0);
            CHECK_INT(try_file(in_folder("bringer.so"), 0), TREADLE_E_PLUGIN);
            CHECK_ERROR_SAYS(names[i]);
            CHECK_INT(chmod(in_folder(names[i]), 0600), 0);
            read_file(in_folder(names[i]));
            memset(file_bytes + file_size / 3, 0, file_size - file_size / 3);
            write_file(in_folder(names[i]));
            CHECK_INT(try_file(in_folder("bringer.so"), 0), TREADLE_E_PLUGIN);
            CHECK_ERROR_SAYS(names[i]);
            copy_file(i ? "brought/libbrought-inner" : "brought/libbrought", in_folder(names[i]));
            CHECK_INT(try_file(in_folder("bringer.so"), 0), TREADLE_OK);
        }
        end_folder();
    }
}

/* --- Lost bytes ------------------------------------------------------------------------------------ */

/* As a tool leaves it that takes the sections away: then nothing tells where the file's end should be. */
static void take_sections_away(void) {
    Elf64_Ehdr *header = (Elf64_Ehdr *)(void *)file_bytes;
    header->e_shoff = 0, header->e_shnum = 0, header->e_shstrndx = 0;
}
/* Some hundred places, however large a sanitizer makes the file. */
static size_t step(size_t done, size_t size) { return 64 * (1 + done % 3 + size / 32768); }

TEST(a_file_whose_end_is_zeroes_is_refused, "PLUG-8") {
    begin_folder();
    copy_file("provider", in_folder("plugin.so"));
    size_t size = file_size, count = 0;
    for (size_t at = 64; at + 64 <= size; at += step(count++, size)) {
        read_file(path_of("provider"));
        memset(file_bytes + at, 0, size - at);
        write_file(in_folder("plugin.so"));
        treadle_status status = try_file(in_folder("plugin.so"), 0);
        if (status != TREADLE_E_PLUGIN) check_failed(__FILE__, __LINE__, "zeroes from %zu of %zu on: %d", at, size, status);
    }
    CHECK(count > 100);
    CHECK_SAID("");
    end_folder();
}

TEST(a_file_without_sections_whose_end_is_zeroes_does_not_crash_the_loader, "PLUG-8") {
    begin_folder();
    read_file(path_of("provider"));
    take_sections_away();
    write_file(in_folder("plugin.so"));
    CHECK_INT(try_file(in_folder("plugin.so"), 0), TREADLE_OK);
    size_t size = file_size, count = 0, refused = 0;
    for (size_t at = 64; at + 64 <= size; at += step(count++, size)) {
        read_file(path_of("provider"));
        take_sections_away();
        memset(file_bytes + at, 0, size - at);
        write_file(in_folder("plugin.so"));
        treadle_status status = try_file(in_folder("plugin.so"), 0);
        if (status == TREADLE_E_PLUGIN) refused++;
        else CHECK_INT(status, TREADLE_OK); /* behind all that is mapped */
    }
    CHECK(refused > 30);
    end_folder();
}

/* Where code is: that it is lost is not seen. */
static bool touches_code(size_t from, size_t to) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(void *)file_bytes;
    for (int i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *part = (const Elf64_Phdr *)(void *)(file_bytes + header->e_phoff) + i;
        if (part->p_type == PT_LOAD && part->p_flags & PF_X && from < part->p_offset + part->p_filesz && to > part->p_offset) return true;
    }
    return false;
}
TEST(a_file_with_a_hole_of_zeroes_does_not_crash_the_loader, "PLUG-8") {
    begin_folder();
    copy_file("provider", in_folder("plugin.so"));
    size_t size = file_size;
    /* The sectors and pages that a disk may have lost. */
    for (size_t hole = 512; hole <= 4096; hole *= 8) {
        for (size_t at = 0; at + hole <= size; at += hole) {
            read_file(path_of("provider"));
            if (touches_code(at, at + hole)) continue;
            memset(file_bytes + at, 0, hole);
            write_file(in_folder("plugin.so"));
            treadle_status status = try_file(in_folder("plugin.so"), 0);
            if (status != TREADLE_OK) CHECK_INT(status, TREADLE_E_PLUGIN);
        }
    }
    end_folder();
}

TEST_MAIN()
