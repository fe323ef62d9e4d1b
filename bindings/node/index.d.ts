// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// Treadle for Node.js. Each thread of Node, the main one and each worker, has one run loop, which is served inside of Node's own: its
// callbacks come between Node's, and the microtasks run after each. Times are milliseconds, fractions included. Calls of Treadle's C
// interface by an addon or another thread, such as a signal of a source or a wake-up, reach the loop of the target's thread.
//
// An exception in a callback is handled like every uncaught one in Node: by 'uncaughtException', or the end of the process. A failed call
// throws an Error whose code is the status's name, such as TREADLE_E_ARG, with its number as status; an argument of a
// wrong type throws a TypeError, so does an option of an unknown name, and a number out of its range a RangeError.

/** The mode that a loop has from the beginning, which Node serves. Since 1.0. */
export const DEFAULT: string;
/** Stands for all common modes, where an item is added. Since 1.0. */
export const COMMON: string;
/** The activities of an observer. Since 1.0. */
export const Activity: Readonly<{
  ENTRY: number; BEFORE_TIMERS: number; BEFORE_SOURCES: number; BEFORE_WAITING: number; AFTER_WAITING: number; EXIT: number; ALL: number;
}>;
/** The events to watch a descriptor for, and those that occurred. Since 1.0. */
export const Events: Readonly<{ READABLE: number; WRITABLE: number; HANGUP: number; FAILED: number }>;
/** The version of the library in use. Since 1.0. */
export const version: string;

/** An item of a loop. It lives while it is in a mode to which JavaScript has added it, or JavaScript refers to it; its own functions do not
 *  count. Since 1.0. */
export abstract class Item {
  /** Its handle in C, as a number: for addons, and for signal() on another thread. Since 1.0. */
  readonly handle: bigint;
  /** False once it was invalidated, or has ended. Since 1.0. */
  readonly isValid: boolean;
  /** Ends it: it leaves its modes, and its functions are called no more. False if that was so already. Since 1.0. */
  invalidate(): boolean;
  /** It in words, for people who debug. Since 1.0. */
  describe(): string;
}

/** A timer: never early, on an exact grid if it repeats. Since 1.0. */
export class Timer extends Item {
  /** delay: until the first fire; without it, one interval. interval: 0 for once. tolerance: how late it may be, to share wake-ups.
   *  A one-shot is invalid after its callback; with endsAfterFiring: false it is idle, until it is armed again. Errors:
   *  RangeError for a negative interval. Since 1.0. */
  constructor(fire: (timer: Timer) => void,
              options?: { delay?: number; interval?: number; tolerance?: number; endsAfterFiring?: boolean; label?: string });
  /** Has it fire in so many milliseconds; Infinity: not before it is armed again. False if it is invalid. Since 1.0. */
  arm(delay: number): boolean;
  /** Its date in nanoseconds of the monotonic clock, as process.hrtime.bigint() counts; 0n when it has none. Since 1.0. */
  readonly nextFire: bigint;
  /** Whether it has no date: it has fired, or waits to be armed. Since 1.0. */
  readonly isIdle: boolean;
}

/** A source, which any thread may signal, and the loop performs. Since 1.0. */
export class Source extends Item {
  /** schedule and cancel are called when it was added to a mode, and when it has left one. order: smaller is performed first.
   *  Since 1.0. */
  constructor(functions?: {
    perform?: (source: Source) => void;
    schedule?: (source: Source, mode: string) => void;
    cancel?: (source: Source, mode: string) => void;
    order?: number;
    label?: string;
  });
  /** Has it performed; signals before that coalesce. wake: false leaves a sleeping loop asleep. False if it is invalid. Since 1.0. */
  signal(options?: { wake?: boolean }): boolean;
  /** Whether a signal has not been performed yet. Since 1.0. */
  readonly isSignalled: boolean;
}

/** Told what the loop does: each time that Node serves it is a run of one pass. Since 1.0. */
export class Observer extends Item {
  constructor(notify: (observer: Observer, activity: number) => void, activities?: number,
              options?: { once?: boolean; order?: number; label?: string });
}

/** A descriptor source: called in each pass while its descriptor is ready. The descriptor stays yours: invalidate before you close it.
 *  Since 1.0. */
