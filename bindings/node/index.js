// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// Run loops for Node.js. What the types and functions are for is told in index.d.ts.
'use strict';

let native;
try {
  native = require('./build/treadle.node');
} catch (error) {
  error.message = `treadle: the addon is not built: run npm install, or node install.js in its folder (${error.message})`;
  throw error;
}

const numbers = require('./numbers');

const { DEFAULT_MODE: DEFAULT, COMMON_MODES: COMMON, FOREVER } = numbers;
const Activity = Object.freeze({
  ENTRY: numbers.ENTRY, BEFORE_TIMERS: numbers.BEFORE_TIMERS, BEFORE_SOURCES: numbers.BEFORE_SOURCES,
  BEFORE_WAITING: numbers.BEFORE_WAITING, AFTER_WAITING: numbers.AFTER_WAITING, EXIT: numbers.EXIT, ALL: numbers.ALL_ACTIVITIES,
});
const Events = Object.freeze({
  READABLE: numbers.READABLE, WRITABLE: numbers.WRITABLE, HANGUP: numbers.HANGUP, FAILED: numbers.FAILED,
});
const RESULTS = {
  [numbers.RUN_FINISHED]: 'finished', [numbers.RUN_STOPPED]: 'stopped', [numbers.RUN_TIMED_OUT]: 'timedOut',
  [numbers.RUN_HANDLED_SOURCE]: 'handledSource',
};

// --- Arguments -----------------------------------------------------------------------------------------------------

function fn(value, name) {
  if (typeof value !== 'function') throw new TypeError(`${name} is not a function`);
  return value;
}
function number(value, name) {
  if (typeof value !== 'number' || Number.isNaN(value)) throw new TypeError(`${name} is not a number`);
  return value;
}
function integer(value, name, least, most) {
  if (!Number.isInteger(value)) throw new TypeError(`${name} is not an integer`);
  if (value < least || value > most) throw new RangeError(`${name} is not from ${least} to ${most}`);
  return value;
}
function text(value, name) {
  if (typeof value !== 'string') throw new TypeError(`${name} is not a string`);
  if (value.includes('\0')) throw new TypeError(`${name} has a NUL in it`);
  if (Buffer.byteLength(value) > 1000) throw new RangeError(`${name} is longer than 1000 bytes`);
  return value;
}
function label(value) {
  text(value, 'label');
  if (Buffer.byteLength(value) > 255) throw new RangeError('label is longer than 255 bytes');
  return value;
}
function handle(value) {
  if (typeof value !== 'bigint' || value < 0n || value >= 2n ** 64n) throw new TypeError('handle is not a handle');
  return BigInt.asIntN(64, value);
}
/** Milliseconds as nanoseconds. */
function nanoseconds(value, name) {
  number(value, name);
  if (value >= 9e12) return FOREVER;
  return BigInt(Math.round(Math.max(value, -9e12) * 1e6));
}

// --- Items ---------------------------------------------------------------------------------------------------------

/** What the loop may call stays; the rest stays as long as somebody has it. */
const held = new Set();

