-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- Sources, timers, observers, descriptors and ports. An item lives as long as a loop has it or Lua refers to it.
local ffi = require("ffi")
local core = require("treadle.core")
local run = require("treadle.run")
local lib, constants, check, demand = core.lib, core.constants, core.check, core.demand

local items = {}
local Item = {}
Item.__index = Item

--- Whether it may be called still.
function Item:is_valid() return lib.treadle_is_valid(self.handle) end
--- Ends it: it leaves all loops, and is not called any more. Its function goes at once, since the token of a source, a descriptor
--- or a port is retired only when nothing refers to the item, and the function may do that.
function Item:invalidate()
  local status = check(lib.treadle_invalidate(self.handle))
  if self.token then core.functions[self.token] = nil end
  core.drop_retired()
  return status == constants.OK
end

local function class(kind)
  local made = setmetatable({kind = kind, __tostring = core.describe}, Item)
  made.__index = made
  return made
end
local Source, Timer, Observer, Descriptor, Port =
  class("source"), class("timer"), class("observer"), class("descriptor"), class("port")

local function wrap(of, handle, token)
  local item = setmetatable({handle = core.own(handle), token = token}, of)
  core.items[token] = item
  return item
end

local CLASSES = {
  [constants.EVENT_PERFORM] = {Source, "treadle_source"}, [constants.EVENT_TIMER] = {Timer, "treadle_timer"},
  [constants.EVENT_OBSERVER] = {Observer, "treadle_observer"}, [constants.EVENT_DESCRIPTOR] = {Descriptor, "treadle_descriptor"},
  [constants.EVENT_MESSAGE] = {Port, "treadle_port"},
}
-- The item of an event, of which Lua had let go; nil for one that is gone.
function run.item_of(event, token)
  local of = CLASSES[event.kind]
  local status = lib.treadle_retain(event.subject)
  if status == constants.E_RANGE then check(status) end
  if status < 0 then return nil end
  return wrap(of[1], ffi.cast(of[2], event.subject), token)
end

-- The options of each kind of item besides its label.
local OPTIONS = {
  source = {perform = "function", order = "integer"},
  timer = {fire = "function", delay = "number", at = "number", interval = "number", tolerance = "number"},
  observer = {notify = "function", activities = "table", order = "integer", once = "boolean"},
  descriptor = {ready = "function", fd = "integer", events = "string"},
  port = {receive = "function", capacity = "integer"},
}
for _, types in pairs(OPTIONS) do types.label = "string" end
local SENDING = {reply_port = "table", seconds = "number"}

local function options_of(kind, options) return core.options(options, OPTIONS[kind], (kind == "observer" and "an " or "a ") .. kind) end

-- What a context says besides its label, for each kind; set is what has been worked out already. None of them is a function
-- made for the call: a compiled trace would keep that, and with it the options, for as long as the trace exists.
local fill = {}
local function make(of, options, fn, set)
  local name = of.kind
  demand(fn, "the function of a " .. name .. " is missing")
  local context = core.struct("treadle_" .. name .. "_context")
  local out = ffi.new("treadle_" .. name .. "[1]")
  local token = core.new_token()
  context.host, context.token = core.host, token
  context.label = options.label
  fill[name](context, options, set)
  check(lib["treadle_" .. name .. "_create"](context, out))
  core.functions[token] = fn
  return wrap(of, out[0], token)
end

function fill.source(context, options) context.order = options.order or 0 end
--- A source: perform is called with it after it was signalled. order: smaller first.
function items.source(options)
  options = options_of("source", options)
  return make(Source, options, options.perform)
end
--- Has it performed in the next pass, once. Wakes its loops.
function Source:signal() check(lib.treadle_source_signal_and_wake(self.handle)) end
function Source:is_signalled() return lib.treadle_source_is_signalled(self.handle) end

function fill.timer(context, options)
  if options.at then context.fire_at = core.nanoseconds(options.at)
  else context.fire_at = lib.treadle_time_now() + core.nanoseconds(options.delay or options.interval or 0) end
  context.interval_ns = core.nanoseconds(options.interval or 0)
  context.tolerance_ns = core.nanoseconds(options.tolerance or 0)
end
--- A timer: fire is called with it. delay or at: seconds from now, or on the clock of treadle.now(); interval: it repeats.
function items.timer(options)
  options = options_of("timer", options)
  demand(options.delay == nil or options.at == nil, "a timer has a delay or a date, not both")
  return make(Timer, options, options.fire)
