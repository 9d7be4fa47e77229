/** Schedules, and time zones wherever they stand. */
import type { ErrorTexts } from '../../kernel/http/errors.ts';

export const scheduleErrors = {
  invalid_cron: {
    status: 422,
    message:
      'The cron expression is not valid or never fires. Send five fields: minute, hour, day of month, month, day of week.',
  },
  invalid_timezone: {
    status: 422,
    message: 'The time zone is not known. Send an IANA name such as `Europe/Berlin`, or `UTC`.',
  },
} as const satisfies ErrorTexts;
