-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- Run loops for LuaJIT, over the C interface alone: see README.md.
local ffi = require("ffi")
local core = require("treadle.core")
local run = require("treadle.run")
local items = require("treadle.items")
local threads = require("treadle.threads")
local lib, constants, check, demand = core.lib, core.constants, core.check, core.demand

local treadle = {
  DEFAULT = constants.DEFAULT_MODE, COMMON = constants.COMMON_MODES, Error = core.Error,
  source = items.source, timer = items.timer, observer = items.observer, descriptor = items.descriptor, port = items.port,
  thread = threads.thread, after_fork_child = core.after_fork_child,
}

--- Seconds on the monotonic clock that timers go by.
function treadle.now() return tonumber(lib.treadle_time_now()) / 1e9 end

local Loop = {__tostring = core.describe}
Loop.__index = Loop
treadle.Loop = Loop

function Loop.__eq(a, b) return a.handle == b.handle end

--- The loop of the calling thread.
function treadle.loop()
  local handle = lib.treadle_loop_current()
  if handle == nil then check(constants.E_NOMEM) end
  check(lib.treadle_retain(handle))
  return setmetatable({handle = core.own(handle)}, Loop)
end
threads.Loop = Loop

local RUN = {mode = "string", seconds = "number", return_after_source = "boolean", when_empty = "boolean"}
--- Runs the loop. options: mode; seconds (nil: for ever, 0: polls); return_after_source; when_empty: sleeps while nothing is in the
--- mode. Returns "finished", "stopped", "timed-out" or "handled-source". An error in a function ends the run, and is raised here.
function Loop:run(options)
  options = core.options(options, RUN, "a run")
  local flags = (options.return_after_source and constants.RUN_RETURN_AFTER_SOURCE or 0) + (options.when_empty and constants.RUN_WHEN_EMPTY or 0)
  return run.run(self.handle, options.mode or constants.DEFAULT_MODE, core.nanoseconds(options.seconds), flags)
end

local function item_handle(item)
  demand(type(item) == "table" and item.handle, "item is no item of treadle's")
  return item.handle
end
local function mode_name(mode, default) return core.text(mode == nil and default or mode, "mode") end
--- Adds an item to a mode; nil: to the common modes. False if it was there.
function Loop:add(item, mode)
  return check(lib.treadle_loop_add(self.handle, item_handle(item), mode_name(mode, constants.COMMON_MODES))) == 0
end
function Loop:remove(item, mode)
  return check(lib.treadle_loop_remove(self.handle, item_handle(item), mode_name(mode, constants.COMMON_MODES))) == 0
end
function Loop:contains(item, mode)
  return lib.treadle_loop_contains(self.handle, item_handle(item), mode_name(mode, constants.COMMON_MODES))
end

--- Calls fn(...) once in a pass of the loop, in the common modes. On the loop's own thread: Lua has no other.
function Loop:post(fn, ...) return self:post_in(nil, fn, ...) end
--- The same in some modes: a name, or a list of them.
function Loop:post_in(modes, fn, ...)
  demand(type(fn) == "function", "fn is not a function")
  local token, post = core.new_token(), core.struct("treadle_post")
  local list, count = core.mode_list(modes)
  post.modes, post.mode_count, post.host, post.token = list, count, core.host, token
  core.calls[token] = {fn = fn, n = select("#", ...), ...}
  local status = lib.treadle_loop_post_in(self.handle, post)
  if status ~= constants.OK then core.calls[token] = nil end
  return check(status) == constants.OK
end
--- Calls fn(...) once, in its turn among the requests that other threads make of this one.
function Loop:perform(fn, ...)
  demand(type(fn) == "function", "fn is not a function")
  local token, request = core.new_token(), core.struct("treadle_request")
  request.host, request.token = core.host, token
  core.calls[token] = {fn = fn, n = select("#", ...), ...}
  local status = lib.treadle_perform(self.handle, request)
  if status ~= constants.OK then core.calls[token] = nil end
  check(status)
end

--- Ends the innermost run; false if there is none.
function Loop:stop() return check(lib.treadle_loop_stop(self.handle)) == constants.OK end
--- Ends the innermost run, or the next one.
function Loop:request_stop() check(lib.treadle_loop_request_stop(self.handle, 0)) end
function Loop:wake() check(lib.treadle_loop_wake(self.handle)) end
function Loop:is_waiting() return lib.treadle_loop_is_waiting(self.handle) end
--- The mode that is run; nil: none.
function Loop:mode()
  local text, length = ffi.new("char[256]"), ffi.new("size_t[1]")
  local status = lib.treadle_loop_get_current_mode(self.handle, text, 256, length)
  if status == constants.E_NOT_FOUND then return nil end
  check(status)
  return ffi.string(text)
end
function Loop:add_common_mode(mode) check(lib.treadle_loop_add_common_mode(self.handle, mode_name(mode))) end
--- A descriptor by which another loop waits for this one, which it then runs with seconds = 0 and when_empty. The caller's to close.
function Loop:open_pollable(mode)
  local out = ffi.new("int32_t[1]")
  check(lib.treadle_loop_open_pollable(self.handle, mode_name(mode, constants.DEFAULT_MODE), out))
  return out[0]
end
--- When a run would have something to do: 0 for now, a date of treadle.now(), or nil for none that is known.
function Loop:prepare(mode)
  local out = ffi.new("int64_t[1]")
  check(lib.treadle_loop_prepare(self.handle, mode_name(mode, constants.DEFAULT_MODE), out))
  return out[0] ~= constants.FOREVER and tonumber(out[0]) / 1e9 or nil
end

return treadle
