/** Schedules: turns that begin at the times of a cron expression. */
export { findNextFire } from './fire-times.ts';
export { dropWaiting, MAX_WAITING, queueDelivery } from './queue-delivery.ts';
export { createSchedules, defineScheduleJobs } from './run-schedules.ts';
export { isTimeZone } from './zone-time.ts';
