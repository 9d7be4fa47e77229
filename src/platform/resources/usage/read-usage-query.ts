/** What a request for usage asks: days and groups. */
import { systemClock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import { dayOf } from '../../budgets/index.ts';
import { GROUPS, MAX_RANGE_DAYS } from './schema.ts';

const DAY_MS = 86_400_000;

export type GroupName = keyof typeof GROUPS;

/** Days, both included; this month so far by default. Throws `invalid_period`. */
export function readDays(query: { readonly from?: string; readonly to?: string }): { from: string; to: string } {
  const now = systemClock.now();
  const to = query.to ?? dayOf(now);
  const from = query.from ?? `${to.slice(0, 7)}-01`;
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (!(days >= 1)) throw new ApiError('invalid_period', { param: 'from', message: '`from` is later than `to`.' });
  if (days > MAX_RANGE_DAYS) {
    throw new ApiError('invalid_period', {
      param: 'from',
      message: `There are ${days} days from \`from\` to \`to\`; at most ${MAX_RANGE_DAYS} are taken.`,
    });
  }
  return { from, to };
}

/** Throws `invalid_group_by`. */
export function readGroups(groupBy: string | readonly string[] | undefined): GroupName[] {
  const asked = [groupBy ?? 'day'].flat().flatMap((each) => each.split(','));
  const groups = asked.map((each) => each.trim()).filter((name): name is GroupName => Object.hasOwn(GROUPS, name));
  if (groups.length < asked.length || new Set(groups).size < groups.length) {
    throw new ApiError('invalid_group_by', {
      param: 'group_by',
      message: `\`group_by\` takes ${Object.keys(GROUPS).join(', ')}, each once, separated by commas.`,
    });
  }
  return groups;
}
