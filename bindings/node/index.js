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
function truth(value, name) {
  if (typeof value !== 'boolean') throw new TypeError(`${name} is neither true nor false`);
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
/** The options of a call: each has one of these names. */
function options(given, ...names) {
  if (given === null || typeof given !== 'object') throw new TypeError('options is not an object');
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`${unknown} is no option: there are ${names.join(', ')}`);
  return given;
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
  #functions = [];
  constructor(make) {
    const self = new WeakRef(this), functions = this.#functions;
    this.#native = make((call) => Item.#called(self, functions.push(call) - 1));
  }
  // The addon refers to neither the item nor its functions, which may refer to the item: it would keep all of them for ever.
  static #called(self, place) {
    return (...values) => {
      const item = self.deref();
      if (!item) return;
      try { item.#functions[place](item, ...values); } finally { item.#keep(); }
    };
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
    const wasValid = this.isValid;
    native.invalidate(this.#native);
    this.#keep();
    return wasValid;
  }
  describe() { return native.describe(this.#native); }
  [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() { this.invalidate(); }
}

class Timer extends Item {
  #served = 0n;
  constructor(fire, given = {}) {
    const { delay, interval = 0, tolerance = 0, endsAfterFiring = true, label: name = '' } =
      options(given, 'delay', 'interval', 'tolerance', 'endsAfterFiring', 'label');
    fn(fire, 'fire'), label(name), truth(endsAfterFiring, 'endsAfterFiring');
    const step = nanoseconds(interval, 'interval'), late = nanoseconds(tolerance, 'tolerance');
    if (step < 0n) throw new RangeError('interval is negative');
    const first = delay === undefined ? step : nanoseconds(delay, 'delay');
    const call = step > 0n ? fire : (timer) => {
      const served = timer.nextFire;
      // Its date is the one that it fires for until the call has returned; one that the function sets counts if it does not end then.
      try { fire(timer); } finally { timer.#served = endsAfterFiring ? timer.nextFire : served; }
    };
    super((called) => native.makeTimer({ fire: called(call) }, name, first, step, late, endsAfterFiring ? 1 : 0));
  }
  arm(delay) {
    const result = native.arm(Item.of(this), nanoseconds(delay, 'delay'));
    Item.changed(this);
    return result;
  }
  get nextFire() { return native.nextFire(Item.of(this)); }
  get isIdle() { return this.nextFire === 0n || this.nextFire === this.#served; }
}

const wakes = (given = {}) => truth(options(given, 'wake').wake ?? true, 'wake');

class Source extends Item {
  constructor(given = {}) {
    const { perform = () => {}, schedule = () => {}, cancel = () => {}, order = 0, label: name = '' } =
      options(given, 'perform', 'schedule', 'cancel', 'order', 'label');
    fn(perform, 'perform'), fn(schedule, 'schedule'), fn(cancel, 'cancel'), label(name);
    integer(order, 'order', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    super((called) => native.makeSource({ perform: called(perform), schedule: called(schedule), cancel: called(cancel) }, name, order));
  }
  signal(given) { return native.signal(BigInt.asIntN(64, this.handle), wakes(given)); }
  get isSignalled() { return native.isSignalled(Item.of(this)); }
}

class Observer extends Item {
  #isOver = false;
  constructor(notify, activities = Activity.ALL, given = {}) {
    const { once = false, order = 0, label: name = '' } = options(given, 'once', 'order', 'label');
    fn(notify, 'notify'), label(name), truth(once, 'once');
    integer(activities, 'activities', 1, 0xffffffff), integer(order, 'order', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    const call = once ? (observer, activity) => {
      observer.#isOver = true; // it ends when the call has returned
      notify(observer, activity);
    } : notify;
    super((called) => native.makeObserver({ notify: called(call) }, name, order, activities, once ? 1 : 0));
  }
  get isIdle() { return this.#isOver; }
}

class Descriptor extends Item {
  constructor(fd, ready, given = {}) {
    const { events = Events.READABLE, label: name = '' } = options(given, 'events', 'label');
    fn(ready, 'ready'), label(name);
    integer(fd, 'fd', 0, 0x7fffffff), integer(events, 'events', 0, 3);
    super((called) => native.makeDescriptor({ ready: called(ready) }, name, fd, events));
  }
  setEvents(events) { return native.setEvents(Item.of(this), integer(events, 'events', 0, 3)); }
}

// --- The thread's loop ---------------------------------------------------------------------------------------------

const levels = (given = {}) => (truth(options(given, 'allLevels').allLevels ?? false, 'allLevels') ? 1 : 0);

/** Adds what is made with options that are the item's, but for the mode. */
function added(loop, given, names, make) {
  const { mode, ...rest } = options(given, ...names, 'mode'), item = make(rest);
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
  after(delay, fire, given = {}) {
    return added(this, given, ['tolerance', 'endsAfterFiring', 'label'], (rest) => new Timer(fire, { ...rest, delay }));
  }
  every(interval, fire, given = {}) {
    return added(this, given, ['tolerance', 'label'], (rest) => new Timer(fire, { ...rest, interval }));
  }
  on(activities, notify, given = {}) {
    return added(this, given, ['once', 'order', 'label'], (rest) => new Observer(notify, activities, rest));
  }
  reader(fd, ready, given = {}) { return added(this, given, ['events', 'label'], (rest) => new Descriptor(fd, ready, rest)); }

  run(given = {}) {
    const { mode = DEFAULT, timeout, returnAfterSource = false, whenEmpty = false } =
      options(given, 'mode', 'timeout', 'returnAfterSource', 'whenEmpty');
    truth(returnAfterSource, 'returnAfterSource'), truth(whenEmpty, 'whenEmpty');
    const limit = timeout === undefined ? FOREVER : nanoseconds(timeout, 'timeout');
    const flags = (returnAfterSource ? numbers.RUN_RETURN_AFTER_SOURCE : 0) | (whenEmpty ? numbers.RUN_WHEN_EMPTY : 0);
    const result = native.run(text(mode, 'mode'), limit, flags);
    // A worker that was terminated leaves JavaScript at the next turn of a loop: here, before the caller goes on.
    for (let i = 0; result === undefined && i < 1e6; i++);
    return RESULTS[result ?? numbers.RUN_STOPPED];
  }
  stop() { return native.stop(BigInt.asIntN(64, this.handle)); }
  requestStop(given) { return native.requestStop(BigInt.asIntN(64, this.handle), levels(given)); }
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
  signal: (of, given) => native.signal(handle(of), wakes(given)),
  wake: (loop) => native.wake(handle(loop)),
  stop: (loop) => native.stop(handle(loop)),
  requestStop: (loop, given) => native.requestStop(handle(loop), levels(given)),
  version: native.version(),
};
