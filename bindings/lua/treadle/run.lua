-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- Runs: each is pulled (treadle_loop_next), event by event, and the functions are called from here. So nothing of Lua's is below a
-- frame of C, errors pass as they do in Lua, and a coroutine may yield in a callback.
local ffi = require("ffi")
local core = require("treadle.core")
local signals = require("treadle.signals")
local lib, constants, check = core.lib, core.constants, core.check

local CAPACITY = 64
local ACTIVITIES = {
  [constants.ENTRY] = "entry", [constants.BEFORE_TIMERS] = "before-timers", [constants.BEFORE_SOURCES] = "before-sources",
  [constants.BEFORE_WAITING] = "before-waiting", [constants.AFTER_WAITING] = "after-waiting", [constants.EXIT] = "exit",
}
local RESULTS = {
  [constants.RUN_FINISHED] = "finished", [constants.RUN_STOPPED] = "stopped", [constants.RUN_TIMED_OUT] = "timed-out",
  [constants.RUN_HANDLED_SOURCE] = "handled-source",
}

local run = {activities = {}}
for bit_of, name in pairs(ACTIVITIES) do run.activities[name] = bit_of end

-- Pulls that no run uses.
local spare = {}
local function take_pull()
  local pull = table.remove(spare)
  if pull then return pull end
  pull = {struct = core.struct("treadle_pull"), events = ffi.new("treadle_event[?]", CAPACITY)}
  pull.struct.events, pull.struct.event_size, pull.struct.capacity = pull.events, ffi.sizeof("treadle_event"), CAPACITY
  return pull
end

local function call_of(token)
  local call = core.calls[token]
  core.calls[token] = nil
  if call then return call.fn(unpack(call, 1, call.n)) end
end

local function readiness(value)
  if bit.band(value, constants.FAILED) ~= 0 then return "failed" end
  local r, w = bit.band(value, constants.READABLE) ~= 0, bit.band(value, constants.WRITABLE) ~= 0
  return (r and "r" or "") .. (w and "w" or "")
end

-- What each kind of event is handled by.
local HANDLERS = {
  [constants.EVENT_POST] = function(event, token) return call_of(token) end,
  [constants.EVENT_REQUEST] = function(event, token) return call_of(token) end,
  [constants.EVENT_PERFORM] = function(event, token, fn, item) return fn(item) end,
  [constants.EVENT_TIMER] = function(event, token, fn, item) return fn(item) end,
  [constants.EVENT_OBSERVER] = function(event, token, fn, item) return fn(item, ACTIVITIES[event.value]) end,
  [constants.EVENT_DESCRIPTOR] = function(event, token, fn, item) return fn(item, readiness(event.value)) end,
  [constants.EVENT_MESSAGE] = function(event, token, fn, item)
    return fn(item, run.message_of(ffi.cast("treadle_message", event.argument)))
  end,
}

local function handle(event)
  local token = tonumber(event.token)
  local handler, fn = HANDLERS[event.kind], core.functions[token]
  if event.kind == constants.EVENT_POST or event.kind == constants.EVENT_REQUEST then return handler(event, token) end
  if not handler or not fn then return end
  return handler(event, token, fn, core.items[token] or run.item_of(event, token))
end

-- Handles all that is fetched, until the run is over: its status.
local function pull_all(loop, pull)
  local struct, events = pull.struct, pull.events
  while true do
    local status = lib.treadle_loop_next(loop, struct)
    core.drop_retired()
    if status ~= constants.OK then return status end
    local count = tonumber(struct.count)
    for i = 0, count - 1 do
      pull.at = i + 1
      handle(events[i])
    end
    pull.at = 0
  end
end

-- After an error: the event was not completed, and the run ends. What its exit observers are told may fail, too.
local function fail(loop, pull)
  local struct = pull.struct
  while struct.run ~= 0 do
    struct.failed = math.max(pull.at, 1)
    pull.at = 1
    local ok, status = pcall(pull_all, loop, pull)
    -- Between two events, where the hook of a signal raises: there is none that has failed.
    if ok and struct.run ~= 0 and status == constants.E_ARG then
      struct.failed = 0
      lib.treadle_loop_stop(loop)
      pcall(pull_all, loop, pull)
    end
  end
end

--- Runs a loop in a mode. An error in a function ends the run, and is raised here.
function run.run(loop, mode, timeout, flags)
  core.demand(type(mode) == "string", "mode is not a text")
  local deadline = timeout < constants.FOREVER and timeout > 0 and lib.treadle_time_now() + timeout or nil
  signals.watch(loop, mode)
  while true do
    local pull = take_pull()
    local struct = pull.struct
    struct.host, struct.run, struct.mode, struct.timeout_ns, struct.failed = core.host, 0, mode, timeout, 0
    struct.flags = flags + constants.RUN_RETURN_ON_INTERRUPT
    pull.at = 0
    local ok, result = pcall(pull_all, loop, pull)
    if not ok then fail(loop, pull) end
    signals.leave()
    spare[#spare + 1] = pull
    if not ok then error(result, 0) end
    if result ~= constants.RUN_INTERRUPTED then return RESULTS[check(result)] end
    -- A signal: Lua's own handler has set a hook, which raises its error before this goes on.
    if deadline then timeout = math.max(tonumber(deadline - lib.treadle_time_now()), 0) end
  end
end
-- Hooks are not looked at in compiled code.
jit.off(run.run)
jit.off(pull_all)

return run
