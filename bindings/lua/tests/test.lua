-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- What the list of host tests (Tests/hosts/lua.lua) leaves open: errors, coroutines, ports, who keeps what, bad input.
local ffi = require("ffi")
local treadle = require("treadle")
local core = require("treadle.core")
ffi.cdef [[
  int pipe(int *);
  ssize_t write(int, const void *, size_t);
  ssize_t read(int, void *, size_t);
]]
local loop = treadle.loop()
local seen = {}
local function note(word) return function() seen[#seen + 1] = word end end
local function said()
  local text = table.concat(seen, " ")
  seen = {}
  return text
end
local function same(value, wanted)
  if value ~= wanted then error("is " .. tostring(value):gsub("%z", "0") .. ", not " .. tostring(wanted):gsub("%z", "0"), 2) end
end
local function refused(code, word, fn, ...)
  local ok, raised = pcall(fn, ...)
  if ok then error("was not refused", 2) end
  if type(raised) ~= "table" or raised.code ~= code or not tostring(raised):find(word, 1, true) then
    error("raised " .. tostring(raised) .. ", not " .. code .. " with " .. word, 2)
  end
end
local function poll() return loop:run{seconds = 0, when_empty = true} end
local function kept(of)
  collectgarbage() collectgarbage()
  core.drop_retired()
  local count = 0
  for _ in pairs(of) do count = count + 1 end
  return count
end

local tests = {}

-- ABI-10, ABI-11, BLK-3
function tests.posts_behind_one_that_fails_are_called_later()
  for i = 1, 100 do loop:post(i == 70 and function() error("seventy", 0) end or note(i)) end
  local ok, raised = pcall(poll)
  same(ok, false)
  same(raised, "seventy")
  same(#seen, 69)
  same(poll(), "timed-out")
  same(#seen, 99)
  for i = 70, 99 do same(seen[i], i + 1) end
  said()
end

-- ABI-3, RUN-8
function tests.an_error_ends_the_run_behind_its_exit()
  local observer = treadle.observer{activities = {"exit"}, notify = note("exit")}
  local source = treadle.source{perform = function() error({reason = 7}) end}
  loop:add(observer) loop:add(source)
  source:signal()
  local ok, raised = pcall(poll)
  same(ok, false)
  same(raised.reason, 7)
  same(said(), "exit")
  same(poll(), "timed-out")
  observer:invalidate() source:invalidate()
  said()
end

-- ABI-3, ABI-10: of each kind of callback; what is behind it is called by the next run.
function tests.an_error_of_any_callback_comes_out_of_its_run()
  local function fail() error({kind = "mistake"}) end
  local ends, keeper = ffi.new("int[2]"), treadle.source{perform = fail}
  same(ffi.C.pipe(ends), 0)
  ffi.C.write(ends[1], "x", 1)
  loop:add(keeper)
  local makers = {
    source = function() local one = treadle.source{perform = fail} loop:add(one) one:signal() return one end,
    timer = function() return treadle.timer{fire = fail} end,
    observer = function() return treadle.observer{activities = {"before-sources"}, notify = fail} end,
    ["exit observer"] = function() return treadle.observer{activities = {"exit"}, notify = fail} end,
    descriptor = function() return treadle.descriptor{fd = ends[0], ready = fail} end,
    port = function() local one = treadle.port{receive = fail} one:send(1, "x") return one end,
    post = function() loop:post(fail) end,
    perform = function() loop:perform(fail) end,
  }
  for kind, make in pairs(makers) do
    local item = make()
    if item then loop:add(item) end
    local ok, raised = pcall(loop.run, loop, {seconds = 0, when_empty = true})
    if ok or type(raised) ~= "table" or raised.kind ~= "mistake" then error(kind .. " raised " .. tostring(raised), 0) end
    if item then item:invalidate() end
    loop:post(note(kind))
    same(poll(), "timed-out")
    same(said(), kind)
  end
  keeper:invalidate()
  ffi.C.close(ends[0]) ffi.C.close(ends[1])
end

function tests.an_error_of_an_inner_run_passes_through_the_outer_one()
  loop:post(function()
    loop:post_in("inner", error, "deep", 0)
    same(select(2, pcall(loop.run, loop, {mode = "inner", seconds = 0, when_empty = true})), "deep")
    note("caught")()
    loop:post_in("inner", error, "deeper", 0)
    loop:run{mode = "inner", seconds = 0, when_empty = true}
  end)
  same(select(2, pcall(poll)), "deeper")
  same(said(), "caught")
end

-- Between two events the run stands on no stack of C's.
function tests.a_coroutine_yields_in_a_callback()
  local source = treadle.source{perform = function() seen[#seen + 1] = coroutine.yield("paused") end}
  loop:add(source)
  source:signal()
  local co = coroutine.create(poll)
  same(select(2, coroutine.resume(co)), "paused")
  same(loop:mode(), treadle.DEFAULT)
  loop:post(note("post"))
  same(select(2, coroutine.resume(co, "resumed")), "timed-out")
  same(loop:mode(), nil)
  poll()
  same(said(), "resumed post")
  source:invalidate()
end

-- PORT-6, MPORT-1, MPORT-3
function tests.ports_carry_texts_and_ports()
  local answers = treadle.port{receive = function(_, message) seen[#seen + 1] = message.id .. message[1] end}
  local port = treadle.port{capacity = 2, receive = function(_, message)
    seen[#seen + 1] = message.id .. ":" .. #message .. tostring(message[1])
    if message.reply_port then message.reply_port:send(9, "answer") end
    if type(message[2]) == "table" then message[2]:send(8, "other") end
  end}
  loop:add(port) loop:add(answers)
  same(port:send(1, "a\0b", {reply_port = answers}), true)
  same(port:send(2, {"", answers}), true)
  same(port:send(3, "full", {seconds = 0}), false)
  for _ = 1, 6 do poll() end
  same(said(), "1:1a\0b 2:2 9answer 8other")
  same(port:send(4, {}), true)
  poll()
  same(said(), "4:0nil")
  port:invalidate() answers:invalidate()
  refused("CLOSED", "port", port.send, port, 1, "x")
  refused("ARG", "component", port.send, port, 1, {5})
end

function tests.descriptors_are_told_and_paused()
  local ends, byte = ffi.new("int[2]"), ffi.new("char[1]")
  same(ffi.C.pipe(ends), 0)
  local descriptor = treadle.descriptor{fd = ends[0], ready = function(_, what)
    ffi.C.read(ends[0], byte, 1)
    seen[#seen + 1] = what
  end}
  loop:add(descriptor)
  ffi.C.write(ends[1], "xy", 2)
  same(poll(), "timed-out")
  same(said(), "r")
  descriptor:set_events("")
  poll() poll()
  same(said(), "")
  descriptor:set_events("r")
  poll()
  same(said(), "r")
  descriptor:invalidate()
  ffi.C.close(ends[0]) ffi.C.close(ends[1])
end

-- ABI-2: a loop keeps what is in it; nobody keeps what has ended.
function tests.what_nobody_refers_to_goes()
  poll()
  local before = kept(core.functions)
  for _ = 1, 10 do treadle.source{perform = note("never")} end
  same(kept(core.functions), before)
  loop:add(treadle.timer{delay = 0, fire = function(timer)
    note(tostring(timer:is_valid()))()
    timer:invalidate()
  end})
  same(kept(core.functions), before + 1)
  loop:run()
  same(said(), "true")
  same(kept(core.functions), before)
  same(kept(core.calls), 0)
end

-- ABI-2: also where its function refers to it.
function tests.what_has_been_invalidated_goes_with_its_function()
  poll()
  local ends, functions, items, others = ffi.new("int[2]"), kept(core.functions), kept(core.items), setmetatable({}, {__mode = "k"})
  same(ffi.C.pipe(ends), 0)
  local makers = {
    source = function(fn) return treadle.source{perform = fn} end,
    timer = function(fn) return treadle.timer{delay = 3600, fire = fn} end,
    observer = function(fn) return treadle.observer{notify = fn} end,
    descriptor = function(fn) return treadle.descriptor{fd = ends[0], ready = fn} end,
    port = function(fn) return treadle.port{receive = fn} end,
  }
  for kind, make in pairs(makers) do
    for i = 1, 500 do
      local item
      item = make(function() return item end)
      if i % 2 == 0 then loop:add(item, "other") end
      item:invalidate()
    end
    same(kind .. " " .. kept(core.functions) - functions, kind .. " 0")
    same(kind .. " " .. kept(core.items) - items, kind .. " 0")
  end
  local source
  source = treadle.source{perform = function(own)
    own:invalidate()
    others[own], source = true, nil
  end}
  loop:add(source)
  source:signal()
  poll()
  same(kept(others), 0)
  ffi.C.close(ends[0]) ffi.C.close(ends[1])
end

function tests.objects_say_what_they_are()
  local function says(object, ...)
    for _, word in ipairs{...} do
      if not tostring(object):find(word, 1, true) then error(tostring(object) .. " lacks " .. word, 2) end
    end
  end
  local makers = {
    source = treadle.source{perform = print, label = "tea"}, timer = treadle.timer{fire = print, label = "tea"},
    observer = treadle.observer{notify = print, label = "tea"}, port = treadle.port{receive = print, label = "tea"},
    descriptor = treadle.descriptor{fd = 0, ready = print, label = "tea"},
  }
  for kind, item in pairs(makers) do
    says(item, kind, "tea")
    item:invalidate()
    says(item, kind, "tea")
  end
  says(loop, "loop")
  local worker = treadle.thread("worker")
  says(worker, "thread", "worker")
  worker:stop_and_join()
  says(worker, "thread", "worker")
end

-- RUN-4, RUN-5, STOP-2
function tests.runs_end_by_what_they_are_told()
  same(loop:run{mode = "unknown"}, "finished")
  local source = treadle.source{perform = note("s")}
  loop:add(source)
  source:signal()
  same(loop:run{return_after_source = true}, "handled-source")
  same(loop:run{seconds = 0.01}, "timed-out")
  loop:post(function() same(loop:stop(), true) end)
  same(loop:run(), "stopped")
  same(loop:stop(), false)
  loop:request_stop()
  same(loop:run(), "stopped")
  same(loop:contains(source), true)
  same(loop:remove(source), true)
  same(loop:remove(source), false)
  same(said(), "s")
  local timer = treadle.timer{delay = 3600, fire = note("t")}
  loop:add(timer)
  poll()
  same(math.abs(loop:prepare() - treadle.now() - 3600) < 60, true)
  timer:arm(0)
  same(loop:prepare(), 0)
  loop:run{seconds = 0}
  same(said(), "t")
  timer:invalidate()
end

function tests.bad_input_is_refused_by_name()
  refused("ARG", "function", treadle.source, {})
  refused("ARG", "function", treadle.timer, {fire = 5})
  refused("ARG", "delay", treadle.timer, {fire = print, delay = 1, at = 2})
  refused("ARG", "delay", treadle.timer, {fire = print, delay = "soon"})
  refused("ARG", "seconds", treadle.timer, {fire = print, delay = 0 / 0})
  refused("ARG", "seconds", loop.run, loop, {seconds = 0 / 0})
  refused("ARG", "mode", loop.run, loop, {mode = 5})
  refused("ARG", "activity", treadle.observer, {notify = print, activities = {"often"}})
  refused("ARG", "events", treadle.descriptor, {fd = 0, ready = print, events = "x"})
  refused("ARG", "fd", treadle.descriptor, {ready = print})
  refused("ARG", "item", loop.add, loop, {})
  refused("ARG", "fn", loop.post, loop, 7)
  refused("RANGE", "capacity", treadle.port, {receive = print, capacity = 2 ^ 30})
  local worker = treadle.thread("worker")
  refused("WRONG_THREAD", "loop", worker:loop().run, worker:loop(), {seconds = 0})
  refused("ARG", "signature", worker.call, worker, ffi.C.abs, "{x=i}", 1)
  worker:stop_and_join()
  refused("CLOSED", "", worker.call, worker, ffi.C.abs, "ii", 1)
  refused("ARG", "argument 1", worker.call, worker, ffi.C.abs, "ii", "one")
  refused("ARG", "argument 1", worker.call, worker, ffi.C.abs, "ii")
  refused("ARG", "signature has 1 arguments, not 2", worker.call, worker, ffi.C.abs, "ii", 1, 2)
  same(said(), "")
end

-- Lua's own references are some of them.
function tests.an_object_with_all_its_references_says_so()
  local lib, count = core.lib, 0
  while lib.treadle_retain(loop.handle) == 0 do count = count + 1 end
  refused("RANGE", "references", treadle.loop)
  for _ = 1, count do same(lib.treadle_release(loop.handle), 0) end
  -- The item of an event, of which Lua has let go.
  local source, taken = treadle.source{perform = note "p"}, 0
  loop:add(source)
  source:signal()
  local handle = source.handle
  while lib.treadle_retain(handle) == 0 do taken = taken + 1 end
  core.items[source.token] = nil
  refused("RANGE", "references", poll)
  same(said(), "")
  for _ = 1, taken do same(lib.treadle_release(handle), 0) end
  source:signal()
  poll()
  same(said(), "p")
  source:invalidate()
end

function tests.misspelt_options_are_refused_by_name()
  local port = treadle.port{receive = print}
  local calls = {
    [treadle.source] = {perform = print}, [treadle.timer] = {fire = print}, [treadle.observer] = {notify = print},
    [treadle.descriptor] = {fd = 0, ready = print}, [treadle.port] = {receive = print},
    [function(options) return loop:run(options) end] = {seconds = 0}, [function(options) return port:send(1, "x", options) end] = {},
  }
  for call, options in pairs(calls) do
    options.intervall = 1
    refused("ARG", "no option intervall", call, options)
    refused("ARG", "options", call, 5)
  end
  refused("ARG", "no option 1", treadle.source, {print})
  refused("ARG", "no option fire", treadle.source, {perform = print, fire = print})
  refused("ARG", "label", treadle.source, {perform = print, label = 5})
  refused("ARG", "order", treadle.source, {perform = print, order = "first"})
  refused("ARG", "once", treadle.observer, {notify = print, once = 1})
  refused("ARG", "reply_port", port.send, port, 1, "x", {reply_port = {}})
  refused("ARG", "id", port.send, port, "one", "x")
  refused("ARG", "function", treadle.source)
  port:invalidate()
end

function tests.numbers_and_names_are_refused_that_c_cannot_have()
  local port, timer, worker = treadle.port{receive = print}, treadle.timer{fire = print, interval = 1}, treadle.thread()
  for _, number in ipairs{0.5, 2 ^ 60, -1e30, 0 / 0, 1 / 0} do
    refused("ARG", "order", treadle.source, {perform = print, order = number})
    refused("ARG", "order", treadle.observer, {notify = print, order = number})
    refused("ARG", "capacity", treadle.port, {receive = print, capacity = number})
    refused("ARG", "fd", treadle.descriptor, {ready = print, fd = number})
    refused("ARG", "id", port.send, port, number, "x")
  end
  refused("ARG", "id", port.send, port, 2 ^ 31, "x")
  for _, name in ipairs{5, {}, "a\0b"} do
    for _, call in ipairs{loop.add, loop.remove, loop.contains} do refused("ARG", "mode", call, loop, timer, name) end
    for _, call in ipairs{loop.add_common_mode, loop.open_pollable, loop.prepare} do refused("ARG", "mode", call, loop, name) end
    refused("ARG", "mode", loop.post_in, loop, {name}, print)
    refused("ARG", "name", treadle.thread, name)
  end
  refused("ARG", "modes", loop.post_in, loop, 5, print)
  refused("ARG", "modes", loop.post_in, loop, {}, print)
  refused("ARG", "mode", loop.run, loop, {mode = "a\0b"})
  refused("ARG", "label", treadle.source, {perform = print, label = "a\0b"})
  refused("ARG", "mode", loop.add_common_mode, loop)
  timer:invalidate()
  port:invalidate()
  worker:stop_and_join()
end

ffi.cdef "int abs(int); int close(int);"
local passed, failed = 0, 0
for name, test in pairs(tests) do
  seen = {}
  local ok, why = xpcall(test, function(why) return debug.traceback(tostring(why)) end)
  if ok then passed = passed + 1 else
    failed = failed + 1
    print(name .. ": " .. why)
  end
end
print(passed .. " passed, " .. failed .. " failed")
os.exit(failed == 0 and 0 or 1, true)
