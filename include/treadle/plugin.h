/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin.h: plugins: shared libraries that can be unloaded without harm to their host; for hosts, and for authors of plugins.
 *
 * A plugin is compiled with TREADLE_PLUGIN defined, and is not linked with Treadle. It calls the functions of these headers as
 * any program does; the calls go through the table that the host has given it. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_PLUGIN_H
#define TREADLE_PLUGIN_H

#include "scope.h"

TREADLE_BEGIN_DECLS

/** The version of the interface between plugins and hosts: the major version in the upper half, the minor one in the lower.
 *  Since 1.0. */
#define TREADLE_PLUGIN_ABI 0x10000u
/** The level of the interface's behaviour. A host of a later level treats a plugin as the plugin's own level says.
 *  Since 1.0. */
#define TREADLE_PLUGIN_BEHAVIOUR 1u

/** A plugin: the scope that its objects belong to. The functions for scopes accept it. Since 1.0. */
typedef treadle_scope treadle_plugin;

/** The host, as passed to a plugin's init. The plugin may use it until its deinit has returned. If code of the plugin still
 *  runs later, the host's functions return an error. Since 1.0. */
typedef struct treadle_plugin_host treadle_plugin_host;

/** The types of settings. Since 1.0. */
enum {
    TREADLE_SETTING_TEXT = 0,    /* any UTF-8 */
    TREADLE_SETTING_BOOLEAN = 1, /* true or false */
    TREADLE_SETTING_INTEGER = 2, /* decimal, from minimum to maximum */
    TREADLE_SETTING_REAL = 3     /* decimal, optionally with a point and an exponent; in the range of a double */
};

/** A setting that a plugin has. Its values are text; the host checks them before the plugin sees them. Since 1.0. */
typedef struct treadle_plugin_setting {
    size_t struct_size;        /* sizeof(treadle_plugin_setting), the same in all settings of a plugin */
    const char *key;           /* a-z, 0-9, and . _ - inside: at most 63 bytes */
    const char *default_value; /* a value of its type; NULL for a text: empty */
    const char *description;   /* for people; UTF-8; may be NULL */
    uint32_t type;             /* TREADLE_SETTING_... */
    uint32_t reserved;         /* 0 */
    int64_t minimum;           /* of an integer; with maximum 0 as well: any. 0 for the other types, as maximum */
    int64_t maximum;
} treadle_plugin_setting;

/** Receives the bytes of a plugin's state, in order, while its save runs. [callback] Since 1.0. */
typedef void (*treadle_plugin_write_fn)(void *sink, const void *bytes, size_t size);

/** Flags of a plugin. Unknown ones are refused. Since 1.0. */
enum {
    /* The plugin leaves no reference to its code: no thread that Treadle does not know, no pointer
     * in another library except those of closures. So it may be unmapped. */
    TREADLE_PLUGIN_MAY_UNMAP = 1
};

/** A plugin's description: static, and the same at each query. Since 1.0. */
typedef struct treadle_plugin_description {
    size_t struct_size;         /* sizeof(treadle_plugin_description) */
    uint32_t abi_min, abi_max;  /* the versions that it supports, as TREADLE_PLUGIN_ABI */
    uint32_t behaviour;         /* the level that it was built for: TREADLE_PLUGIN_BEHAVIOUR */
    uint32_t reserved;          /* 0 */
    const treadle_plugin_host **self; /* where the host stores its address before init; NULL in a plugin that is part of the program */
    const char *id;             /* a reversed domain name, org.example.watcher: at least two parts of a-z, 0-9, and _ - inside,
                                 * separated by points; at most 63 bytes */
    const char *name;           /* for people; UTF-8 */
    const char *version;        /* its own; UTF-8 */
    uint32_t flags;             /* TREADLE_PLUGIN_... */
    uint32_t setting_count;
    /* The extensions without which it cannot start; NULL at the end. Each is a name like an id, a slash, and a revision of 1 to 7
     * digits that does not begin with 0: org.example.store/1 */
    const char *const *required;
    const char *const *optional; /* extensions that it uses if they exist; may be NULL, like the other two */
    const char *const *provided; /* extensions that it provides */
    const treadle_plugin_setting *settings; /* read by treadle_plugin_get_setting */
    /* Called once, before the other functions, after the providers of its required extensions have
     * started. instance is passed to the others. If it fails, it may say why before it returns: host->fail. */
    treadle_status (*init)(const treadle_plugin_host *host, void **out_instance);
    /* Begins its work. May be NULL. If it fails, deinit is called without stop. */
    treadle_status (*start)(void *instance);
    /* Ends its work, in timeout_ns at most: it can create nothing more, but its objects still
     * exist. It cannot refuse to stop: a returned error is only logged. If it returns TREADLE_DEFERRED its
     * objects exist until the plugin calls host->stopped; the close waits for that, until its timeout. May be NULL. */
    treadle_status (*stop)(void *instance, int64_t timeout_ns);
    /* Frees the instance. No other code of the plugin runs. */
    void (*deinit)(void *instance);
    /* Returns an extension that it provides, a struct or a function, valid until stop. May be
     * NULL. */
    const void *(*get_extension)(void *instance, const char *id);
    /* Called when a setting is changed while it runs; after an error the setting keeps its value.
     * May be NULL: the plugin asks its host. */
    treadle_status (*set)(void *instance, const char *key, const char *value);
    /* save writes the state for the plugin's successor, after stop; restore reads it, after init. Both may be NULL. */
    treadle_status (*save)(void *instance, treadle_plugin_write_fn write, void *sink);
    treadle_status (*restore)(void *instance, const void *bytes, size_t size);
} treadle_plugin_description;

