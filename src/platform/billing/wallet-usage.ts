/**
 * What projects have drawn from their organization's wallet, in cents that add up. The wallet is drawn in whole cents for all
 * projects together, and what each has cost is known exactly: so the cents of a span are shared out, among projects and
 * then among the days of each.
 */
import type { Executor } from '../../kernel/db/database.ts';
import { apportion } from './apportion.ts';
import { UNITS_A_CENT } from './draw-sql.ts';

/** Days in UTC, `YYYY-MM-DD`, both included. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

export interface ProjectUsage {
  readonly project_id: string;
  readonly name: string;
  readonly drawn_cents: number;
  readonly tokens: number;
  /** Of the project's budget, the monthly one before others. US dollars. */
  readonly budget_limit: number | null;
  readonly budget_action: string | null;
}

interface ProjectRow extends Omit<ProjectUsage, 'drawn_cents'> {
  readonly cost: string;
  readonly cents: number;
}

/** Every live project, and those archived ones that have used something. */
export async function readProjectUsage(db: Executor, organizationId: string, span: Span): Promise<ProjectUsage[]> {
  const { rows } = await db.query<ProjectRow>({
    text: `
      select p.id as project_id, p.name, coalesce(used.tokens, 0)::bigint as tokens, coalesce(drawn.cost, 0)::text as cost,
        coalesce(drawn.cents, 0)::bigint as cents, (b.limit_micros / 1000000.0)::float8 as budget_limit,
        b.action as budget_action
      from projects p
      left join lateral (
        select sum(d.input_tokens + d.output_tokens) as tokens from usage_daily d
        where d.project_id = p.id and d.day between $2::date and $3::date and d.source in ('turn', 'embedding')
      ) used on true
      left join lateral (
        select sum(d.cost) as cost, sum(d.drawn_cents) as cents from wallet_draws d
        where d.organization_id = $1 and d.project_id = p.id and d.day between $2::date and $3::date
      ) drawn on true
      left join lateral (
        select limit_micros, action from budgets where project_id = p.id and scope = 'tenant'
        order by period = 'monthly' desc, action = 'block' desc, id limit 1
      ) b on true
      where p.organization_id = $1 and (p.archived_at is null or used.tokens > 0 or drawn.cost > 0)
      order by p.id`,
    values: [organizationId, span.from, span.to],
  });
  const shares = shareOut(rows);
  return rows.map(({ cost: _, cents: __, ...row }, index) => ({ ...row, drawn_cents: shares[index] ?? 0 }));
}

export interface DrawPoint {
  readonly day: string;
  readonly project_id: string;
  readonly drawn_cents: number;
}

interface PointRow {
  readonly project_id: string;
  readonly name: string;
  readonly day: string;
  readonly cost: string;
  readonly cents: number;
}

export interface DrawSeries {
  readonly projects: readonly { readonly project_id: string; readonly name: string }[];
  /** By day and project; days on which a project has cost nothing have none. */
  readonly points: readonly DrawPoint[];
}

export async function readDrawSeries(db: Executor, organizationId: string, span: Span): Promise<DrawSeries> {
  const { rows } = await db.query<PointRow>({
    text: `
      select d.project_id, coalesce(p.name, '') as name, d.day::text as day, d.cost::text as cost, d.drawn_cents as cents
      from wallet_draws d left join projects p on p.id = d.project_id
      where d.organization_id = $1 and d.day between $2::date and $3::date
      order by d.project_id, d.day`,
    values: [organizationId, span.from, span.to],
  });
  const projects = [...Map.groupBy(rows, ({ project_id }) => project_id)].map(([project_id, days]) => {
    const cost = days.reduce((sum, day) => sum + BigInt(day.cost), 0n);
    return { project_id, name: days[0]?.name ?? '', days, cost: String(cost), cents: sumOf(days) };
  });
  const shares = shareOut(projects);
  const points = projects.flatMap(({ days }, index) => {
    const ofDays = apportion(
      shares[index] ?? 0,
      days.map(({ cost }) => BigInt(cost)),
      UNITS_A_CENT,
    );
    return days.map(({ day, project_id }, at) => ({ day, project_id, drawn_cents: ofDays[at] ?? 0 }));
  });
  return {
    projects: projects.map(({ project_id, name }) => ({ project_id, name })),
    points: points.sort((one, other) => (one.day < other.day ? -1 : one.day > other.day ? 1 : 0)),
  };
}

function shareOut(parts: readonly { readonly cost: string; readonly cents: number }[]): number[] {
  return apportion(
    sumOf(parts),
    parts.map(({ cost }) => BigInt(cost)),
    UNITS_A_CENT,
  );
}

function sumOf(parts: readonly { readonly cents: number }[]): number {
  return parts.reduce((sum, { cents }) => sum + cents, 0);
}
