/**
 * Preloaded into a server that drains for 60 seconds: what its drain gives to turns has passed when SIGUSR2 comes, and no sooner. What is
 * kept for closing is its own, so that a server ends in order however busy the machine is.
 */
import timers from 'node:timers/promises';

const DRAIN_MS = 60_000;
const CLOSING_MS = 1_500;

const passed = Promise.withResolvers();
process.on('SIGUSR2', passed.resolve);
const wait = timers.setTimeout;
timers.setTimeout = (delayMs, ...others) =>
  delayMs === DRAIN_MS - CLOSING_MS ? passed.promise : wait(delayMs, ...others);