export class Descriptor extends Item {
  constructor(fd: number, ready: (descriptor: Descriptor, events: number) => void, options?: { events?: number; label?: string });
  /** Sets the events to watch for; 0 pauses the source. Since 1.0. */
  setEvents(events: number): boolean;
}

/** The thread's run loop. Since 1.0. */
export class RunLoop {
  private constructor();
  /** The one of this thread. Since 1.0. */
  static current(): RunLoop;
  /** Its handle in C, as a number: for addons, and for wake() on another thread. Since 1.0. */
  readonly handle: bigint;
  /** How many passes it has made. Since 1.0. */
  readonly passes: number;
  /** It and its items in words, for people who debug. Since 1.0. */
  describe(): string;

  /** Has a function called in the next pass of a common mode, in the order of posting. Does not keep Node alive. Since 1.0. */
  post<A extends unknown[]>(call: (...values: A) => void, ...values: A): void;
  /** The same with a result. Keeps Node alive until it was called. Since 1.0. */
  perform<A extends unknown[], T>(call: (...values: A) => T | PromiseLike<T>, ...values: A): Promise<T>;

  /** Adds an item to a mode. False if it is there already, or invalid. Errors: TREADLE_E_EXISTS for a descriptor that another item of
   *  the mode watches. Since 1.0. */
  add(item: Item, mode?: string): boolean;
  /** Takes it out. False if it was not there. Since 1.0. */
  remove(item: Item, mode?: string): boolean;
  /** Whether the item is in the mode. Since 1.0. */
  contains(item: Item, mode?: string): boolean;
  /** Creates a timer and adds it; it fires once, after delay milliseconds. Since 1.0. */
  after(delay: number, fire: (timer: Timer) => void, options?: { tolerance?: number; endsAfterFiring?: boolean; label?: string; mode?: string }): Timer;
  /** Creates a timer and adds it; it fires after every interval milliseconds. Since 1.0. */
  every(interval: number, fire: (timer: Timer) => void, options?: { tolerance?: number; label?: string; mode?: string }): Timer;
  /** Creates an observer and adds it. Since 1.0. */
  on(activities: number, notify: (observer: Observer, activity: number) => void,
     options?: { once?: boolean; order?: number; label?: string; mode?: string }): Observer;
  /** Makes a descriptor source and adds it. Since 1.0. */
  reader(fd: number, ready: (descriptor: Descriptor, events: number) => void,
         options?: { events?: number; label?: string; mode?: string }): Descriptor;

  /** Runs the loop nested inside of Node's: Node's timers, sockets and microtasks wait until it returns. For a wait in a mode of its own.
   *  timeout: milliseconds; 0 makes one pass; without it there is no limit. whenEmpty: sleep also while the mode is empty. Since 1.0. */
  run(options?: { mode?: string; timeout?: number; returnAfterSource?: boolean; whenEmpty?: boolean }):
    'finished' | 'stopped' | 'timedOut' | 'handledSource';
  /** Ends the innermost run: that of run(), or the pass that is being served. False if there is none. Since 1.0. */
  stop(): boolean;
  /** The same, remembered for the next run if there is none. Since 1.0. */
  requestStop(options?: { allLevels?: boolean }): boolean;
  /** Ends a sleep. Since 1.0. */
  wake(): boolean;

  /** Keeps Node alive, as a timer of Node's own does, until unref(). By itself what is in the loop does not. Since 1.0. */
  ref(): this;
  /** Undoes ref(). Since 1.0. */
  unref(): this;
}

/** Signals a source of any thread by its handle. False if it is invalid. Errors: TREADLE_E_STALE, TREADLE_E_KIND. Since 1.0. */
export function signal(source: bigint, options?: { wake?: boolean }): boolean;
/** Wakes a loop of any thread by its handle. Errors: TREADLE_E_STALE, TREADLE_E_KIND. Since 1.0. */
export function wake(loop: bigint): boolean;
/** Ends the innermost run of a loop of any thread, as RunLoop.stop(). Since 1.0. */
export function stop(loop: bigint): boolean;
/** The same, remembered, as RunLoop.requestStop(). Since 1.0. */
export function requestStop(loop: bigint, options?: { allLevels?: boolean }): boolean;