/** Returns a setting of a plugin that may have been built for another version: the distance of its settings is the struct_size of the
 *  first one. If that is smaller than the struct, read only the members that it covers. NULL for an index behind the last.
 *  [any] Errors: none. Since 1.0. */
static inline const treadle_plugin_setting *treadle_plugin_get_setting(const treadle_plugin_description *description, uint32_t index) {
    if (index >= description->setting_count) return NULL;
    return (const treadle_plugin_setting *)(const void *)((const char *)description->settings + index * description->settings->struct_size);
}

/** How an argument of an extension's function, or its result, travels to another process (PLUG-9). Since 1.0. */
enum {
    TREADLE_PASS_VALUE = 0,     /* a number, a truth value, or a struct of those, by value */
    TREADLE_PASS_TEXT = 1,      /* a C string, copied; may be NULL. As a result: kept as long as the extension, the same text once */
    TREADLE_PASS_IN = 2,        /* a pointer to elements that are copied to the callee; may be NULL */
    TREADLE_PASS_OUT = 3,       /* a pointer to elements that are copied back to the caller; zeros at the call; may be NULL */
    TREADLE_PASS_IN_OUT = 4,    /* both */
    TREADLE_PASS_CALLBACK = 5,  /* a function pointer that the callee calls before it returns; may be NULL */
    TREADLE_PASS_KEPT_CALLBACK = 6, /* one that the callee may call until the plugin's end */
    TREADLE_PASS_INFO = 7,      /* the info of a callback: the callback gets it back, and the other side does not read it */
    TREADLE_PASS_TOKEN = 8,     /* a pointer that the other side only passes back, where it becomes the same pointer; may be NULL */
    TREADLE_PASS_OUT_TOKEN = 9, /* a pointer to a place where the callee stores a token */
    TREADLE_PASS_STATUS = 10,   /* only as a result, an int: a treadle_status, also of a call that has failed */
    TREADLE_PASS_INSTANCE = 11  /* the struct's instance (TREADLE_EXTENSION_HAS_INSTANCE); the callee gets its own, and another one is
                                 * refused */
};

/** An argument of an extension's function. Since 1.0. */
typedef struct treadle_extension_argument {
    uint32_t pass;  /* TREADLE_PASS_... */
    uint32_t other; /* of elements: 0 for a constant number of them, or 1 + the index of the argument that has their number;
                     * of a callback: 1 + the index of the argument that is its info. Otherwise 0 */
    size_t size;    /* of elements: the size of one; with a constant number, of all of them. Otherwise 0 */
    const void *callback; /* of a callback: its type, a treadle_extension_function. Otherwise NULL */
} treadle_extension_argument;

/** Flags of an extension: what its struct begins with. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_EXTENSION_HAS_SIZE = 1,    /* with its size, a size_t: functions that are behind it are not there */
    TREADLE_EXTENSION_HAS_INSTANCE = 2 /* with a void *, behind the size if there is one: what its functions are passed as
                                        * TREADLE_PASS_INSTANCE. On the other side it is no address */
};

