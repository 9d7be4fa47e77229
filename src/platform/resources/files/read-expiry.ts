import { ApiError } from '../../../kernel/http/errors.ts';
import type { FileFields } from './schema.ts';

/** As long as OpenAI's files live that end by themselves: an hour to thirty days. */
const MIN_SECONDS = 3_600;
const MAX_SECONDS = 2_592_000;
const DAY_SECONDS = 86_400;

/** When a file that is uploaded at `now` ends; null: never. Throws `invalid_request`. */
export function readExpiry(fields: FileFields, now: Date): Date | null {
  const { 'expires_after[anchor]': anchor, 'expires_after[seconds]': seconds, 'expires_after[days]': days } = fields;
  if (anchor === undefined && seconds === undefined && days === undefined) return null;
  if (anchor !== 'created_at') throw invalid('anchor', 'must be `created_at`');
  if ((seconds === undefined) === (days === undefined))
    throw invalid('seconds', 'or `days` must say how long, one of them');
  const [member, text, unit] =
    seconds === undefined ? (['days', days, DAY_SECONDS] as const) : (['seconds', seconds, 1] as const);
  const lifetime = /^\d{1,9}$/.test(text ?? '') ? Number(text) * unit : 0;
  if (lifetime < MIN_SECONDS || lifetime > MAX_SECONDS) {
    throw invalid(member, `must make ${MIN_SECONDS} seconds (an hour) to ${MAX_SECONDS} (thirty days)`);
  }
  return new Date(now.getTime() + lifetime * 1_000);
}

function invalid(member: string, problem: string): ApiError {
  const param = `expires_after[${member}]`;
  return new ApiError('invalid_request', { param, message: `\`${param}\` ${problem}.` });
}
