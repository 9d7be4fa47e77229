import type { Database } from '../../kernel/db/database.ts';
import { type AnswerOf, OperatorError, type RequestOf } from '../../kernel/operator/index.ts';
import { BEFORE_CHAIN, checkHead, verifyChainPage } from '../feed/chain/index.ts';
import type { PlatformVerbs } from './verbs.ts';

/** Of one call, well within what the operator's socket waits. */
const BUDGET_MS = 5_000;

/** Proves the chain of one project's events from `after` on, as far as it comes in some seconds. */
export async function verifyEvents(
  db: Database,
  { project_id: asked, after = BEFORE_CHAIN, head }: RequestOf<PlatformVerbs, 'verify_events'>,
): Promise<AnswerOf<PlatformVerbs, 'verify_events'>> {
  const projectId = asked ?? (await findProjectAfter(db, ''));
  if (projectId === null) {
    return { project_id: null, place: BEFORE_CHAIN, broken: null, is_end: true, next_project_id: null };
  }
  await requireProject(db, projectId);
  const wrongHead = head === undefined ? undefined : await checkHead(db, projectId, head);
  if (wrongHead !== undefined) {
    const next = await findProjectAfter(db, projectId);
    return { project_id: projectId, place: after, broken: wrongHead, is_end: true, next_project_id: next };
  }
  const deadline = performance.now() + BUDGET_MS;
  for (let place = after; ; ) {
    const page = await verifyChainPage(db, projectId, place);
    const isBroken = page.kind === 'broken';
    if (!isBroken) place = page.place;
    const isEnd = isBroken || page.isEnd;
    if (!isEnd && performance.now() < deadline) continue;
    return {
      project_id: projectId,
      place,
      broken: isBroken ? page.link : null,
      is_end: isEnd,
      next_project_id: isEnd ? await findProjectAfter(db, projectId) : projectId,
    };
  }
}

async function requireProject(db: Database, projectId: string): Promise<void> {
  const { rowCount } = await db.query({ text: 'select from projects where id = $1', values: [projectId] });
  if (rowCount === 0) throw new OperatorError(`There is no project ${projectId}.`);
}

/** Archived ones too: their events are kept. */
async function findProjectAfter(db: Database, id: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>({
    text: 'select id from projects where id > $1 order by id limit 1',
    values: [id],
  });
  return rows[0]?.id ?? null;
}