/** Flags of an extension's function. Unknown ones are refused. Since 1.0. */
enum {
    /* Its caller does not wait for it. Without a result, and without memory that is copied back. */
    TREADLE_EXTENSION_ONE_WAY = 1
};

/** The type of an extension's function, or of a callback. Since 1.0. */
typedef struct treadle_extension_function {
    const char *name;      /* for errors */
    const char *signature; /* as treadle_signature_parse reads it; not variadic */
    const treadle_extension_argument *arguments; /* as many as the signature has; NULL: all are values */
    uint32_t argument_count;
    uint32_t result; /* TREADLE_PASS_VALUE, _TEXT, _TOKEN or _STATUS */
    uint32_t flags;  /* TREADLE_EXTENSION_... */
    uint32_t reserved; /* 0 */
} treadle_extension_function;

/** Describes an extension, a struct of function pointers, perhaps behind its size and an instance, so that it can be called from another process (PLUG-9). A plugin exports
 *  descriptors of those that it provides by TREADLE_PLUGIN_EXPORT_EXTENSIONS; a program has them in treadle_plugin_config. The
 *  other side gets a struct of closures. A call of an isolated plugin's runs on its process's main thread, where a function that
 *  blocks keeps all other calls, starts, settings and the stop waiting; one of the program's on treadle_plugin_config.loop; one that is
 *  made inside of another call on the thread that waits for that. The caller's loop runs in the mode TreadlePluginCall meanwhile. A call that fails returns its status (TREADLE_PASS_STATUS), or zeros, and sets the last error:
 *  TREADLE_E_PLUGIN if the process has ended; TREADLE_E_ARG for a token that was not given out, another instance, or a value outside
 *  of its type;
 *  TREADLE_E_RANGE for a negative or too large number of elements; TREADLE_E_NOT_SUPPORTED for a member that is NULL; TREADLE_E_CLOSED after
 *  the plugin's end. Constant as long as the plugin is loaded. Since 1.0. */
typedef struct treadle_extension_descriptor {
    size_t struct_size; /* sizeof(treadle_extension_descriptor) */
    const char *name;   /* the extension's: org.example.store/1 */
    const treadle_extension_function *functions; /* in the order of the struct's members */
    uint32_t function_count; /* 1 to 256 */
    uint32_t flags;          /* TREADLE_EXTENSION_HAS_... */
} treadle_extension_descriptor;

/** The one function that a plugin exports, as treadle_plugin_query: pure, on any thread. host_abi is TREADLE_PLUGIN_ABI of
 *  the host. [callback] Since 1.0. */
typedef const treadle_plugin_description *(*treadle_plugin_query_fn)(uint32_t host_abi);

/** An extension of the host's, by its name; NULL if there is none. [callback] on any thread. Since 1.0. */
typedef const void *(*treadle_plugin_extension_fn)(void *info, const char *id);
/** A message of a plugin, or about it. level: 0 for an error, 1 a warning, 2 for information. [callback] on any thread. Since 1.0. */
typedef void (*treadle_plugin_log_fn)(void *info, treadle_plugin plugin, uint32_t level, const char *text);

/** Flags of a load. Unknown ones are refused. Since 1.0. */
enum {
    /* Accepts a file, and libraries beside it, that users other than root and the process's user may write or replace. */
    TREADLE_PLUGIN_LOAD_WRITABLE = 1,
    /* Loads the plugin in a process of its own: see treadle_plugin_load. */
    TREADLE_PLUGIN_LOAD_ISOLATED = 2
};

/** Limits of an isolated plugin's process, in force before the plugin's constructors run; 0: as the program's own. Since 1.0. */
typedef struct treadle_plugin_limits {
    size_t struct_size;         /* sizeof(treadle_plugin_limits) */
    uint64_t address_space;     /* bytes: behind them it gets no memory */
    uint64_t processor_seconds; /* of its whole life: then it is ended by SIGXCPU */
    uint64_t descriptors;       /* how many it may have open */
    /* The directory of a control group (cgroup), whose limits of memory and others hold for the process from then on, such as
     * "/sys/fs/cgroup/plugins"; NULL: the program's own */
    const char *cgroup;
} treadle_plugin_limits;

