/** What must hold of every turn in the store once nothing is under way, whatever happened to the servers meanwhile. */
import type { Database } from '../../src/kernel/db/database.ts';
import { auditUsage } from '../../src/platform/usage/index.ts';

export interface Finding {
  readonly what: string;
  readonly run_id: string;
}

/** Rules of money: a finding means that something was charged or done twice, or not at all. `tools`: a list of names, as SQL has it. */
const bookingRules = (tools: string): Readonly<Record<string, string>> => ({
  'the totals are not the sum of the steps': `
    select r.id as run_id from runs r left join run_steps s on s.project_id = r.project_id and s.run_id = r.id
    group by r.project_id, r.id
    having r.input_tokens <> coalesce(sum(s.input_tokens), 0) or r.output_tokens <> coalesce(sum(s.output_tokens), 0)
      or coalesce(r.cost_micros, 0) <> coalesce(sum(s.cost_micros), 0)`,
  'the steps are not numbered through': `
    select run_id from run_steps group by project_id, run_id having max(position) + 1 <> count(*)`,
  'more or fewer model calls are paid for than the turn has': `
    select r.id as run_id from runs r left join run_steps s on s.project_id = r.project_id and s.run_id = r.id
    group by r.project_id, r.id
    having count(*) filter (where s.kind = 'model') <>
        case r.status when 'paused' then 1 else (r.metadata ->> 'model_steps')::int end
      or count(*) filter (where s.kind = 'tool') <> (r.metadata ->> 'calls')::int`,
  'run.completed is not on the feed exactly once': `
    select r.id as run_id from runs r
    left join events e on e.project_id = r.project_id and e.type = 'run.completed' and e.data ->> 'run_id' = r.id
    group by r.project_id, r.id having count(e.id) <> case r.status when 'completed' then 1 else 0 end`,
  'run.completed is not in the timeline exactly once': `
    select r.id as run_id from runs r
    left join run_events e on e.project_id = r.project_id and e.type = 'run.completed' and e.run_id = r.id
    group by r.project_id, r.id having count(e.seq) <> case r.status when 'completed' then 1 else 0 end`,
  // A call whose outcome a crash left unknown may be made again, and says so; a finished one never.
  'a call of the server ended twice, never, or ran again after its end': `
    select s.run_id from run_steps s
    left join run_events e on e.project_id = s.project_id and e.run_id = s.run_id
      and e.type in ('tool.executing', 'tool.completed') and e.data ->> 'tool_call_id' = s.call_id
    where s.kind = 'tool' and s.name in (${tools})
    group by s.project_id, s.run_id, s.call_id
    having count(*) filter (where e.type = 'tool.completed') <> 1
      or count(*) filter (where e.type = 'tool.executing') = 0
      or max(e.seq) filter (where e.type = 'tool.executing') > min(e.seq) filter (where e.type = 'tool.completed')`,
  'a call of the server began more often than the turn was taken up': `
    select s.run_id from run_steps s
    join run_events e on e.project_id = s.project_id and e.run_id = s.run_id
    where s.kind = 'tool' and s.name in (${tools})
    group by s.project_id, s.run_id, s.call_id
    having count(*) filter (where e.type = 'tool.executing' and e.data ->> 'tool_call_id' = s.call_id)
      > 1 + count(*) filter (where e.type = 'run.restarted')`,
  'the feed tells of a call of the server what the timeline does not': `
    select s.run_id from run_steps s
    where s.kind = 'tool' and s.name in (${tools}) and exists (
      select from (values ('tool.executing'), ('tool.completed')) as t (type)
      where (select count(*) from events e where e.project_id = s.project_id and e.type = t.type
               and e.data ->> 'run_id' = s.run_id and e.data ->> 'tool_call_id' = s.call_id)
        <> (select count(*) from run_events e where e.project_id = s.project_id and e.type = t.type
               and e.run_id = s.run_id and e.data ->> 'tool_call_id' = s.call_id))`,
});

/** Rules of order: what later turns and readers rely on. */
const order: Readonly<Record<string, string>> = {
  'the turn is still under way': `select id as run_id from runs where status = 'in_progress'`,
  'a character is stored twice': `
    select run_id from (
      select run_id, seq - coalesce(jsonb_array_length(data -> 'deltas'), 1) as before,
             lag(seq) over (partition by project_id, run_id order by seq) as previous
      from run_events) f
    where before < previous`,
  'the thread lacks an answer or has one twice': `
    select r.id as run_id from runs r
    left join messages m on m.project_id = r.project_id and m.run_id = r.id and m.role = 'assistant'
    left join lateral (select count(*) as calls from run_steps s
      where s.project_id = r.project_id and s.run_id = r.id and s.kind = 'model') s on true
    group by r.project_id, r.id, s.calls having count(m.position) <> s.calls`,
  'the thread lacks the result of a call or has one twice': `
    select s.run_id from run_steps s
    left join messages m on m.project_id = s.project_id and m.run_id = s.run_id and m.role = 'tool'
      and m.content -> 0 ->> 'toolCallId' = s.call_id
    where s.kind = 'tool' and s.status = 'completed'
    group by s.project_id, s.run_id, s.call_id having count(m.position) <> 1`,
  'two runs share an idempotency key': `
    select min(run_id) as run_id from idempotency_keys where run_id is not null
    group by project_id, operation, key having count(distinct run_id) > 1`,
};

const claims: Readonly<Record<string, string>> = {
  'a run has no idempotency key of its own': `
    select r.id as run_id from runs r
    left join idempotency_keys k on k.project_id = r.project_id and k.run_id = r.id
    group by r.project_id, r.id having count(k.key) <> 1`,
};

export interface TurnAuditOptions {
  /** What the server calls itself. Default: the hosted tool of the recipes. */
  readonly serverTools?: readonly string[];
  /** Each run was started by a request with a key of its own. Default true. */
  readonly areClaimed?: boolean;
}

/** Every breach of a rule, by kind. */
export async function auditTurns(
  db: Database,
  { serverTools = ['current_time'], areClaimed = true }: TurnAuditOptions = {},
): Promise<{ booking: Finding[]; order: Finding[] }> {
  const usage = (await auditUsage(db)).map(({ sums, row }) => ({
    what: `${sums} is not the sum of its rows`,
    run_id: JSON.stringify(row),
  }));
  const booking = await findBreaches(db, bookingRules(serverTools.map((name) => `'${name}'`).join(', ')));
  return {
    booking: [...booking, ...usage],
    order: await findBreaches(db, { ...order, ...(areClaimed ? claims : {}) }),
  };
}

/** Each rule is a query for the runs that break it. */
export async function findBreaches(db: Database, rules: Readonly<Record<string, string>>): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [what, text] of Object.entries(rules)) {
    const { rows } = await db.query<{ run_id: string }>({ text, values: [] });
    findings.push(...rows.map(({ run_id }) => ({ what, run_id })));
  }
  return findings;
}

export interface TurnCounts {
  readonly runs: number;
  readonly completed: number;
  readonly paused: number;
  /** Turns that another process had to go on with. */
  readonly takenOver: number;
}

export async function countTurns(db: Database): Promise<TurnCounts> {
  const { rows } = await db.query<TurnCounts>({
    text: `
      select count(*)::int as runs, count(*) filter (where status = 'completed')::int as completed,
        count(*) filter (where status = 'paused')::int as paused,
        (select count(distinct run_id)::int from run_events where type = 'run.restarted') as "takenOver"
      from runs`,
    values: [],
  });
  return rows[0] ?? { runs: 0, completed: 0, paused: 0, takenOver: 0 };
}
