/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * words_description.c: what words.swift says of itself, in C: the struct of its extension is declared in a header of C. It does not say
 * that it may be unmapped: Swift's runtime keeps pointers into all code that it has met. */
#include "words.h"

treadle_status words_init(const treadle_plugin_host *host, void **out_instance);
treadle_status words_start(void *instance);
void words_deinit(void *instance);
void words_add(void *instance, const char *text);
uint64_t words_count(void *instance, const char *word);

static struct example_words words = {.struct_size = sizeof words, .add = words_add, .count = words_count};
static const void *get_extension(void *instance, const char *id) {
    (void)id; /* the only one that is provided */
    words.instance = instance;
    return &words;
}

static const char *const provided[] = {EXAMPLE_WORDS, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "interval-ms", .type = TREADLE_SETTING_INTEGER,
     .default_value = "1000", .minimum = 1, .maximum = 9999999, .description = "how often to log the most frequent word"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.example.words",
    .name = "Words",
    .version = "1.0",
    .settings = settings,
    .setting_count = sizeof settings / sizeof *settings,
    .provided = provided,
    .init = words_init,
    .start = words_start,
    .deinit = words_deinit,
    .get_extension = get_extension,
};
TREADLE_PLUGIN_EXPORT(description)

/* For hosts that run the plugin in a process of its own. */
static const treadle_extension_argument arguments[] = {{.pass = TREADLE_PASS_INSTANCE}, {.pass = TREADLE_PASS_TEXT}};
static const treadle_extension_function functions[] = {
    {.name = "words.add", .signature = "v^v*", .arguments = arguments, .argument_count = 2},
    {.name = "words.count", .signature = "Q^v*", .arguments = arguments, .argument_count = 2},
};
static const treadle_extension_descriptor descriptor = {
    .struct_size = sizeof descriptor, .name = EXAMPLE_WORDS, .functions = functions, .function_count = 2,
    .flags = TREADLE_EXTENSION_HAS_SIZE | TREADLE_EXTENSION_HAS_INSTANCE};
TREADLE_PLUGIN_EXPORT_EXTENSIONS(&descriptor)
