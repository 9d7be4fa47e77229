/** Each name of every portfolio is looked at once a day, at its registry: see reading-share.ts for what that costs. */

export { createDailyLooks } from './daily-looks.ts';
