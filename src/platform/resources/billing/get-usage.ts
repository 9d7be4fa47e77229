import type { Clock } from '../../../kernel/clock/clock.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { OrganizationRead } from '../../access/operation.ts';
import { type Billing, readDrawSeries, readProjectUsage } from '../../billing/index.ts';
import type { OrgUsageOut, OrgUsageSeriesOut } from './schema.ts';

const DAY_MS = 86_400_000;
/** In a series. */
export const MAX_DAYS = 366;
const DEFAULT_DAYS = 30;

export function getUsage({ currency, clock }: Pick<Billing, 'currency' | 'clock'>) {
  return async ({ db, caller, query }: OrganizationRead<{ query: { period?: string } }>): Promise<OrgUsageOut> => {
    const period = query.period ?? dayOf(clock.now()).slice(0, 7);
    const [year = 0, month = 0] = period.split('-').map(Number);
    const span = { from: `${period}-01`, to: dayOf(new Date(Date.UTC(year, month, 0))) };
    const projects = await readProjectUsage(db, caller.organizationId, span);
    return {
      period,
      currency,
      total_drawn_cents: projects.reduce((sum, { drawn_cents }) => sum + drawn_cents, 0),
      total_tokens: projects.reduce((sum, { tokens }) => sum + tokens, 0),
      projects,
    };
  };
}

export function getUsageSeries({ currency, clock }: Pick<Billing, 'currency' | 'clock'>) {
  return async ({
    db,
    caller,
    query,
  }: OrganizationRead<{ query: { from?: string; to?: string } }>): Promise<OrgUsageSeriesOut> => {
    const span = spanOf(clock, query);
    const { projects, points } = await readDrawSeries(db, caller.organizationId, span);
    return { currency, ...span, projects: [...projects], points: [...points] };
  };
}

function spanOf(clock: Clock, query: { from?: string; to?: string }): { from: string; to: string } {
  const to = query.to ?? (query.from === undefined ? dayOf(clock.now()) : shift(query.from, DEFAULT_DAYS - 1));
  const from = query.from ?? shift(to, 1 - DEFAULT_DAYS);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days >= 1 && days <= MAX_DAYS) return { from, to };
  throw new ApiError('invalid_period', {
    param: days < 1 ? 'from' : 'to',
    message: `A series has 1 to ${MAX_DAYS} days. Send \`from\` and \`to\` as days that are so far apart, the earlier one first.`,
  });
}

function shift(day: string, days: number): string {
  return dayOf(new Date(Date.parse(day) + days * DAY_MS));
}

/** In UTC. */
function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}
