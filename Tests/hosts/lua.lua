-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- The list of host tests, in LuaJIT.
local ffi = require("ffi")
local treadle = require("treadle")
ffi.cdef [[
  int abs(int);
  int getpid(void);
  int kill(int, int);
  int fork(void);
  int waitpid(int, int *, int);
  void _exit(int);
  int close(int);
  int dup(int);
  int usleep(unsigned);
  unsigned alarm(unsigned);
  struct pollfd_of_test { int fd; short events, revents; };
  int poll(struct pollfd_of_test *, unsigned long, int);
]]
local C = ffi.C
-- Functions of the library, for other threads to call.
local library = ffi.load(os.getenv("TREADLE_LIBRARY"))
local loop = treadle.loop()
local seen = {}

local function require_that(condition, text) if not condition then error("failed: " .. text, 0) end end
local function note(word) return function() seen[#seen + 1] = word end end
local function said() return table.concat(seen) end
local function after(delay, fn, mode)
  local timer = treadle.timer{delay = delay, fire = fn}
  loop:add(timer, mode)
  return timer
end
local function read_file(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end
-- The least number that is free.
local function next_descriptor()
  local fd = C.dup(0)
  C.close(fd)
  return fd
end

local cases = {}

function cases.timers()
  local now, dates = treadle.now(), {}
  for _, pair in ipairs{{3, "c"}, {1, "a"}, {3, "d"}, {2, "b"}} do loop:add(treadle.timer{at = now + pair[1] / 1000, fire = note(pair[2])}) end
  loop:add(treadle.timer{at = now + 0.001, interval = 0.001, fire = function(timer)
    dates[#dates + 1] = timer:next_fire()
    require_that(treadle.now() >= now + 0.001, "early")
    if #dates == 10 then timer:invalidate() end
  end})
  require_that(loop:run() == "finished", "run")
  require_that(said() == "abcd", "order " .. said())
  for i, date in ipairs(dates) do
    local steps = (date - dates[1]) * 1000
    require_that(math.abs(steps - math.floor(steps + 0.5)) < 0.001 and (i == 1 or date > dates[i - 1]), "grid " .. steps)
  end
end

function cases.source()
  local made = {}
  for i, pair in ipairs{{"a", 1}, {"b", 0}, {"c", 0}} do
    made[i] = treadle.source{order = pair[2], perform = note(pair[1])}
    require_that(loop:add(made[i], treadle.DEFAULT), "added")
    require_that(not loop:add(made[i], treadle.DEFAULT), "added twice")
  end
  for _, i in ipairs{1, 1, 3, 2} do made[i]:signal() end
  for _ = 1, 2 do loop:run{seconds = 0} end
  require_that(said() == "cba", "order " .. said())
end

function cases.observer()
  local names = {entry = "E", ["before-timers"] = "t", ["before-sources"] = "s", ["before-waiting"] = "w", ["after-waiting"] = "a", exit = "X"}
  local timer = after(100, note("!"))
  loop:add(treadle.observer{notify = function(_, activity)
    seen[#seen + 1] = names[activity]
    -- Not before, or the first pass could fire it.
    if activity == "before-waiting" then timer:arm(0) end
  end})
  require_that(loop:run() == "finished" and said() == "Etswa!X", "sequence " .. said())
end

function cases.nested()
  after(0.005, note("n"), "other")
  after(0, function()
    seen[#seen + 1] = "("
    require_that(loop:run{mode = "other"} == "finished", "inner run")
    seen[#seen + 1] = ")"
  end)
  after(0.001, note("o"))
  require_that(loop:run() == "finished" and said() == "(n)o", "order " .. said())
end

cases["stop-inside"] = function()
  after(0, function()
    after(0, function() loop:stop() end, "inner")
    require_that(loop:run{mode = "inner", when_empty = true} == "stopped", "inner run")
    seen[#seen + 1] = "inner"
  end)
  require_that(loop:run() == "finished" and said() == "inner", "outer run " .. said())
  after(0, function() loop:stop() end)
  require_that(loop:run{when_empty = true} == "stopped", "run")
end

cases["stop-outside"] = function()
  local worker = treadle.thread("worker")
  after(0, function() worker:start_call(library.treadle_loop_stop, "i^v", loop.handle) end)
  require_that(loop:run{when_empty = true} == "stopped", "sleeping run")
  require_that(worker:call(library.treadle_loop_request_stop, "i^vI", loop.handle, 0) == 0, "request")
  require_that(loop:run{when_empty = true} == "stopped", "run that has not begun")
  worker:stop_and_join()
end

-- The threads are Treadle's, and call functions of C, which post for this host.
function cases.perform()
  local threads, each = {}, 12500
  local counts, total, core = {}, 0, require("treadle.core")
  for number = 1, 8 do threads[number], counts[number] = treadle.thread(), 0 end
  for i = 1, each do
    for number = 1, 8 do
      local token = core.new_token()
      core.calls[token] = {n = 0, fn = function()
        require_that(counts[number] == i - 1, "order")
        counts[number], total = i, total + 1
        if total == 8 * each then loop:stop() end
      end}
      threads[number]:start_call(library.treadle_host_post, "i^vQ^v", core.host, token, loop.handle)
    end
  end
  require_that(loop:run{when_empty = true} == "stopped" and total == 8 * each, "lost, of " .. total)
  for _, thread in ipairs(threads) do thread:stop_and_join() end
end

cases["wait-value"] = function()
  local worker = treadle.thread("worker")
  require_that(worker:call(C.abs, "ii", -42) == 42, "value")
  require_that(worker:call(library.treadle_loop_is_current, "i^v", worker:loop().handle) ~= 0, "thread")
  worker:stop_and_join()
end

function cases.errors()
  after(0, function() error({"escaped"}) end)
  after(0, note("on"))
  local ok, raised = pcall(loop.run, loop)
  require_that(not ok and raised[1] == "escaped", "raised")
  require_that(loop:run() == "finished" and said() == "on", "afterwards " .. said())
end

function cases.interrupt()
  local worker = treadle.thread("worker")
  after(0, function() worker:start_call(C.kill, "iii", C.getpid(), 2) end)
  local ok, raised = pcall(loop.run, loop, {when_empty = true})
  require_that(not ok and tostring(raised):find("interrupted"), tostring(raised))
  require_that(loop:run{seconds = 0, when_empty = true} == "timed-out", "afterwards")
  worker:stop_and_join()
end

-- The calls queue up behind one that sleeps, so that the process ends among them.
local function leave_busy()
  local worker = treadle.thread("worker")
  worker:call(C.abs, "ii", 1)
  worker:start_call(C.usleep, "iI", 1000)
  for _ = 1, 20000 do worker:start_call(C.abs, "ii", 1) end
end
function cases.exit()
  for _ = 1, 20 do require_that(os.execute("luajit " .. arg[0] .. " -leave-busy") == 0, "end") end
end

function cases.fork()
  local made = treadle.source{perform = note("s")}
  loop:add(made)
  local pid = C.fork()
  if pid == 0 then
    C.alarm(60)
    local ok, raised = pcall(made.signal, made)
    if ok or raised.code ~= "FORKED" then C._exit(1) end
    treadle.after_fork_child()
    if pcall(made.signal, made) then C._exit(2) end
    local own = treadle.loop()
    own:add(treadle.timer{delay = 0, fire = function() own:stop() end})
    C._exit(own:run() == "stopped" and 0 or 3)
  end
  local status = ffi.new("int[1]", 1)
  require_that(C.waitpid(pid, status, 0) == pid and status[0] == 0, "child " .. status[0])
  made:signal()
  require_that(loop:run{seconds = 0} == "timed-out" and said() == "s", "parent " .. said())
end

function cases.growth()
  local function resident() return tonumber(read_file("/proc/self/statm"):match("^%d+ (%d+)")) end
  local function make_and_drop(count)
    for _ = 1, count do
      for _, item in ipairs{treadle.source{perform = note("")}, treadle.timer{delay = 3600, fire = note("")}} do
        loop:add(item)
        item:invalidate()
      end
    end
    for _ = 1, 3 do collectgarbage() end
    loop:run{seconds = 0}
  end
  make_and_drop(5000)
  local pages, open = resident(), next_descriptor()
  make_and_drop(50000)
  local kept = 0
  for _ in pairs(require("treadle.core").functions) do kept = kept + 1 end
  require_that(kept <= 2, "functions are kept")
  require_that(resident() - pages < 2048 and next_descriptor() == open, (resident() - pages) .. " pages")
end

function cases.poll()
  local fd, worker = loop:open_pollable(), treadle.thread("worker")
  local one = ffi.new("struct pollfd_of_test[1]", {{fd, 1, 0}})
  local core = require("treadle.core")
  local token = core.new_token()
  core.calls[token] = {n = 0, fn = note("post")}
  after(0.005, note("timer"))
  worker:start_call(library.treadle_host_post, "i^vQ^v", core.host, token, loop.handle)
  while #seen < 2 do
    require_that(C.poll(one, 1, 60000) == 1, "told")
    loop:run{seconds = 0, when_empty = true}
  end
  worker:stop_and_join()
  C.close(fd)
end

function cases.stale()
  local timer = after(0, note("t"))
  timer:invalidate()
  pcall(timer.arm, timer, 0)
  local source = treadle.source{perform = note("s")}
  source:invalidate()
  source:signal()
  require_that(not source:is_valid() and not timer:is_valid(), "valid")
  require_that(loop:run() == "finished" and said() == "", said())
  library.treadle_release(timer.handle)
  ffi.gc(timer.handle, nil)
  local ok, raised = pcall(timer.arm, timer, 0)
  require_that(not ok and raised.code == "STALE", "stale " .. tostring(raised))
end

local items = require("lua_items")
items.why_not["wait-error"] = "other threads call functions of C, which raise no errors"

if arg[1] == "-leave-busy" then return leave_busy() end
for _, name in ipairs(arg) do
  local why_not = items.why_not[name]
  local ok, why = true, nil
  if not why_not then ok, why = pcall(cases[name] or items.play, name) end
  print(name .. ": " .. (why_not and "not applicable (" .. why_not .. ")" or ok and "pass" or "fail (" .. tostring(why) .. ")"))
end
-- What the other threads do has ended, or the process ends it.