/** Rights that an isolated plugin's process gives up. Unknown ones are refused. Since 1.0. */
enum {
    TREADLE_RIGHTS_NO_NETWORK = 1,   /* it creates no sockets but those of this machine's own (AF_UNIX), and no io_uring */
    TREADLE_RIGHTS_NO_PROCESSES = 2, /* it creates no process; threads it may */
    TREADLE_RIGHTS_NAMED_FILES = 4,  /* it opens only files below the named ones, and what its loader reads */
    TREADLE_RIGHTS_IF_POSSIBLE = 8,  /* what cannot be limited here is logged, and is no reason to refuse the load */
    /* It makes only the system calls that programs make in general, which the guide lists, and the named ones; others return EPERM, or
     * ENOSYS if libseccomp does not know them. Needs libseccomp. */
    TREADLE_RIGHTS_USUAL_CALLS = 16
};

/** The rights of an isolated plugin's process, in force before the plugin's constructors run, for all its threads and children, and for
 *  good. With any of them, and with limits, it gets no new privileges (PR_SET_NO_NEW_PRIVS). They are no sandbox: the guide
 *  says what they protect from. Since 1.0. */
typedef struct treadle_plugin_rights {
    size_t struct_size;  /* sizeof(treadle_plugin_rights) */
    uint32_t flags;      /* TREADLE_RIGHTS_... */
    uint32_t reserved;   /* 0 */
    const char *const *readable; /* with TREADLE_RIGHTS_NAMED_FILES: files and directories, NULL at the end; missing ones are passed over */
    const char *const *writable; /* the same, to be written and read */
    const char *const *calls;    /* with TREADLE_RIGHTS_USUAL_CALLS: the names of further system calls, NULL at the end; with
                                  * TREADLE_RIGHTS_IF_POSSIBLE unknown ones are passed over. NULL: none */
} treadle_plugin_rights;

/** Installs a filter of system calls for the calling process: TREADLE_RIGHTS_USUAL_CALLS, with the flags and calls of rights; its other members
 *  are NULL. If it fails, or ignores a name (TREADLE_IGNORED), it writes why into reason, as a text of at most capacity bytes, NUL
 *  included. [callback] on the thread of treadle_plugin_serve, before the plugin is mapped. Since 1.0. */
typedef treadle_status (*treadle_plugin_filter_fn)(const treadle_plugin_rights *rights, char *reason, size_t capacity);

/** How the process of an isolated plugin has ended. Lives until the callback returns. Since 1.0. */
typedef struct treadle_plugin_ending {
    size_t struct_size; /* of the library that fills it in; later versions only append */
    uint32_t by_signal; /* 1: number is the signal; 0: it is the exit status */
    int32_t number;
    const char *reason; /* in words, with the innermost places in its code, as "file+offset", if a signal has ended its main thread or
                         * any other by a fault */
} treadle_plugin_ending;

/** Called when a process of an isolated plugin has ended while the plugin was not being closed: once for each process. The plugin is not
 *  closed by that: close it, unless it is restarted. [callback] on the loop of treadle_plugin_config, or on a thread that waits for the
 *  process. Since 1.0. */
typedef void (*treadle_plugin_ended_fn)(void *info, treadle_plugin plugin, const treadle_plugin_ending *ending);

/** Restarts of an isolated plugin that has started and whose process has ended (PLUG-11): behind a pause another process loads the same file, and
 *  initialises and starts the plugin with the settings as they are then and the state that was saved last (host->checkpoint), or else the
 *  one that its first start had. This happens on treadle_plugin_config.loop, which must be run, and which runs in the mode
 *  TreadlePluginCall meanwhile. Until then calls of the plugin return TREADLE_E_PLUGIN, and the last error names the pause; a close
 *  ends it. Extensions stay valid, and call the new process; its tokens are refused, and callbacks that it has kept are over (they do
 *  nothing) when ended has been called. A restart that fails counts as an end, and is followed by the next. Since 1.0. */
