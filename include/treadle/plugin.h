/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin.h: plugins: shared libraries that can be unloaded without harm to their host; for hosts, and for authors of plugins.
 *
 * A plugin is compiled with TREADLE_PLUGIN defined, and links nothing of Treadle: every function of these headers is there
 * as in any program, and goes through the table that the host has given it. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_PLUGIN_H
#define TREADLE_PLUGIN_H

#include "scope.h"

TREADLE_BEGIN_DECLS

/** The version of what a plugin and its host know of each other: the major one in the upper half, the minor one in the lower.
 *  Since 1.0. */
#define TREADLE_PLUGIN_ABI 0x10000u
/** How what the interface names behaves. A host of a later level keeps to that for which a plugin was built. Since 1.0. */
#define TREADLE_PLUGIN_BEHAVIOUR 1u

/** A plugin: the scope that all it makes belongs to. The verbs of scopes are for it as well. Since 1.0. */
typedef treadle_scope treadle_plugin;

/** What a plugin gets from its host, in init, and may use until its deinit has returned; its functions also later, where code
 *  of the plugin still runs: then they refuse what they are asked for. Since 1.0. */
typedef struct treadle_plugin_host treadle_plugin_host;

/** The types of settings. Since 1.0. */
enum {
    TREADLE_SETTING_TEXT = 0,    /* any UTF-8 */
    TREADLE_SETTING_BOOLEAN = 1, /* true or false */
    TREADLE_SETTING_INTEGER = 2, /* decimal, from minimum to maximum */
    TREADLE_SETTING_REAL = 3     /* decimal, with a point and an exponent if wanted; as large as a double at most */
};

/** A setting that a plugin has. Its values are text; the host checks them before the plugin sees them. Since 1.0. */
typedef struct treadle_plugin_setting {
    size_t struct_size;        /* sizeof(treadle_plugin_setting) */
    const char *key;           /* a-z, 0-9, and . _ - inside: at most 63 bytes */
    const char *default_value; /* one that its type allows; NULL for a text: empty */
    const char *description;   /* for people; UTF-8; may be NULL */
    uint32_t type;             /* TREADLE_SETTING_... */
    uint32_t reserved;         /* 0 */
    int64_t minimum;           /* of an integer; with maximum 0 as well: any. 0 for the other types, as maximum */
    int64_t maximum;
} treadle_plugin_setting;

/** Takes bytes of a plugin's state, one after the other, while its save runs. [callback] Since 1.0. */
typedef void (*treadle_plugin_write_fn)(void *sink, const void *bytes, size_t size);

/** Flags of a plugin. Unknown ones are refused. Since 1.0. */
enum {
    /* It leaves nothing behind that leads into its code: no thread that Treadle does not know, no pointer in another library
     * but that of a closure. So it may be unmapped. */
    TREADLE_PLUGIN_MAY_UNMAP = 1
};

/** What a plugin says of itself: static, and the same whenever it is asked for. Since 1.0. */
typedef struct treadle_plugin_description {
    size_t struct_size;         /* sizeof(treadle_plugin_description) */
    uint32_t abi_min, abi_max;  /* the versions that it can speak, as TREADLE_PLUGIN_ABI */
    uint32_t behaviour;         /* the level that it was built for: TREADLE_PLUGIN_BEHAVIOUR */
    uint32_t reserved;          /* 0 */
    const treadle_plugin_host **self; /* where the host stores what it gives, before init; NULL: of a plugin that is part of the program */
    const char *id;             /* a domain name from its end, org.example.watcher: at least two parts of a-z, 0-9, and _ - inside,
                                 * with a point between them; at most 63 bytes */
    const char *name;           /* for people; UTF-8 */
    const char *version;        /* its own; UTF-8 */
    uint32_t flags;             /* TREADLE_PLUGIN_... */
    uint32_t setting_count;
    /* The extensions without which it cannot start; NULL at the end. Each is a name like an id, and a revision of 1 to 7 digits
     * that does not begin with 0: org.example.store/1 */
    const char *const *required;
    const char *const *optional; /* those that it would use; may be NULL, as the other two */
    const char *const *provided; /* those that it has for others */
    const treadle_plugin_setting *settings;
    /* Called once before all else, when those that provide what it requires have started. instance is for the others. */
    treadle_status (*init)(const treadle_plugin_host *host, void **out_instance);
    /* Begins its work. May be NULL. If it fails, stop is not called, but deinit. */
    treadle_status (*start)(void *instance);
    /* Ends its work, in timeout_ns at most: nothing new is taken from it any more, what it has made still lives. It cannot be
     * refused: what it returns is told to people. May be NULL. */
    treadle_status (*stop)(void *instance, int64_t timeout_ns);
    /* Gives back what init has made. Nothing of the plugin runs any more. */
    void (*deinit)(void *instance);
    /* An extension that it provides: a struct or function that its name stands for, valid until stop. May be NULL. */
    const void *(*get_extension)(void *instance, const char *id);
    /* A setting was changed while it runs. What it refuses stays as it was. May be NULL: it will ask its host. */
    treadle_status (*set)(void *instance, const char *key, const char *value);
    /* Hands its state over to the one that takes its place, after stop; and takes it, after init. Both may be NULL. */
    treadle_status (*save)(void *instance, treadle_plugin_write_fn write, void *sink);
    treadle_status (*restore)(void *instance, const void *bytes, size_t size);
} treadle_plugin_description;

