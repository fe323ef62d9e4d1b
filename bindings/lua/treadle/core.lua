-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- The library, its errors, and the host: what the other files of the module share. LuaJIT cannot be called back from C at a
-- reasonable cost, so this host has no dispatch function; it fetches its events (run.lua).
local ffi = require("ffi")
local constants = require("treadle.cdef")

local core = {constants = constants}
core.lib = ffi.load(os.getenv("TREADLE_LIBRARY") or "libtreadle.so.1")
local lib = core.lib

--- An error of the library: code (the name behind TREADLE_E_), message, os_errno.
core.Error = {__tostring = function(self) return "treadle: " .. self.message end}
core.Error.__index = core.Error

--- Raises an error for a negative status; returns any other.
function core.check(status)
  if status >= 0 then return status end
  local info = ffi.new("treadle_error_info")
  info.struct_size = ffi.sizeof(info)
  lib.treadle_last_error(info)
  local name = ffi.string(lib.treadle_status_name(status)):gsub("^TREADLE_E_", "")
  local message = ffi.string(info.message)
  if info.code ~= status then message = ffi.string(lib.treadle_status_message(status)) end
  error(setmetatable({code = name, message = message .. " (" .. name .. ")", os_errno = info.os_errno}, core.Error), 0)
end
local check = core.check

--- A struct with its size in its first member.
function core.struct(kind)
  local made = ffi.new(kind)
  made.struct_size = ffi.sizeof(made)
  return made
end

--- Says which argument is wrong.
function core.demand(condition, what)
  if not condition then error(setmetatable({code = "ARG", message = what .. " (ARG)", os_errno = 0}, core.Error), 0) end
end

--- A text that C can have.
function core.text(value, name)
  core.demand(type(value) == "string", name .. " is not a text")
  core.demand(not value:find("\0", 1, true), name .. " has a NUL in it")
  return value
end
--- An integer that is exact, from least to most.
function core.integer(value, name, least, most)
  core.demand(type(value) == "number", name .. " is not a number")
  core.demand(value % 1 == 0 and value >= (least or -2 ^ 53) and value <= (most or 2 ^ 53), name .. " is not an integer that fits")
  return value
end

--- The options of a call, each of a known name and of its type; nil: none. types: the type of each, by its name.
function core.options(options, types, of)
  if options == nil then return {} end
  core.demand(type(options) == "table", "the options of " .. of .. " are not a table")
  for name, value in pairs(options) do
    core.demand(types[name], of .. " has no option " .. tostring(name))
    if types[name] == "integer" then core.integer(value, name) end
    core.demand(types[name] == "integer" or type(value) == types[name], name .. " is not a " .. types[name])
    if types[name] == "string" then core.text(value, name) end
  end
  return options
end

--- An object in a line: its kind, label and state.
function core.describe(object)
  local text, length = ffi.new("char[1024]"), ffi.new("size_t[1]")
  local status = lib.treadle_describe(object.handle, text, 1024, length)
  return status < 0 and "treadle: " .. ffi.string(lib.treadle_status_message(status)) or ffi.string(text):match("[^\n]*")
end

--- Seconds as nanoseconds; nil, and what is too long for them, for ever.
function core.nanoseconds(seconds)
  if seconds == nil then return constants.FOREVER end
  core.demand(type(seconds) == "number" and seconds == seconds, "seconds is not a number")
  if seconds >= 9.2e9 then return constants.FOREVER end
  if seconds <= -9.2e9 then return -constants.FOREVER end
  return ffi.cast("int64_t", seconds * 1e9)
end

-- The host, and its tokens. functions: of items, as long as they live; calls: of posts and requests, each of which is used up
-- by its event; items: weak, so that an item that nobody refers to goes.
core.functions, core.calls, core.items = {}, {}, setmetatable({}, {__mode = "v"})
local last_token = 0
local retired, retired_tokens, retired_count

function core.new_token()
  last_token = last_token + 1
  return last_token
end

local function register()
  local out = ffi.new("treadle_host[1]")
  check(lib.treadle_host_register(core.struct("treadle_host_config"), out))
  core.host = out[0]
  retired = lib.treadle_host_get_retired_count(core.host)
  retired_tokens, retired_count = ffi.new("uint64_t[64]"), ffi.new("size_t[1]")
end
register()

--- Forgets what will never be called any more.
function core.drop_retired()
  while retired[0] ~= 0 do
    if lib.treadle_host_take_retired(core.host, retired_tokens, 64, retired_count) < 0 or retired_count[0] == 0 then return end
    for i = 0, tonumber(retired_count[0]) - 1 do
      local token = tonumber(retired_tokens[i])
      core.functions[token], core.calls[token] = nil, nil
    end
  end
end

--- In the child of a fork: what the parent has made is refused from here on, with the code FORKED, and new things can be made.
function core.after_fork_child()
  check(lib.treadle_after_fork_child())
  core.functions, core.calls = {}, {}
  for token in pairs(core.items) do core.items[token] = nil end
  if core.forget_signals then core.forget_signals() end
  register()
end

--- A counted reference to a handle, given back by the garbage collector.
function core.own(handle) return ffi.gc(handle, lib.treadle_release) end

--- An array of mode names for a struct, and how many. nil: none, which stands for the common modes.
function core.mode_list(modes)
  if modes == nil then return nil, 0 end
  if type(modes) == "string" then modes = {modes} end
  core.demand(type(modes) == "table" and #modes > 0, "modes is neither the name of a mode nor a list of them")
  for _, mode in ipairs(modes) do core.text(mode, "mode") end
  return ffi.new("const char *[?]", #modes, modes), #modes
end

return core
