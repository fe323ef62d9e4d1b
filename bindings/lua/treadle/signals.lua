-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- Ctrl-C. Lua's own handler of SIGINT only sets a hook, which Lua looks at when it goes on; so a sleep has to end for it, and the
-- signal must not come between the last look and the sleep. An observer blocks it just before each sleep, and another lets it
-- in again just after; while it is blocked, a descriptor of the kernel's tells that it is there, and ends the sleep.
local ffi = require("ffi")
local core = require("treadle.core")
local lib, constants, check = core.lib, core.constants, core.check

ffi.cdef [[
  int pthread_sigmask(int, const uint64_t *, uint64_t *);
  int signalfd(int, const uint64_t *, int);
]]
local SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK, SFD_CLOEXEC = 0, 1, 2, 0x80000
-- Room for a sigset_t, with the second bit for signal 2.
local interrupt = ffi.new("uint64_t[16]", {2})

local signals = {}
local is_blocked, fd, observers = false, -1, {}

local function observe(activity, order, fn)
  local context, out = core.struct("treadle_observer_context"), ffi.new("treadle_observer[1]")
  local token = core.new_token()
  context.host, context.token, context.activities, context.order = core.host, token, activity, order
  check(lib.treadle_observer_create(context, out))
  local handle = core.own(out[0])
  core.functions[token] = fn
  core.items[token] = {handle = handle}
  observers[#observers + 1] = core.items[token]
end

--- Calls a function that makes a thread, which is not to get the signal in place of this one.
function signals.without(fn, ...)
  local old = ffi.new("uint64_t[16]")
  ffi.C.pthread_sigmask(SIG_BLOCK, interrupt, old)
  local result = fn(...)
  ffi.C.pthread_sigmask(SIG_SETMASK, old, nil)
  return result
end

local function unblock()
  is_blocked = false
  ffi.C.pthread_sigmask(SIG_UNBLOCK, interrupt, nil)
end

--- After a sleep, and when the run is over, however.
function signals.leave() if is_blocked then unblock() end end

--- For a run of a mode of the calling thread's loop.
function signals.watch(loop, mode)
  if #observers == 0 then
    local old = ffi.new("uint64_t[16]")
    ffi.C.pthread_sigmask(SIG_BLOCK, nil, old)
    signals.is_off = bit.band(tonumber(old[0] % 4), 2) ~= 0 -- somebody else takes it
    fd = ffi.C.signalfd(-1, interrupt, SFD_CLOEXEC)
    signals.is_off = signals.is_off or fd < 0
    observe(constants.BEFORE_WAITING, 0x7fffffffffffffffLL, function()
      is_blocked = true
      ffi.C.pthread_sigmask(SIG_BLOCK, interrupt, nil)
    end)
    observe(constants.AFTER_WAITING, -0x7fffffffffffffffLL, signals.leave)
  end
  if signals.is_off then return end
  if signals.loop ~= loop then
    check(lib.treadle_loop_set_interrupt_descriptor(loop, fd))
    signals.loop = loop
  end
  for _, observer in ipairs(observers) do check(lib.treadle_loop_add(loop, observer.handle, mode)) end
end

--- In the child of a fork.
function signals.forget() observers, signals.loop = {}, nil end
core.forget_signals = signals.forget

return signals