/** The one function that a plugin exports, as treadle_plugin_query: pure, on any thread. host_abi is TREADLE_PLUGIN_ABI of
 *  the host. [callback] Since 1.0. */
typedef const treadle_plugin_description *(*treadle_plugin_query_fn)(uint32_t host_abi);

/** An extension of the host's, by its name; NULL if there is none. [callback] on any thread. Since 1.0. */
typedef const void *(*treadle_plugin_extension_fn)(void *info, const char *id);
/** A message of a plugin, or about it. level: 0 for an error, 1 a warning, 2 for information. [callback] on any thread. Since 1.0. */
typedef void (*treadle_plugin_log_fn)(void *info, treadle_plugin plugin, uint32_t level, const char *text);

/** Flags of a load. Unknown ones are refused. Since 1.0. */
enum {
    /* Takes a file that somebody else than root and the process's user may write, or replace, with the libraries that it brings along. */
    TREADLE_PLUGIN_LOAD_WRITABLE = 1
};

/** What a plugin is loaded from, and with. Since 1.0. */
typedef struct treadle_plugin_config {
    size_t struct_size;            /* sizeof(treadle_plugin_config) */
    const char *path;              /* of a shared library; or */
    treadle_plugin_query_fn query; /* the function of one that is part of the program; one of the two */
    const char *host_name;         /* of the program, for the plugin; UTF-8; NULL: none */
    const char *host_version;      /* the same */
    const char *const *settings;   /* keys and their values by turns, NULL at the end; NULL: none */
    treadle_plugin_extension_fn get_extension; /* may be NULL */
    treadle_plugin_log_fn log;     /* NULL: nobody is told */
    void *info;                    /* for both; lives until the plugin is closed */
    uint32_t flags;                /* TREADLE_PLUGIN_LOAD_... */
    uint32_t reserved;             /* 0 */
} treadle_plugin_config;