typedef struct treadle_plugin_restart {
    size_t struct_size;       /* sizeof(treadle_plugin_restart) */
    uint32_t most;            /* how many restarts may be in within_ns, 0 to 65,535: the plugin stays ended when there is one more */
    uint32_t reserved;        /* 0 */
    int64_t within_ns;        /* above 0; TREADLE_FOREVER: since the load */
    int64_t first_pause_ns;   /* 0 or more: the pause before the first restart in that time; each further one is twice as long */
    int64_t longest_pause_ns; /* but at most this; 0: no longer than first_pause_ns */
    int64_t timeout_ns;       /* how long its load, and then its start, may take, or it is killed and the restart has failed; 0: 10 seconds;
                               * TREADLE_FOREVER: no limit */
} treadle_plugin_restart;

/** The configuration of a load. Since 1.0. */
typedef struct treadle_plugin_config {
    size_t struct_size;            /* sizeof(treadle_plugin_config) */
    const char *path;              /* of a shared library; or */
    treadle_plugin_query_fn query; /* the query function of a plugin in the program; exactly one of the two */
    const char *host_name;         /* of the program, for the plugin; UTF-8; NULL: none */
    const char *host_version;      /* the same */
    const char *const *settings;   /* keys, each followed by its value, NULL at the end; NULL: none */
    treadle_plugin_extension_fn get_extension; /* may be NULL */
    treadle_plugin_log_fn log;     /* NULL: messages are dropped */
    void *info;                    /* for both; lives until the plugin is closed */
    uint32_t flags;                /* TREADLE_PLUGIN_LOAD_... */
    uint32_t reserved;             /* 0 */
    /* Descriptors of the extensions that get_extension returns, NULL at the end; for isolated plugins, which reach no others. One of an
     * extension that the plugin provides: the plugin's own must be the same, so that no call of the program's leads elsewhere if the
     * plugin's process lies. Constant until the plugin is closed. NULL: none */
    const treadle_extension_descriptor *const *extensions;
    /* Of an isolated plugin: the loop on which its calls arrive that belong to no call of the program's; NULL: the main loop */
    treadle_loop loop;
    const treadle_plugin_limits *limits; /* of an isolated plugin; NULL: none */
    const treadle_plugin_rights *rights; /* of an isolated plugin; NULL: those of the program's user */
    treadle_plugin_ended_fn ended;       /* of an isolated plugin; may be NULL */
    const treadle_plugin_restart *restart; /* of an isolated plugin, whose process is started again when it has ended; NULL: it is not */
    /* Of an isolated plugin: how long its load, with its constructors and query, and then its start may take, each; then its process is
     * killed, and they return TREADLE_E_TIMEOUT and TREADLE_E_PLUGIN. 0, as TREADLE_FOREVER: no limit */
    int64_t timeout_ns;
    /* Of an isolated plugin: its id in this program, in the place of that in its description, as if it were that, so that the same file can
     * be loaded several times, in a process each; NULL: that of its description */
    const char *id;
} treadle_plugin_config;