end
--- Fires that many seconds from now, also once it has fired.
function Timer:arm(seconds) check(lib.treadle_timer_set_time(self.handle, core.nanoseconds(seconds), 0)) end
--- When it fires next; nil: never.
function Timer:next_fire()
  local out = ffi.new("int64_t[1]")
  check(lib.treadle_timer_get_next_fire(self.handle, out))
  return out[0] ~= 0 and tonumber(out[0]) / 1e9 or nil
end

function fill.observer(context, options, mask)
  context.activities, context.order, context.once = mask, options.order or 0, options.once and 1 or 0
end
--- An observer: notify is called with it and the activity. activities: a list of names; nil: all. once: for one call.
function items.observer(options)
  options = options_of("observer", options)
  local mask = 0
  for _, name in ipairs(options.activities or {"entry", "before-timers", "before-sources", "before-waiting", "after-waiting", "exit"}) do
    demand(run.activities[name], "there is no activity " .. tostring(name))
    mask = bit.bor(mask, run.activities[name])
  end
  return make(Observer, options, options.notify, mask)
end

local function events_of(text)
  demand(text == "r" or text == "w" or text == "rw" or text == "", 'events is "r", "w" or "rw"')
  return (text:find("r") and constants.READABLE or 0) + (text:find("w") and constants.WRITABLE or 0)
end
function fill.descriptor(context, options, mask) context.fd, context.events = options.fd or -1, mask end
--- A descriptor: ready is called with it and "r", "w", "rw" or "failed". fd stays the caller's.
function items.descriptor(options)
  options = options_of("descriptor", options)
  local mask = events_of(options.events or "r")
  core.integer(options.fd or -1, "fd", -2 ^ 31, 2 ^ 31 - 1)
  return make(Descriptor, options, options.ready, mask)
end
--- What to watch for from now on; "" pauses it.
function Descriptor:set_events(text) check(lib.treadle_descriptor_set_events(self.handle, events_of(text))) end

function fill.port(context, _, capacity) context.capacity = capacity end
--- A port: receive is called with it and each message. capacity: how many may wait.
function items.port(options)
  options = options_of("port", options)
  local capacity = core.integer(options.capacity or 0, "capacity", -2 ^ 31, 2 ^ 32 - 1)
  return make(Port, options, options.receive, capacity)
end
--- Sends a text, or a list of texts and ports, under a number. options: reply_port; seconds to wait for room (nil: for ever).
--- False: there was none in that time.
function Port:send(id, content, options)
  options = core.options(options, SENDING, "sending")
  demand(not options.reply_port or options.reply_port.kind == "port", "reply_port is not a port")
  core.integer(id, "id", -2 ^ 31, 2 ^ 31 - 1)
  if type(content) ~= "table" or content.handle then content = {content} end
  local components = ffi.new("treadle_component[?]", math.max(#content, 1))
  for i, part in ipairs(content) do
    local one = components[i - 1]
    one.descriptor = -1
    if type(part) == "string" then
      one.kind, one.bytes, one.length = constants.COMPONENT_BYTES, ffi.cast("const char *", part), #part
    else
      demand(type(part) == "table" and part.kind == "port", "a component is neither a text nor a port")
      one.kind, one.port = constants.COMPONENT_PORT, part.handle
    end
  end
  local message = core.struct("treadle_message_content")
  message.id, message.components, message.component_count = id, components, #content
  message.reply_port = options.reply_port and options.reply_port.handle or nil
  local status = lib.treadle_port_send(self.handle, message, core.nanoseconds(options.seconds))
  if status == constants.E_TIMEOUT then return false end
  check(status)
  return true
end

-- A port that came in a message: to send to.
local function borrowed_port(handle)
  if handle == nil then return nil end
  check(lib.treadle_retain(handle))
  return setmetatable({handle = core.own(handle)}, Port)
end
--- What a message says: id, reply_port, and its components, texts and ports, in a list.
function run.message_of(message)
  local info, component = core.struct("treadle_message_info"), ffi.new("treadle_component")
  check(lib.treadle_message_get_info(message, info))
  local made = {id = info.id, reply_port = borrowed_port(info.reply_port)}
  for i = 0, info.component_count - 1 do
    check(lib.treadle_message_get_component(message, i, component))
    if component.kind == constants.COMPONENT_BYTES then made[i + 1] = ffi.string(component.bytes, component.length)
    elseif component.kind == constants.COMPONENT_PORT then made[i + 1] = borrowed_port(component.port)
    else made[i + 1] = false end
  end
  return made
end

return items