/** Loads a plugin, which starts nothing: of a library's code its constructors and the query function run. The file that is
 *  checked is the file that is loaded: it is opened once, checked, and mapped under its descriptor (PLUG-8). It must be a regular
 *  and complete file. Only root and the process's user may be able to change it, each directory and link of its path (in a directory
 *  with the sticky bit: the entry), each directory of its DT_RUNPATH or DT_RPATH, and the libraries that it finds there. A search path
 *  with an empty or relative directory, $LIB or $PLATFORM is refused. Libraries beside the plugin ($ORIGIN) are mapped before it, and
 *  need a soname; a library that the plugin opens itself later is not found by $ORIGIN. A plugin, or a library that it brings along, that
 *  has functions of Treadle, or needs them from the loader, is refused: it was built without TREADLE_PLUGIN (PLUG-1). Without /proc the file is loaded by its path.
 *  It is mapped with RTLD_NOW and RTLD_LOCAL: nothing of it is left to be found later, and nobody else is bound to it.
 *  The handle is that of the plugin's scope, and to be released; the plugin lives until it is closed, whoever releases what.
 *  It belongs to the scope that the calling thread has entered, is closed with that, and its handle is stale then.
 *  [any] Errors: TREADLE_E_PLUGIN for a file that is refused, that is no plugin, or whose description breaks its rules, a
 *  version that has nothing in common with this host's, a plugin that was built without TREADLE_PLUGIN; TREADLE_E_EXISTS for an id
 *  that is loaded already; TREADLE_E_NOT_FOUND
 *  for a setting that it does not have; TREADLE_E_ARG for a setting's value that its type does not allow, or none, as
 *  treadle_plugin_set; for NULL, a bad struct_size, not one of path and query, a host_name or host_version that is not UTF-8, unknown
 *  flags; TREADLE_E_TOO_NEW; TREADLE_E_SYSTEM where there is no such file; TREADLE_E_CLOSED as treadle_scope_create;
 *  TREADLE_E_NOMEM. The last error names the symbol, the version, the key. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_load(const treadle_plugin_config *config, treadle_plugin *out_plugin);

/** Initialises and starts a plugin, and before it those that provide what it requires, and where they are loaded what it
 *  has as optional. Those that have started are left as they are: TREADLE_IGNORED if that is the plugin itself.
 *  Its functions are called here, on the calling thread, inside of the plugin's scope.
 *  [any] Errors: TREADLE_E_NOT_FOUND for a required extension that neither the host nor a plugin that is loaded has, before
 *  any of its code runs; TREADLE_E_DEADLOCK for plugins that require each other in a circle; TREADLE_E_PLUGIN for an init or
 *  start that fails, after which the plugin is closed, or an extension that a provider does not have after all;
 *  TREADLE_E_STATE while another thread starts it, or the one ends whose place it takes; TREADLE_E_CLOSED if it is closed. The
 *  last error names which. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_start(treadle_plugin plugin);

/** Ends a plugin: the same as treadle_close. Nothing new is taken from it (TREADLE_E_CLOSED), stop is called, then its scope is
 *  closed, with all that the plugin has made; then deinit is called, and the library is unmapped if that is certain to do no
 *  harm: the plugin may be (TREADLE_PLUGIN_MAY_UNMAP), its file does not forbid it, it brings no Swift runtime, its end was not
 *  asked for by its own code, and the loader says that it is gone. Otherwise it stays, for ever, and the log is told why.
 *  A function pointer of a closure, which the plugin has given to somebody, stays callable in either case: it returns the
 *  closure's default result.
 *  While a plugin that uses it has not ended it is left as it is: treadle_scope_copy_holders names that one.
 *  From inside of one of its own functions or callbacks: TREADLE_DEFERRED; the rest happens when they have returned. Treadle
 *  knows of those that it calls. It does not know of functions that others call as an extension: while one of these runs, its
 *  plugin must not be closed; a closure's pointer may be given out in place of a function that can come to that.
 *  timeout_ns: 0 or less only looks; TREADLE_FOREVER. stop gets what is left of it, also of a close from inside.
 *  [any] Errors: TREADLE_E_TIMEOUT: close it again; TREADLE_E_DEADLOCK when something of it that goes on waits for the calling
 *  thread, or from inside of a plugin that uses it. Since 1.0. */
static inline treadle_status treadle_plugin_close(treadle_plugin plugin, int64_t timeout_ns) {
    return treadle_close(plugin, timeout_ns);
}

/** Puts a plugin of the same id in the place of another one: loads it as treadle_plugin_load, closes the old one, and
 *  initialises and starts the new one, which gets the state that the old one has saved, if both can. Until the old one has
 *  ended nothing is changed; if the new one then fails, neither is there.
 *  [any] Errors: as treadle_plugin_load and treadle_plugin_start; TREADLE_E_TIMEOUT if the old one did not end in time: the new
 *  one is dropped then, and the old one is being closed, unless another plugin uses it: then it goes on; TREADLE_E_PLUGIN for
 *  another id, or a file that was written over in its place while it is mapped; TREADLE_E_DEADLOCK from inside of the plugin.
 *  Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_reload(treadle_plugin plugin, const treadle_plugin_config *config, int64_t timeout_ns,
                                                 treadle_plugin *out_plugin);

/** How far a plugin has come. Since 1.0. */
enum {
    TREADLE_PLUGIN_LOADED = 0,   /* not started */
    TREADLE_PLUGIN_STARTING = 1,
    TREADLE_PLUGIN_STARTED = 2
};

/** What is known of a plugin. The texts are the plugin's own: valid while it is not closed. Since 1.0. */
typedef struct treadle_plugin_info {
    size_t struct_size; /* set by the caller: sizeof(treadle_plugin_info) */
    uint32_t state;     /* TREADLE_PLUGIN_... */
    uint32_t abi;       /* what it and this host have agreed on */
    const treadle_plugin_description *description;
    const char *path;   /* NULL for one of the program's own */
} treadle_plugin_info;