/** Loads a plugin without starting it: only the library's constructors and the query function run. The file that is checked is
 *  the file that is loaded: it is opened once, checked, and mapped under its descriptor (PLUG-8). It must be a regular
 *  and complete file. It is refused if users other than root and the process's user can change it, a directory or link of its
 *  path (in a directory with the sticky bit: the entry), a directory of its DT_RUNPATH or DT_RPATH, or a library that it finds
 *  there. A search path with an empty or relative directory, $LIB or $PLATFORM is refused. Libraries beside the plugin
 *  ($ORIGIN) are mapped before it, and need a soname; a library that the plugin opens itself later is not found by $ORIGIN. A
 *  plugin, or a library that it brings along, that defines functions of Treadle, or needs them from the loader, was built
 *  without TREADLE_PLUGIN and is refused (PLUG-1). Without /proc the file is loaded by its path.
 *  With TREADLE_PLUGIN_LOAD_ISOLATED the plugin is loaded by a process of its own (the program treadle-plugin-process, beside the
 *  library or named by the environment variable TREADLE_PLUGIN_PROCESS), and the host never maps its file. The plugin's handles, loops and
 *  threads are that process's. Its description has no functions (treadle_plugin_get_info). If its process ends in any way, the
 *  calls in flight return TREADLE_E_PLUGIN, and the last error says by which signal or exit status. A close always comes to an end: a
 *  process that does not end in the close's time is killed; so treadle_scope_copy_holders lists nothing of what is in there. The process
 *  ends with the host. Its standard output and standard error go to log; during the load with plugin NULL. No SIGCHLD is sent for it, and
 *  no wait for children finds it. A function query is refused (TREADLE_E_ARG). Extensions with a descriptor can be called from both
 *  sides: see treadle_extension_descriptor. A plugin that requires one without a descriptor does not start, and the log says why.
 *  It is mapped with RTLD_NOW and RTLD_LOCAL: all its symbols are resolved at once, and no other library is bound to it. The
 *  handle is that of the plugin's scope; release it. The plugin lives until it is closed, even after all releases. It belongs to
 *  the scope that the calling thread has entered, and is closed with it; the handle is then stale.
 *  [any] Errors: TREADLE_E_PLUGIN for a file that is refused, that is not a plugin, or whose description is invalid, a version
 *  that this host does not support, a plugin that was built without TREADLE_PLUGIN; TREADLE_E_EXISTS for an id that is loaded
 *  already; TREADLE_E_NOT_FOUND for a setting that it does not have; TREADLE_E_ARG for a setting without a value or with one
 *  that its type does not allow, for NULL, a bad struct_size, none or both of path and query, a host_name or host_version that
 *  is not UTF-8, unknown flags, a loop, limits, rights, ended, restart, timeout_ns or id for a plugin that is not isolated, a restart with values
 *  outside of their ranges, a negative timeout_ns, an invalid id; TREADLE_E_TIMEOUT for an isolated plugin whose load takes longer than
 *  timeout_ns; TREADLE_E_NOT_SUPPORTED for rights that cannot be limited here, or a cgroup that the process cannot enter;
 *  TREADLE_E_TOO_NEW; TREADLE_E_SYSTEM if
 *  the file does not exist; TREADLE_E_CLOSED as treadle_scope_create; TREADLE_E_NOMEM. The last error names the symbol, the version, the key. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_load(const treadle_plugin_config *config, treadle_plugin *out_plugin);

/** Serves the host of an isolated plugin: the program treadle-plugin-process calls it on its first thread, with the sockets that the host
 *  has given it, and with a function for hosts that want system calls filtered (PLUG-10); without one, NULL, their loads return
 *  TREADLE_E_NOT_SUPPORTED. It returns when the host has closed the plugin or has gone. The sockets are the function's.
 *  [any] Errors: TREADLE_E_ARG for a descriptor that is not open; TREADLE_E_SYSTEM; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_serve(int32_t serving_fd, int32_t asking_fd, treadle_plugin_filter_fn filter);

/** Initialises and starts a plugin. Before it, the providers of its required extensions, and loaded providers of its optional
 *  ones, are started. Plugins that have started are not changed: TREADLE_IGNORED if the plugin itself has. Its functions are
 *  called on the calling thread, inside of the plugin's scope.
 *  [any] Errors: TREADLE_E_NOT_FOUND for a required extension that neither the host nor a plugin that is loaded has, and of an
 *  isolated plugin TREADLE_E_NOT_SUPPORTED for one without a descriptor, before
 *  any of its code runs; TREADLE_E_DEADLOCK for plugins that require each other in a circle; TREADLE_E_PLUGIN for an init or
 *  start that fails, after which the plugin is closed, or an extension that its provider does not return; TREADLE_E_STATE while
 *  another thread starts it, or while its predecessor ends; TREADLE_E_CLOSED if it is closed. The
 *  last error names which. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_start(treadle_plugin plugin);

/** Closes a plugin, like treadle_close. The plugin can create nothing more (TREADLE_E_CLOSED); stop is called; its scope is
 *  closed, with all its objects; deinit is called; and the library is unmapped if this is safe. It is safe if the plugin allows
 *  it (TREADLE_PLUGIN_MAY_UNMAP), its file does not forbid it, it contains no Swift runtime, its own code did not close it, and
 *  the loader reports it as unmapped. Otherwise the library stays mapped for ever, and the log says why. A closure's function
 *  pointer that the plugin has passed to other code stays callable in either case: it returns the closure's default result.
 *  While another plugin uses it, it is not ended: treadle_scope_copy_holders names that plugin. From inside of one of its own
 *  functions or callbacks this returns TREADLE_DEFERRED; the rest happens when they have returned. Treadle tracks the calls
 *  that it makes, but not direct calls of an extension's functions: while one of these runs, its plugin must not be closed.
 *  Pass a closure's pointer instead of such a function if this can happen. timeout_ns: 0 or less does not wait; TREADLE_FOREVER
 *  sets no limit. stop gets the remaining time, also if it is closed from inside.
 *  [any] Errors: TREADLE_E_TIMEOUT: close it again; TREADLE_E_DEADLOCK when one of its callbacks or threads waits for the
 *  calling thread, or from inside of a plugin that uses it. Since 1.0. */
