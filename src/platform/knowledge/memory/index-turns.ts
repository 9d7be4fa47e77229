/** Puts the ended turns of a smith's threads into recall_passages. Each turn once, however often and by whom it is asked. */
import type { Database } from '../../../kernel/db/database.ts';
import { json } from '../../../kernel/db/values.ts';
import { markRecalledSql } from '../../threads/index.ts';
import type { MemoryOwner } from './owner.ts';

/** Characters; longer texts are cut at the end of a sentence or a line where there is one. */
const MAX_PASSAGE_CHARS = 1_200;
/** Of one turn; what a tool-heavy turn says beyond them is not recalled. */
const MAX_PASSAGES_PER_TURN = 20;

interface EndedTurn {
  thread_id: string;
  turn: number;
  run_id: string | null;
  said: { role: 'user' | 'assistant'; content: unknown }[];
}

/** True where turns are left beyond the limit. Throws what `embed` throws; nothing of the batch is stored then. */
export async function indexTurns(
  db: Database,
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
  await insertPassages(
    db,
    owner,
    passages.map((passage, index) => ({ ...passage, embedding: `[${(vectors[index] ?? []).join(',')}]` })),
    batch,
  );
  return turns.length > limit;
}

/** Turns behind the mark of their thread, oldest first, up to the first that is still under way. */
async function readEndedTurns(db: Database, owner: MemoryOwner, limit: number): Promise<EndedTurn[]> {
  const { rows } = await db.query<EndedTurn>({
    text: `
      with open as (
        select t.id, t.recalled_turn, coalesce((
          select min(r.turn) from runs r
          where r.project_id = t.project_id and r.smith_id = t.smith_id and r.thread_id = t.id
            and r.status in ('in_progress', 'paused')), t.turns + 1) as until
        from threads t
        where t.project_id = $1 and t.smith_id = $2 and t.recalled_turn < t.turns
      )
      select m.thread_id, m.turn, max(m.run_id) as run_id,
        jsonb_agg(jsonb_build_object('role', m.role, 'content', m.content) order by m.position)
          filter (where m.role in ('user', 'assistant')) as said
      from open join messages m on m.project_id = $1 and m.smith_id = $2 and m.thread_id = open.id
        and m.turn > open.recalled_turn and m.turn < open.until
      group by m.thread_id, m.turn
      order by m.thread_id, m.turn
      limit $3`,
    values: [owner.projectId, owner.smithId, limit],
  });
  return rows.map((row) => ({ ...row, said: row.said ?? [] }));
}

async function insertPassages(
  db: Database,
  { projectId, smithId }: MemoryOwner,
  passages: readonly object[],
  turns: readonly EndedTurn[],
): Promise<void> {
  const marks = new Map<string, number>();
  for (const { thread_id, turn } of turns) marks.set(thread_id, turn);
  await db.query({
    text: `
      with kept as (
        insert into recall_passages (project_id, smith_id, thread_id, turn, position, run_id, text, embedding)
        select $1, $2, p.thread_id, p.turn, p.position, p.run_id, p.text, p.embedding::vector
        from jsonb_to_recordset($3::jsonb) as p (
          thread_id text, turn int, position int, run_id text, text text, embedding text)
        on conflict do nothing
      )
      ${markRecalledSql({ project: '$1', smith: '$2', marks: '$4::jsonb' })}`,
    values: [projectId, smithId, json(passages), json([...marks].map(([thread_id, turn]) => ({ thread_id, turn })))],
  });
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