/** Tells what is known of a plugin.
 *  [any] Errors: TREADLE_E_ARG for NULL or a struct_size that no version had; TREADLE_E_KIND for a scope that is no plugin;
 *  TREADLE_E_CLOSED if it has ended or is ending. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_get_info(treadle_plugin plugin, treadle_plugin_info *info);

/** An extension of a plugin that has started, for the host: valid until the plugin is closed.
 *  [any] Errors: TREADLE_E_ARG for NULL; TREADLE_E_NOT_FOUND if it has none of that name; TREADLE_E_STATE if it has not started;
 *  TREADLE_E_CLOSED; TREADLE_E_KIND for a scope that is no plugin. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_get_extension(treadle_plugin plugin, const char *id, const void **out_extension);

/** Changes a setting. One that has started is asked, and may refuse.
 *  [any] Errors: TREADLE_E_NOT_FOUND for a key that it does not have; TREADLE_E_ARG for NULL, or a value that its type does not
 *  allow; TREADLE_E_CLOSED; TREADLE_E_KIND; what the plugin returns. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_set(treadle_plugin plugin, const char *key, const char *value);

/** Writes a setting's value: at most capacity bytes, NUL included, into buffer (NULL with capacity 0 asks for the length);
 *  stores the full length, without NUL.
 *  [any] Errors: as treadle_plugin_set. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_copy_setting(treadle_plugin plugin, const char *key, char *buffer, size_t capacity,
                                                       size_t *out_length);

/** Copies out the plugins that are loaded, in the order in which they were, each with a reference, to be released: the first
 *  capacity of them; stores how many there are. With capacity 0 buffer may be NULL.
 *  [any] Errors: TREADLE_E_ARG for NULL. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_copy_all(treadle_plugin *buffer, size_t capacity, size_t *out_count);

/** Of what treadle_scope_copy_holders tells: a plugin that uses another one. Since 1.0. */
enum { TREADLE_HOLDER_PLUGIN = 36 };

/** The functions of Treadle, for a plugin: plugin_table.h. Later versions add to its end. Since 1.0. */
typedef struct treadle_plugin_table treadle_plugin_table;

struct treadle_plugin_host {
    size_t struct_size; /* what the host has */
    uint32_t abi;       /* the highest version that both know */
    uint32_t behaviour; /* the level that the host keeps to for this plugin */
    const char *name;   /* the program's; never NULL */
    const char *version;
    treadle_plugin plugin; /* the plugin itself: on loan */
    const treadle_plugin_table *table;
    /* An extension of the host's, or of a plugin that has started and that this one lists: valid until stop has returned.
     * NULL if there is none, or it comes from a plugin that uses this one. Whom it comes from is not closed before this one. */
    const void *(*get_extension)(const treadle_plugin_host *host, const char *id);
    /* As treadle_plugin_copy_setting, of its own. */
    treadle_status (*copy_setting)(const treadle_plugin_host *host, const char *key, char *buffer, size_t capacity, size_t *out_length);
    /* Tells the program, as a treadle_plugin_log_fn does. */
    void (*log)(const treadle_plugin_host *host, uint32_t level, const char *text);
};

#ifdef TREADLE_PLUGIN
/* What its host has given it; NULL before init, where all functions return TREADLE_E_STATE, 0, false or NULL; constant from then
 * on. */
#ifdef __swift__
__attribute__((swift_attr("nonisolated(unsafe)")))
#endif
__attribute__((weak, visibility("hidden"))) const treadle_plugin_host *treadle_plugin_self;
/** The oldest version of a host that takes the plugin: that of these headers. A plugin that asks whether a later function is
 *  there, by TREADLE_E_NOT_SUPPORTED, defines it as an older one before it includes them. Since 1.0. */
#ifndef TREADLE_PLUGIN_ABI_MIN
#define TREADLE_PLUGIN_ABI_MIN TREADLE_PLUGIN_ABI
#endif
/** What a plugin's description begins with. Since 1.0. */
#define TREADLE_PLUGIN_COMMON                                                                                      \
    .struct_size = sizeof(treadle_plugin_description), .abi_min = TREADLE_PLUGIN_ABI_MIN,                          \
    .abi_max = TREADLE_PLUGIN_ABI, .behaviour = TREADLE_PLUGIN_BEHAVIOUR, .reserved = 0,                          \
    .self = &treadle_plugin_self
#else
/** The same for a plugin that is part of a program. Since 1.0. */
#define TREADLE_PLUGIN_COMMON                                                                                      \
    .struct_size = sizeof(treadle_plugin_description), .abi_min = TREADLE_PLUGIN_ABI & 0xFFFF0000u,                \
    .abi_max = TREADLE_PLUGIN_ABI, .behaviour = TREADLE_PLUGIN_BEHAVIOUR, .reserved = 0,                          \
    .self = (const treadle_plugin_host **)0
#endif

/** Exports a static description from a plugin. Since 1.0. */
#ifdef __cplusplus
#define TREADLE_PLUGIN_EXPORT(description)                                                                        \
    extern "C" __attribute__((visibility("default"))) const treadle_plugin_description *treadle_plugin_query(uint32_t); \
    extern "C" const treadle_plugin_description *treadle_plugin_query(uint32_t) { return &(description); }
#else
#define TREADLE_PLUGIN_EXPORT(description)                                                                         \
    __attribute__((visibility("default"))) const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi); \
    const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi) { return (void)host_abi, &(description); }
#endif

TREADLE_END_DECLS
#endif