static inline treadle_status treadle_plugin_close(treadle_plugin plugin, int64_t timeout_ns) {
    return treadle_close(plugin, timeout_ns);
}

/** Replaces a plugin by another one with the same id: loads the new one like treadle_plugin_load, closes the old one, and
 *  initialises and starts the new one, which gets the state that the old one has saved, if both support it. Before the old one
 *  has ended nothing changes; if the new one fails afterwards, neither is loaded.
 *  [any] Errors: as treadle_plugin_load and treadle_plugin_start; TREADLE_E_TIMEOUT if the old one did not end in time: the new
 *  one is dropped, and the old one is being closed, unless another plugin uses it, in which case it continues; TREADLE_E_PLUGIN
 *  for
 *  another id, or a file that was written over in its place while it is mapped; TREADLE_E_DEADLOCK from inside of the plugin.
 *  Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_reload(treadle_plugin plugin, const treadle_plugin_config *config, int64_t timeout_ns,
                                                 treadle_plugin *out_plugin);

/** A plugin's state. Since 1.0. */
enum {
    TREADLE_PLUGIN_LOADED = 0,   /* not started */
    TREADLE_PLUGIN_STARTING = 1,
    TREADLE_PLUGIN_STARTED = 2
};

/** Information about a plugin. The texts belong to the plugin: valid until it is closed. Since 1.0. */
typedef struct treadle_plugin_info {
    size_t struct_size; /* set by the caller: sizeof(treadle_plugin_info) */
    uint32_t state;     /* TREADLE_PLUGIN_... */
    uint32_t abi;       /* the version in use between it and this host */
    const treadle_plugin_description *description;
    const char *path;   /* NULL for one of the program's own */
} treadle_plugin_info;

/** Stores information about a plugin.
 *  [any] Errors: TREADLE_E_ARG for NULL or a struct_size that no version had; TREADLE_E_KIND for a scope that is no plugin;
 *  TREADLE_E_CLOSED if it has ended or is ending; TREADLE_E_STATE in a thread-specific destructor that runs after the thread's
 *  teardown. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_get_info(treadle_plugin plugin, treadle_plugin_info *info);

/** An extension of a plugin that has started, for the host: valid until the plugin is closed.
 *  [any] Errors: TREADLE_E_ARG for NULL; TREADLE_E_NOT_FOUND if it has none of that name; TREADLE_E_STATE if it has not started; of an
 *  isolated plugin TREADLE_E_PLUGIN if its process has ended, or describes the extension otherwise than the program, TREADLE_E_NOT_SUPPORTED for an extension without a descriptor;
 *  the others of treadle_plugin_get_info. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_get_extension(treadle_plugin plugin, const char *id, const void **out_extension);

/** Changes a setting. If the plugin has started, its set is called, and may refuse.
 *  [any] Errors: TREADLE_E_NOT_FOUND for a key that it does not have; TREADLE_E_ARG for NULL, or a value that its type does not
 *  allow; errors of the plugin; the others of treadle_plugin_get_info. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_set(treadle_plugin plugin, const char *key, const char *value);

/** Writes a setting's value: at most capacity bytes, NUL included, into buffer (NULL with capacity 0 asks for the length);
 *  stores the full length, without NUL.
 *  [any] Errors: as treadle_plugin_set. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_copy_setting(treadle_plugin plugin, const char *key, char *buffer, size_t capacity,
                                                       size_t *out_length);

/** Stores references to the loaded plugins, in the order of loading: the first capacity of them, each for the caller to
 *  release. Stores the number of all. With capacity 0 buffer may be NULL.
 *  [any] Errors: TREADLE_E_ARG for NULL; TREADLE_E_RANGE, with no reference taken, if one of the plugins has 32,767. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_plugin_copy_all(treadle_plugin *buffer, size_t capacity, size_t *out_count);

/** A kind of holder, for treadle_scope_copy_holders: a plugin that uses another one. Since 1.0. */
enum { TREADLE_HOLDER_PLUGIN = 36 };

