-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- The list of host tests, in LuaJIT: runs, modes, items, posts, threads and ports. Each case has a mode of its own name.
local ffi = require("ffi")
local treadle = require("treadle")
ffi.cdef [[
  int pipe(int *);
  ssize_t write(int, const void *, size_t);
  ssize_t read(int, void *, size_t);
  void *memmove(void *, const void *, size_t);
]]
local C = ffi.C
local library = ffi.load(os.getenv("TREADLE_LIBRARY"))
local loop = treadle.loop()
local mode, seen, ends

local function same(value, wanted, text)
  if value ~= wanted then error((text or "") .. " " .. tostring(value) .. ", not " .. tostring(wanted), 2) end
end
local function refused(code, word, fn, ...)
  local ok, raised = pcall(fn, ...)
  if ok or type(raised) ~= "table" or raised.code ~= code or not tostring(raised):find(word, 1, true) then
    error("raised " .. tostring(raised) .. ", not " .. code .. " with " .. word, 2)
  end
end
local function note(word) return function() seen[#seen + 1] = word end end
local function said(wanted) same(table.concat(seen), wanted, "noted") end
local function at_end(fn) table.insert(ends, 1, fn) end
local function added(item)
  loop:add(item, mode)
  at_end(function() item:invalidate() end)
  return item
end
local function source(word) return added(treadle.source{perform = note(word)}) end
local function pass(of) return loop:run{mode = of or mode, seconds = 0, when_empty = true} end
local function run(options)
  options = options or {}
  options.mode = mode
  return loop:run(options)
end

local cases = {}

function cases.empty()
  local began = treadle.now()
  same(run(), "finished")
  same(run{seconds = 0.001, when_empty = true}, "timed-out")
  same(treadle.now() >= began + 0.001, true, "late enough")
end
cases["time-limit"] = function()
  local began = treadle.now()
  source("s"):signal()
  same(run{seconds = 0}, "timed-out")
  said("s")
  same(run{seconds = 0.005}, "timed-out")
  same(treadle.now() >= began + 0.005, true, "late enough")
end
function cases.handled()
  source("s"):signal()
  same(run{return_after_source = true}, "handled-source")
  said("s")
end
cases["stop-nothing"] = function()
  same(loop:stop(), false)
  same(pass(), "timed-out")
end
function cases.wake()
  added(treadle.observer{activities = {"before-waiting"}, notify = function()
    note("w")()
    if #seen < 3 then loop:wake() else loop:stop() end
  end})
  same(run{when_empty = true}, "stopped")
  said("www")
end

function cases.modes()
  local one = source("s")
  same(loop:add(one, mode), false)
  same(loop:contains(one, mode) and not loop:contains(one, "other"), true, "contained")
  one:signal()
  pass("other")
  said("")
  same(pass(), "timed-out")
  said("s")
  same(loop:remove(one, mode) and not loop:remove(one, mode) and not loop:contains(one, mode), true, "removed")
end
function cases.common()
  local one = treadle.source{perform = note("s")}
  loop:add(one, treadle.COMMON)
  same(loop:contains(one, mode), false)
  loop:add_common_mode(mode)
  same(loop:contains(one, mode) and loop:contains(one, treadle.DEFAULT), true, "contained")
  one:signal()
  same(pass(), "timed-out")
  said("s")
  same(loop:remove(one, treadle.COMMON) and not loop:contains(one, mode), true, "removed")
end
cases["two-loops"] = function()
  local worker, timer = treadle.thread(), added(treadle.timer{delay = 1e6, fire = note("t")})
  same(worker:loop():add(timer, mode), false)
  same(loop:contains(timer, mode) and not worker:loop():contains(timer, mode), true, "contained")
  worker:stop_and_join()
end
function cases.invalid()
  local one = source("s")
  one:signal()
  same(one:invalidate() and not one:is_valid() and not one:is_signalled() and not loop:contains(one, mode), true, "ended")
  one:invalidate()
  one:signal()
  same(loop:add(one, mode), false)
  same(run(), "finished")
  said("")
end
cases["end-other"] = function()
  local both = {}
  for i = 1, 2 do
    both[i] = added(treadle.timer{delay = 0, fire = function()
      note("t")()
      for _, one in ipairs(both) do one:invalidate() end
    end})
  end
  same(run(), "finished")
  said("t")
end

cases["signal-kept"] = function()
  local one = treadle.source{perform = note("s")}
  one:signal()
  same(one:is_signalled(), true)
  added(one)
  same(pass(), "timed-out")
  said("s")
end
function cases.coalesce()
  local one = source("s")
  for _ = 1, 3 do one:signal() end
  same(one:is_signalled(), true)
  for _ = 1, 2 do pass() end
  same(one:is_signalled(), false)
  said("s")
end
cases["self-signal"] = function()
  for _, word in ipairs{"a", "b"} do
    added(treadle.source{perform = function(own) note(word)() own:signal() end}):signal()
  end
  for _ = 1, 3 do pass() end
  said("ababab")
end

cases["timer-again"] = function()
  local timer = added(treadle.timer{delay = 0, fire = function(own)
    note("t")()
    if #seen == 1 then own:arm(1e-6) end
  end})
  same(run(), "finished")
  said("tt")
  same(timer:is_valid(), true)
  same(timer:next_fire(), nil)
  timer:arm(1e-6)
  same(run(), "finished")
  said("ttt")
end
cases["timer-none"] = function()
  local timer = added(treadle.timer{delay = 1000, fire = note("t")})
  same(run{seconds = 0}, "timed-out")
  timer:arm(math.huge)
  same(timer:next_fire(), nil)
  same(run(), "finished")
  said("")
end
cases["timer-moved"] = function()
  local worker, timer = treadle.thread(), added(treadle.timer{delay = 1000, fire = note("t")})
  worker:start_call(library.treadle_timer_set_time, "i^vqI", timer.handle, 0, 0)
  same(run(), "finished")
  said("t")
  worker:stop_and_join()
end

cases["observer-once"] = function()
  local observer = added(treadle.observer{once = true, notify = note("o")})
  for _ = 1, 2 do pass() end
  same(observer:is_valid(), false)
  said("o")
end
cases["observer-order"] = function()
  local both = {"entry", "exit"}
  for _, one in ipairs{{"a", both, 1}, {"b", both, 0}, {"c", {"entry"}, 0}} do
    added(treadle.observer{activities = one[2], order = one[3], notify = note(one[1])})
  end
  pass()
  said("bcaba")
end

local function pipe()
  local both = ffi.new("int[2]")
  same(C.pipe(both), 0)
  at_end(function() C.close(both[0]) C.close(both[1]) end)
  return both[0], both[1]
end
local function watched(fd) return treadle.descriptor{fd = fd, ready = function(_, what) note(what:find("r") and "r" or "h")() end} end
cases["descriptor-ready"] = function()
  local reads, writes = pipe()
  added(watched(reads))
  pass()
  said("")
  C.write(writes, "x", 1)
  for _ = 1, 2 do pass() end
  said("rr")
  C.read(reads, ffi.new("char[1]"), 1)
  pass()
  said("rr")
end
cases["descriptor-paused"] = function()
  local reads, writes = pipe()
  local descriptor = added(watched(reads))
  C.write(writes, "x", 1)
  descriptor:set_events("")
  same(run{seconds = 0}, "timed-out")
  said("")
  descriptor:set_events("r")
  pass()
  said("r")
end
cases["descriptor-end"] = function()
  local reads, writes = pipe()
  added(watched(reads))
  C.close(writes)
  pass()
  same(#seen, 1, "told")
end
cases["descriptor-twice"] = function()
  local reads = pipe()
  local second = watched(reads)
  added(watched(reads))
  refused("EXISTS", "fd", loop.add, loop, second, mode)
end
cases["descriptor-closed"] = function() refused("ARG", "fd", watched, 123456) end

cases["post-modes"] = function()
  for _, one in ipairs{{"a", mode}, {"b", "other"}, {"c", mode}} do loop:post_in(one[2], note(one[1])) end
  pass()
  said("ac")
  pass("other")
  said("acb")
end
cases["post-inside"] = function()
  loop:post(function() note("a")() loop:post(note("c")) end)
  loop:post(note("b"))
  for _ = 1, 2 do pass(treadle.DEFAULT) end
  said("abc")
end

function cases.describe()
  local one = treadle.source{perform = print, label = "bell"}
  same(tostring(one):find('source "bell"', 1, true), 1)
  same(tostring(one):find("invalid"), nil)
  one:invalidate()
  same(tostring(one):find("bell") and tostring(one):find("invalid") and true, true, "told")
end
function cases.label() refused("RANGE", "label", treadle.source, {perform = print, label = ("x"):rep(256)}) end
function cases.refused() refused("RANGE", "interval", treadle.timer, {fire = print, interval = -1}) end

cases["thread-order"] = function()
  local worker, text = treadle.thread(), ffi.new("char[101]")
  -- Each call shifts the letter that the call before it has written.
  text[0] = 97
  for i = 0, 98 do worker:start_call(C.memmove, "^v^v^vQ", text + i + 1, text + i, 1) end
  same(worker:call(library.treadle_loop_is_current, "I^v", worker:loop().handle) % 256, 1, "on the thread")
  same(ffi.string(text), ("a"):rep(100))
  worker:stop_and_join()
end
cases["thread-closed"] = function()
  local worker = treadle.thread()
  worker:stop_and_join()
  refused("CLOSED", "", worker.call, worker, C.getpid, "i")
  refused("CLOSED", "", worker.start_call, worker, C.getpid, "i")
end

local function port(capacity)
  return added(treadle.port{capacity = capacity, receive = function(_, message)
    note(message.id)()
    for _, part in ipairs(message) do note(type(part) == "table" and "port" or part)() end
    if message.reply_port then message.reply_port:send(2, "yes") end
  end})
end
function cases.message()
  local inbox = port()
  inbox:send(1, {"ab", inbox})
  inbox:send(2, "c")
  pass()
  said("1abport")
  pass()
  said("1abport2c")
end
function cases.reply()
  port():send(1, {}, {reply_port = port()})
  for _ = 1, 2 do pass() end
  said("12yes")
end
cases["port-full"] = function()
  local inbox = port(1)
  same(inbox:send(1, "a", {seconds = 0}), true)
  same(inbox:send(1, "b", {seconds = 0}), false)
  pass()
  said("1a")
  same(inbox:send(2, "c", {seconds = 0}), true)
end
cases["port-ended"] = function()
  local inbox = port()
  inbox:send(1, "a")
  inbox:invalidate()
  refused("CLOSED", "port", inbox.send, inbox, 1, "b")
  same(run(), "finished")
  said("")
end

local why_not = {
  ["stop-all"] = "the module's stop requests are for one level", ["timer-ends"] = "the module's timers are idle when they have fired",
  ["timer-by-hand"] = "the module fires no timers by hand", ["thread-at-once"] = "other threads call functions of C, one a pass",
  deadlock = "other threads call functions of C, which wait for no state of Lua's",
  ["thread-of-loop"] = "the module has no way from a loop to its thread", values = "the module has no values of threads",
  close = "items are called and ended on one thread", scope = "the module has no scopes", ["scope-closed"] = "the module has no scopes",
  closure = "the module is called by no function of C",
}
-- Plays a case in its mode, which it leaves empty.
local function play(name)
  mode, seen, ends = name, {}, {}
  local ok, why = pcall(cases[name])
  for _, fn in ipairs(ends) do fn() end
  if not ok then error(why, 0) end
end

return {play = play, why_not = why_not}
