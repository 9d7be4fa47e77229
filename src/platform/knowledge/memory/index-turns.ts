/** Puts the ended turns of a smith's threads into recall_passages. Each turn once, however often and by whom it is asked. */
import type { Executor } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { markRecalledSql } from '../../threads/index.ts';
import type { MemoryOwner } from './owner.ts';
import { IS_RECALLED } from './passage-store.ts';

/** Characters; longer texts are cut at the end of a sentence or a line where there is one. */
const MAX_PASSAGE_CHARS = 1_200;
/** Of one turn; what a tool-heavy turn says beyond them is not recalled. */
const MAX_PASSAGES_PER_TURN = 20;

interface EndedTurn {
  thread_id: string;
  turn: number;
  /** Of its thread, as the turn was read. */
  removals: number;
  run_id: string | null;
  /** Empty where the turn's passages are there: it is read for its place alone. */
  said: { role: 'user' | 'assistant'; content: unknown }[];
}

/**
 * True where turns are left: beyond the limit, or because something was taken out of their thread meanwhile. Throws what
 * `embed` throws; nothing of the batch is stored then.
 */
export async function indexTurns(
  db: Executor,
  owner: MemoryOwner,
  embed: (texts: readonly string[]) => Promise<readonly Float32Array[]>,
  limit: number,
): Promise<boolean> {
  const turns = await readEndedTurns(db, owner, limit + 1);
  const batch = turns.slice(0, limit);
  if (batch.length === 0) return false;
  const passages = batch.flatMap((turn) =>
    cutPassages(turn.said).map((text, position) => ({
      thread_id: turn.thread_id,
      turn: turn.turn,
      position,
      run_id: turn.run_id,
      text,
    })),
  );
  const vectors = passages.length === 0 ? [] : await embed(passages.map(({ text }) => text));
  const isStored = await insertPassages(
    db,
    owner,
    passages.map((passage, index) => ({ ...passage, embedding: `[${(vectors[index] ?? []).join(',')}]` })),
    batch,
  );
  return turns.length > limit || !isStored;
}

/** Turns behind the mark of their thread, oldest first, up to the first that is still under way. */
async function readEndedTurns(db: Executor, owner: MemoryOwner, limit: number): Promise<EndedTurn[]> {
  const { rows } = await db.query<EndedTurn>({
    text: `
      with open as (
        select t.id, t.recalled_turn, t.removals, coalesce((
          select min(r.turn) from runs r
          where r.project_id = t.project_id and r.smith_id = t.smith_id and r.thread_id = t.id
            and r.status in ('in_progress', 'paused')), t.turns + 1) as until
        from threads t
        where t.project_id = $1 and t.smith_id = $2 and t.recalled_turn < t.turns and ${IS_RECALLED}
      )
      select m.thread_id, m.turn, max(open.removals) as removals, max(m.run_id) as run_id,
        jsonb_agg(jsonb_build_object('role', m.role, 'content', m.content) order by m.position)
          filter (where m.role in ('user', 'assistant') and not exists (
            select from recall_passages p
            where p.project_id = $1 and p.smith_id = $2 and p.thread_id = m.thread_id and p.turn = m.turn)) as said
      from open join messages m on m.project_id = $1 and m.smith_id = $2 and m.thread_id = open.id
        and m.turn > open.recalled_turn and m.turn < open.until
      group by m.thread_id, m.turn
      order by m.thread_id, m.turn
      limit $3`,
    values: [owner.projectId, owner.smithId, limit],
  });
  return rows.map((row) => ({ ...row, said: row.said ?? [] }));
}

/**
 * Marks the turns as indexed and stores their passages, thread by thread. The row of a thread is locked first, and one that
 * was deleted or from which something was taken since gets none: whoever does either removes its passages behind that. False
 * where a thread was left out.
 */
async function insertPassages(
  db: Executor,
  { projectId, smithId }: MemoryOwner,
  passages: readonly object[],
  turns: readonly EndedTurn[],
): Promise<boolean> {
  const marks = new Map<string, { thread_id: string; turn: number; removals: number }>();
  for (const { thread_id, turn, removals } of turns) marks.set(thread_id, { thread_id, turn, removals });
  const { rows } = await db.query<{ marked: number }>({
    text: `
      with marked as (
        ${markRecalledSql({ project: '$1', smith: '$2', marks: '$4::jsonb', condition: IS_RECALLED })}
      ), kept as (
        insert into recall_passages (project_id, smith_id, thread_id, turn, position, run_id, text, embedding)
        select $1, $2, p.thread_id, p.turn, p.position, p.run_id, p.text, p.embedding::vector
        from marked join jsonb_to_recordset($3::jsonb) as p (
          thread_id text, turn int, position int, run_id text, text text, embedding text) on p.thread_id = marked.id
        on conflict do nothing
      )
      select count(*)::int as marked from marked`,
    values: [projectId, smithId, json(passages), json([...marks.values()])],
  });
  return rows[0]?.marked === marks.size;
}

/** What was asked and answered, in pieces that a vector can stand for. */
function cutPassages(said: EndedTurn['said']): string[] {
  const whole = said
    .flatMap(({ role, content }) => {
      const text = readText(content).trim();
      return text === '' ? [] : [`${role === 'user' ? 'User' : 'Smith'}: ${text}`];
    })
    .join('\n');
  const passages: string[] = [];
  let rest = whole;
  while (rest !== '' && passages.length < MAX_PASSAGES_PER_TURN) {
    const cut = rest.length <= MAX_PASSAGE_CHARS ? rest.length : findCut(rest);
    const passage = rest.slice(0, cut).toWellFormed().trim();
    if (passage !== '') passages.push(passage);
    rest = rest.slice(cut);
  }
  return passages;
}

/** Behind the last line or sentence that ends in the second half of the piece. */
function findCut(text: string): number {
  const piece = text.slice(0, MAX_PASSAGE_CHARS);
  const ends = [...piece.matchAll(/\n|[.!?。！？]\s/g)].map(({ index, 0: mark }) => index + mark.length);
  const last = ends.at(-1) ?? 0;
  return last > MAX_PASSAGE_CHARS / 2 ? last : MAX_PASSAGE_CHARS;
}

function readText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((part: { type?: unknown; text?: unknown }) =>
      part.type === 'text' && typeof part.text === 'string' ? [part.text] : [],
    )
    .join('\n');
}
