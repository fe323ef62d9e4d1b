-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- Threads that run loops of their own, and call functions of C there. A state of Lua's belongs to one thread, so no function of Lua's
-- is called on another.
local ffi = require("ffi")
local core = require("treadle.core")
local signals = require("treadle.signals")
local lib, constants, check, demand = core.lib, core.constants, core.check, core.demand

local threads = {}
local Thread = {__tostring = core.describe}
Thread.__index = Thread

--- Starts a thread that runs its loop until it is stopped.
function threads.thread(name)
  local out = ffi.new("treadle_thread[1]")
  if name ~= nil then core.text(name, "name") end
  check(lib.treadle_thread_create(core.struct("treadle_thread_config"), out))
  local thread = setmetatable({handle = core.own(out[0])}, Thread)
  if name then check(lib.treadle_thread_set_name(thread.handle, name)) end
  check(signals.without(lib.treadle_thread_start_and_wait, thread.handle, constants.FOREVER))
  return thread
end
--- The loop that it runs.
function Thread:loop()
  local out = ffi.new("treadle_loop[1]")
  check(lib.treadle_thread_copy_loop(self.handle, out))
  return setmetatable({handle = core.own(out[0])}, threads.Loop)
end
--- Ends its loop, and waits until it is over. at_once (false): without the rest of the pass that runs.
function Thread:stop_and_join(at_once)
  check(lib.treadle_thread_request_stop(self.handle, at_once and constants.STOP_AT_ONCE or 0))
  check(lib.treadle_thread_join(self.handle, constants.FOREVER, nil))
end

-- Types are made once: FFI keeps each one that it reads for ever.
local CODE = ffi.typeof("void (*)(void)")
local TYPES = {}
for letter, name in pairs{i = "int32_t", I = "uint32_t", q = "int64_t", Q = "uint64_t", d = "double", ["^"] = "void *"} do
  TYPES[letter] = {type = ffi.typeof(name), room = ffi.typeof(name .. "[1]"), size = ffi.sizeof(name)}
end
local function put(value, pointer, given) value[0] = pointer and ffi.cast(pointer, given) or given end
local function invocation_of(code, signature, ...)
  local config, out = core.struct("treadle_invocation_config"), ffi.new("treadle_invocation[1]")
  config.code, config.signature = ffi.cast(CODE, code), signature
  check(lib.treadle_invocation_create(config, out))
  local invocation, index = core.own(out[0]), -1
  for letter in signature:gmatch("%^?.") do
    local kind = TYPES[letter:sub(1, 1)]
    demand(kind or (index < 0 and letter == "v"), "signature has types other than i, I, q, Q, d and ^v")
    if index >= 0 then
      local value, given = kind.room(), (select(index + 1, ...))
      demand(pcall(put, value, letter == "^v" and kind.type, given), "argument " .. index + 1 .. " is not of the type " .. letter)
      check(lib.treadle_invocation_set_argument(invocation, index, value, kind.size))
    end
    index = index + 1
  end
  demand(index == select("#", ...), "signature has " .. index .. " arguments, not " .. select("#", ...))
  return invocation, signature:match("^v") and nil or TYPES[signature:sub(1, 1)]
end

--- Calls a function of C on the thread, with its type as treadle_signature_parse reads it ("iii": two integers, and the result),
--- and waits for what it returns.
function Thread:call(code, signature, ...)
  local invocation, result = invocation_of(code, signature, ...)
  local options = core.struct("treadle_invocation_options")
  options.thread, options.wait = self.handle, constants.WAIT_BLOCK
  check(lib.treadle_invocation_perform(invocation, options))
  if not result then return end
  local value = result.room()
  check(lib.treadle_invocation_get_result(invocation, value, result.size))
  return value[0]
end
--- The same without waiting.
function Thread:start_call(code, signature, ...)
  local invocation = invocation_of(code, signature, ...)
  local options = core.struct("treadle_invocation_options")
  options.thread = self.handle
  check(lib.treadle_invocation_perform(invocation, options))
end

return threads
