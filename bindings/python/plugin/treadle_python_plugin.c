/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle_python_plugin.c: a plugin that makes files of Python plugins of its host: treadle-python-plugin.so.
 *
 * Each file is a plugin by its own id. This one brings the interpreter, of which a process has one: it takes the one that is
 * there, or begins one, which lives as long as the process. The rest is done in Python (bindings/python/treadle/_embedded.py).
 *
 *   files         the files, separated by colons; they are started in this order
 *   settings      of these: a line ID.KEY=VALUE each
 *   python-path   folders, separated by colons, where modules are looked for first, also the package treadle
 *   python        the interpreter whose environment is used, such as that of a venv; of the same version
 *
 * All are read at the start. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "treadle_python.h"

static const void *extension;
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;

static treadle_status refuse(treadle_status status, const char *text) {
    treadle_plugin_self->log(treadle_plugin_self, 0, text);
    return status;
}

/* To be freed; NULL if there is no memory. */
static char *copy_setting(const char *key) {
    char *text = NULL;
    size_t length = 0;
    for (size_t capacity = 0; !text || length >= capacity;) {
        capacity = length + 1;
        char *more = realloc(text, capacity);
        if (!more || treadle_plugin_self->copy_setting(treadle_plugin_self, key, more, capacity, &length) != TREADLE_OK) {
            free(more ? more : text);
            return NULL;
        }
        text = more;
    }
    return text;
}

/* --- The interpreter --------------------------------------------------------------------------------- */

/* Python's own extension modules name no library whose functions they want: all must see those of the interpreter. */
static bool show_interpreter(void) {
    Dl_info found;
    return dladdr((const void *)(uintptr_t)Py_InitializeFromConfig, &found) && dlopen(found.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

static treadle_status begin_interpreter(void) {
    PyConfig config;
    char *program = copy_setting("python");
    if (!program) return TREADLE_E_NOMEM;
    if (!show_interpreter()) return free(program), refuse(TREADLE_E_SYSTEM, dlerror());
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0;
    config.parse_argv = 0;
    const char *named = *program ? program : TREADLE_PYTHON_PROGRAM;
    PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, named);
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    free(program);
    if (PyStatus_Exception(status)) return refuse(TREADLE_E_SYSTEM, status.err_msg ? status.err_msg : "the interpreter does not begin");
    PyEval_SaveThread();
    return TREADLE_OK;
}

/* --- Calls of Python, with its lock ------------------------------------------------------------------ */

static PyObject *take_exception(void) {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Py_XDECREF(type), Py_XDECREF(trace);
    return value;
#endif
}
static treadle_status tell_exception(const char *what) {
    char line[512];
    PyObject *error = take_exception(), *text = error ? PyObject_Str(error) : NULL;
    const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
    snprintf(line, sizeof line, "%s: %s: %s", what, error ? Py_TYPE(error)->tp_name : "?", words ? words : "?");
    Py_XDECREF(text), Py_XDECREF(error);
    PyErr_Clear();
    return refuse(TREADLE_E_CALLBACK, line);
}

/* Calls a function of treadle._embedded with one number, as what it returns. */
static treadle_status call_python(const char *name, long long number, long long *out_number) {
    PyGILState_STATE state = PyGILState_Ensure();
    treadle_status status = TREADLE_OK;
    PyObject *module = PyImport_ImportModule("treadle._embedded");
    PyObject *returned = module ? PyObject_CallMethod(module, name, "L", number) : NULL;
    if (returned) *out_number = PyLong_AsLongLong(returned);
    if (PyErr_Occurred()) status = tell_exception(module ? name : "the package treadle cannot be imported");
    Py_XDECREF(returned), Py_XDECREF(module);
    PyGILState_Release(state);
    return status;
}

static bool prepend_folders(char *folders) {
    PyObject *path = PySys_GetObject("path");
    bool is_good = path != NULL;
    char *rest = NULL;
    Py_ssize_t index = 0;
    for (char *folder = strtok_r(folders, ":", &rest); folder && is_good; folder = strtok_r(NULL, ":", &rest)) {
        PyObject *text = PyUnicode_DecodeFSDefault(folder);
        int is_there = text ? PySequence_Contains(path, text) : -1;
        is_good = is_there >= 0 && (is_there > 0 || PyList_Insert(path, index++, text) == 0);
        Py_XDECREF(text);
    }
    return is_good;
}

/* Where modules are, and which library the package is to use: that of the host, whatever else it would find. */
static treadle_status prepare(const char *library) {
    char *folders = copy_setting("python-path");
    if (!folders) return TREADLE_E_NOMEM;
    PyGILState_STATE state = PyGILState_Ensure();
    treadle_status status = TREADLE_OK;
    PyObject *path = PyUnicode_DecodeFSDefault(library);
    if (!path || PySys_SetObject("_treadle_library", path) != 0 || !prepend_folders(folders)) status = tell_exception("sys");
    Py_XDECREF(path);
    PyGILState_Release(state);
    free(folders);
    return status;
}

/* --- The plugin -------------------------------------------------------------------------------------- */

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    Dl_info library;
    long long none;
    *out_instance = NULL;
    void *handle = dladdr((const void *)(uintptr_t)host->table->status_name, &library)
                       ? dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
    bool is_shared = handle && dlsym(handle, "treadle_version");
    if (handle) dlclose(handle);
    if (!is_shared) {
        return refuse(TREADLE_E_NOT_SUPPORTED, "the host has Treadle in itself: Python needs one that is linked with libtreadle.so.1");
    }
    pthread_mutex_lock(&beginning);
    treadle_status status = Py_IsInitialized() ? TREADLE_OK : begin_interpreter();
    pthread_mutex_unlock(&beginning);
    if (status == TREADLE_OK) status = prepare(library.dli_fname);
    return status == TREADLE_OK ? call_python("begin", (intptr_t)host, &none) : status;
}

static treadle_status start(void *instance) {
    long long address = 0;
    (void)instance;
    treadle_status status = call_python("start", 0, &address);
    extension = (const void *)(intptr_t)address;
    return status;
}

static treadle_status stop(void *instance, int64_t timeout_ns) {
    long long result = TREADLE_E_CALLBACK;
    (void)instance;
    treadle_status status = call_python("stop", timeout_ns, &result);
    return status == TREADLE_OK ? (treadle_status)result : status;
}

static void deinit(void *instance) {
    long long none;
    (void)instance;
    call_python("end", 0, &none);
}

static const void *get_extension(void *instance, const char *id) {
    (void)instance;
    return strcmp(id, TREADLE_PYTHON) == 0 ? extension : NULL;
}

static treadle_status set(void *instance, const char *key, const char *value) {
    (void)instance, (void)key, (void)value;
    return TREADLE_E_STATE;
}

static const char *const optional[] = {"treadle.host/1", NULL};
static const char *const provided[] = {TREADLE_PYTHON, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "files", .description = "files of Python, separated by colons"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "settings", .description = "theirs: a line ID.KEY=VALUE each"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "python-path", .description = "folders of modules, separated by colons"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "python", .description = "the interpreter whose environment is used"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.treadle.python", .name = "Python", .version = "1.0",
    .optional = optional, .provided = provided, .settings = settings, .setting_count = sizeof settings / sizeof *settings,
    .init = init, .start = start, .stop = stop, .deinit = deinit, .get_extension = get_extension, .set = set,
};
TREADLE_PLUGIN_EXPORT(description)