class Item {
  #native;
  #modes = new Set();
  constructor(make) {
    // The functions do not keep their item: that would keep both for ever.
    const self = new WeakRef(this);
    this.#native = make((call) => (...values) => {
      const item = self.deref();
      if (!item) return;
      try { call(item, ...values); } finally { item.#keep(); }
    });
  }
  static of(item) {
    if (!(item instanceof Item)) throw new TypeError('item is not a Timer, Source, Observer or Descriptor');
    return item.#native;
  }
  static added(item, mode) {
    item.#modes.add(mode);
    item.#keep();
  }
  static removed(item, mode) {
    item.#modes.delete(mode);
    item.#keep();
  }
  static changed(item) { item.#keep(); }
  #keep() {
    if (this.#modes.size > 0 && this.isValid && !this.isIdle) held.add(this);
    else held.delete(this);
  }
  get isIdle() { return false; }
  get handle() { return native.handleOf(this.#native); }
  get isValid() { return native.isValid(this.#native); }
  invalidate() {
    const result = native.invalidate(this.#native);
    this.#keep();
    return result;
  }
  describe() { return native.describe(this.#native); }
  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() { this.invalidate(); }
}

class Timer extends Item {
  constructor(fire, { delay, interval = 0, tolerance = 0, endsAfterFiring = true, label: name = '' } = {}) {
    fn(fire, 'fire'), label(name);
    const step = nanoseconds(interval, 'interval'), late = nanoseconds(tolerance, 'tolerance');
    if (step < 0n) throw new RangeError('interval is negative');
    const first = delay === undefined ? step : nanoseconds(delay, 'delay');
    super((called) => native.makeTimer({ fire: called(fire) }, name, first, step, late, endsAfterFiring ? 1 : 0));
  }
  arm(delay) {
    const result = native.arm(Item.of(this), nanoseconds(delay, 'delay'));
    Item.changed(this);
    return result;
  }
  get nextFire() { return native.nextFire(Item.of(this)); }
  get isIdle() { return this.nextFire === 0n; }
}

class Source extends Item {
  constructor({ perform = () => {}, schedule = () => {}, cancel = () => {}, order = 0, label: name = '' } = {}) {
    fn(perform, 'perform'), fn(schedule, 'schedule'), fn(cancel, 'cancel'), label(name);
    integer(order, 'order', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    super((called) => native.makeSource({ perform: called(perform), schedule: called(schedule), cancel: called(cancel) }, name, order));
  }
  signal({ wake = true } = {}) { return native.signal(BigInt.asIntN(64, this.handle), Boolean(wake)); }
  get isSignalled() { return native.isSignalled(Item.of(this)); }
}

class Observer extends Item {
  constructor(notify, activities = Activity.ALL, { once = false, order = 0, label: name = '' } = {}) {
    fn(notify, 'notify'), label(name);
    integer(activities, 'activities', 1, 0xffffffff), integer(order, 'order', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    super((called) => native.makeObserver({ notify: called(notify) }, name, order, activities, once ? 1 : 0));
  }
}

class Descriptor extends Item {
  constructor(fd, ready, { events = Events.READABLE, label: name = '' } = {}) {
    fn(ready, 'ready'), label(name);
    integer(fd, 'fd', 0, 0x7fffffff), integer(events, 'events', 0, 3);
    super((called) => native.makeDescriptor({ ready: called(ready) }, name, fd, events));
  }
  setEvents(events) { return native.setEvents(Item.of(this), integer(events, 'events', 0, 3)); }
}

// --- The thread's loop ---------------------------------------------------------------------------------------------

function added(loop, item, mode) {
  loop.add(item, mode);
  return item;
}

let current;
let isReferenced = false;

class RunLoop {
  constructor() { throw new TypeError('RunLoop.current() is the only one'); }
  static current() { return (current ??= Object.create(RunLoop.prototype)); }
  get handle() { return native.handleOfLoop(); }
  get passes() { return native.passes(); }
  describe() { return native.describeLoop(); }

  post(call, ...values) {
    fn(call, 'call');
    native.post({ post: () => call(...values) });
  }
  perform(call, ...values) {
    fn(call, 'call');
    return new Promise((resolve, reject) => {
      native.hold(1);
      const post = () => {
        native.hold(-1);
        try { resolve(call(...values)); } catch (error) { reject(error); }
      };
      try { native.post({ post }); } catch (error) { native.hold(-1), reject(error); }
    });
  }

  add(item, mode = COMMON) {
    const result = native.add(Item.of(item), text(mode, 'mode'));
    Item.added(item, mode);
    return result;
  }
  remove(item, mode = COMMON) {
    const result = native.remove(Item.of(item), text(mode, 'mode'));
    Item.removed(item, mode);
    return result;
  }
  contains(item, mode = COMMON) { return native.contains(Item.of(item), text(mode, 'mode')); }
  after(delay, fire, options = {}) { return added(this, new Timer(fire, { ...options, delay }), options.mode); }
  every(interval, fire, options = {}) { return added(this, new Timer(fire, { ...options, interval }), options.mode); }
  on(activities, notify, options = {}) { return added(this, new Observer(notify, activities, options), options.mode); }
  reader(fd, ready, options = {}) { return added(this, new Descriptor(fd, ready, options), options.mode); }

  run({ mode = DEFAULT, timeout, returnAfterSource = false, whenEmpty = false } = {}) {
    const limit = timeout === undefined ? FOREVER : nanoseconds(timeout, 'timeout');
    return RESULTS[native.run(text(mode, 'mode'), limit, (returnAfterSource ? numbers.RUN_RETURN_AFTER_SOURCE : 0) | (whenEmpty ? numbers.RUN_WHEN_EMPTY : 0))];
  }
  stop() { return native.stop(BigInt.asIntN(64, this.handle)); }
  requestStop({ allLevels = false } = {}) { return native.requestStop(BigInt.asIntN(64, this.handle), allLevels ? 1 : 0); }
  wake() { return native.wake(BigInt.asIntN(64, this.handle)); }

  ref() {
    if (!isReferenced) native.hold(1);
    isReferenced = true;
    return this;
  }
  unref() {
    if (isReferenced) native.hold(-1);
    isReferenced = false;
    return this;
  }
}

module.exports = {
  DEFAULT, COMMON, Activity, Events, RunLoop, Timer, Source, Observer, Descriptor,
  signal: (of, { wake = true } = {}) => native.signal(handle(of), Boolean(wake)),
  wake: (loop) => native.wake(handle(loop)),
  stop: (loop) => native.stop(handle(loop)),
  requestStop: (loop, { allLevels = false } = {}) => native.requestStop(handle(loop), allLevels ? 1 : 0),
  version: native.version(),
};