/** The functions of Treadle, for a plugin: plugin_table.h. Later versions add to its end. Since 1.0. */
typedef struct treadle_plugin_table treadle_plugin_table;

struct treadle_plugin_host {
    size_t struct_size; /* the size of the host's struct */
    uint32_t abi;       /* the highest version that both know */
    uint32_t behaviour; /* the level of behaviour that this plugin was built for */
    const char *name;   /* the program's; never NULL */
    const char *version;
    treadle_plugin plugin; /* the plugin itself: borrowed */
    const treadle_plugin_table *table;
    /* Returns an extension of the host, or of a started plugin that this one lists: valid until stop has returned. NULL if
     * there is none, or its provider uses this plugin. The provider is not closed before this plugin. */
    const void *(*get_extension)(const treadle_plugin_host *host, const char *id);
    /* treadle_plugin_copy_setting for the plugin's own settings. */
    treadle_status (*copy_setting)(const treadle_plugin_host *host, const char *key, char *buffer, size_t capacity, size_t *out_length);
    /* Logs a message: calls the program's treadle_plugin_log_fn. */
    void (*log)(const treadle_plugin_host *host, uint32_t level, const char *text);
    const char *path; /* the plugin's file, as it was loaded; NULL in a plugin that is part of the program */
    /* Gives the reason why the plugin's init, start, restore or set is about to fail, on the thread that runs it: the last error of the
     * failed call contains the text, truncated to fit. UTF-8; copied. */
    void (*fail)(const treadle_plugin_host *host, const char *text);
    /* Reports the end of a stop that returns, or has returned, TREADLE_DEFERRED. Any thread. No effect at any other time. */
    void (*stopped)(const treadle_plugin_host *host);
    /* Saves the plugin's state while it runs (PLUG-11): calls its save on the calling thread, between start and stop; in start behind init.
     * When it has returned, the host has the state: a process that is started in the place of this one begins with it, and so does a
     * successor if this process is lost before its end. The last one counts. Waits for treadle_plugin_config.loop. TREADLE_IGNORED, without a
     * save, for a plugin that is not isolated. Errors: TREADLE_E_NOT_SUPPORTED without a save; TREADLE_E_STATE at any other time;
     * TREADLE_E_PLUGIN if save fails; TREADLE_E_CLOSED if the host has gone; TREADLE_E_NOMEM. Where struct_size ends before it, the host
     * has none. */
    treadle_status (*checkpoint)(const treadle_plugin_host *host);
};

#ifdef TREADLE_PLUGIN
/* The host, set before init; NULL earlier, when all functions return TREADLE_E_STATE, 0, false or NULL; constant from then
 * on. */
#ifdef __swift__
__attribute__((swift_attr("nonisolated(unsafe)")))
#endif
__attribute__((weak, visibility("hidden"))) const treadle_plugin_host *treadle_plugin_self;
/** The oldest version of a host that accepts the plugin: that of these headers. A plugin that tests by
 *  TREADLE_E_NOT_SUPPORTED whether a later function exists defines it as an older one before it includes them. Since 1.0. */
#ifndef TREADLE_PLUGIN_ABI_MIN
#define TREADLE_PLUGIN_ABI_MIN TREADLE_PLUGIN_ABI
#endif
/** The first members of a plugin's description. Since 1.0. */
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

/** Exports the descriptors of the extensions that a plugin provides: &one, &other. Since 1.0. */
#ifdef __cplusplus
#define TREADLE_PLUGIN_EXPORT_EXTENSIONS(...)                                                                     \
    extern "C" __attribute__((visibility("default"))) const treadle_extension_descriptor *const treadle_plugin_extensions[]; \
    extern "C" const treadle_extension_descriptor *const treadle_plugin_extensions[] = {__VA_ARGS__, NULL};
#else
#define TREADLE_PLUGIN_EXPORT_EXTENSIONS(...)                                                                      \
    extern __attribute__((visibility("default"))) const treadle_extension_descriptor *const treadle_plugin_extensions[]; \
    const treadle_extension_descriptor *const treadle_plugin_extensions[] = {__VA_ARGS__, NULL};
#endif

TREADLE_END_DECLS
#endif
