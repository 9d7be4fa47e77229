/**
 * A smith's memory. Working memory is one text. Recall searches what was said in its threads: a turn's passages are
 * indexed when it ends, for smiths that recall or learn by themselves; the first recall indexes what was there before.
 */
import { systemClock } from '../../../kernel/clock/clock.ts';
import type { Database } from '../../../kernel/db/database.ts';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { Jobs } from '../../../kernel/jobs/jobs.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { BUILTIN_EMBED_MODEL, type Embedders } from '../embed/index.ts';
import { addFact, listFacts, MAX_FACT_CHARS, mergeFacts } from './facts.ts';
import { indexTurns } from './index-turns.ts';
import type { MemoryOwner } from './owner.ts';
import { type Recollection, searchPassages } from './passage-store.ts';

export interface Memory {
  /** '' where nothing was ever written. */
  read(owner: MemoryOwner): Promise<string>;
  write(owner: MemoryOwner, content: string): Promise<void>;
  /** Adds a fact that was learnt in the run; undefined, or why it could not be kept. */
  remember(owner: MemoryOwner, fact: string, runId: string): Promise<string | undefined>;
  /** The passages that are nearest to the question, best first. Throws `embedding_unavailable`. */
  recall(owner: MemoryOwner, query: string, limit: number, signal?: AbortSignal): Promise<Recollection[]>;
  /** Has the smith's ended turns indexed soon. */
  turnEnded(owner: MemoryOwner): void;
  /** Has facts that say the same merged soon. */
  consolidateSoon(owner: MemoryOwner): Promise<void>;
}

const INDEX_TURNS = 'index-turns';
const CONSOLIDATE_MEMORY = 'consolidate-memory';
/** Turns that a recall indexes itself before it answers; what is left goes to a job. */
const TURNS_AT_RECALL = 200;
/** Ended turns of one smith within this time are indexed together. */
const INDEX_DELAY_MS = 1_000;

export interface MemoryDependencies {
  readonly db: Database;
  readonly jobs: Jobs;
  readonly embedders: Embedders;
  readonly logger: Logger;
}

/** Refusals that money clears. */
const BLOCKED = new Set(['budget_exceeded', 'card_required', 'insufficient_credits']);

/** Defines its jobs: call before `jobs.start`. */
export function createMemory({ db, jobs, embedders, logger }: MemoryDependencies): Memory {
  const embed = async ({ projectId, smithId }: MemoryOwner, texts: readonly string[], signal?: AbortSignal) => {
    const embedder = await embedders.open(projectId, BUILTIN_EMBED_MODEL, { smithId });
    return (await embedder.embed(texts, signal === undefined ? {} : { signal })).vectors;
  };
  const enqueue = (name: string, owner: MemoryOwner, startAfter?: Date) =>
    jobs.enqueue(db, name, owner, {
      singletonKey: `${owner.projectId}/${owner.smithId}`,
      ...(startAfter === undefined ? {} : { startAfter }),
    });

  jobs.define<MemoryOwner>(
    INDEX_TURNS,
    async ({ data, signal }) => {
      const indexing = indexTurns(db, data, (texts) => embed(data, texts, signal), TURNS_AT_RECALL);
      const left = await unlessBlocked(data, indexing);
      if (left === true && !signal.aborted) await enqueue(INDEX_TURNS, data);
    },
    { concurrency: 1 },
  );
  jobs.define<MemoryOwner>(CONSOLIDATE_MEMORY, ({ data, signal }) => unlessBlocked(data, consolidate(data, signal)), {
    concurrency: 1,
  });

  /** A budget that is spent, or a wallet, is no fault of the job: what is left to do is done with the next turn, recall or fact. */
  async function unlessBlocked<T>({ projectId, smithId }: MemoryOwner, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof ApiError) || !BLOCKED.has(error.code)) throw error;
      logger.info(
        { project: projectId, smithId, reason: error.message },
        'a budget or an empty wallet blocks work on a memory',
      );
      return undefined;
    }
  }

  async function read({ projectId, smithId }: MemoryOwner): Promise<string> {
    const { rows } = await db.query<{ content: string }>({
      text: 'select content from smith_memories where project_id = $1 and smith_id = $2',
      values: [projectId, smithId],
    });
    return rows[0]?.content ?? '';
  }

  /** Merges in the text as it was read; when it has changed since, the job runs again. */
  async function consolidate(owner: MemoryOwner, signal: AbortSignal): Promise<void> {
    const content = await read(owner);
    const facts = listFacts(content);
    if (facts.length < 2) return;
    const merged = mergeFacts(
      content,
      await embed(
        owner,
        facts.map(({ fact }) => fact.text),
        signal,
      ),
    );
    if (merged === content) return;
    const { rowCount } = await db.query({
      text: `
        update smith_memories set content = $4, updated_at = now()
        where project_id = $1 and smith_id = $2 and content = $3`,
      values: [owner.projectId, owner.smithId, content, merged],
    });
    if (rowCount === 0) await enqueue(CONSOLIDATE_MEMORY, owner);
  }

  return {
    read,
    async write({ projectId, smithId }, content) {
      await db.query({
        text: `
          insert into smith_memories (project_id, smith_id, content) values ($1, $2, $3)
          on conflict (project_id, smith_id) do update set content = excluded.content, updated_at = now()`,
        values: [projectId, smithId, content],
      });
    },
    async remember({ projectId, smithId }, fact, runId) {
      const text = fact.replace(/\s+/g, ' ').trim();
      if (text === '') return 'There is nothing to remember: say the fact in one sentence.';
      if (text.length > MAX_FACT_CHARS) return `A fact has at most ${MAX_FACT_CHARS} characters. Say it shorter.`;
      return db.transaction(async (tx) => {
        // Made first, so that two turns which learn at once wait for each other.
        await tx.query({
          text: 'insert into smith_memories (project_id, smith_id) values ($1, $2) on conflict do nothing',
          values: [projectId, smithId],
        });
        const { rows } = await tx.query<{ content: string }>({
          text: 'select content from smith_memories where project_id = $1 and smith_id = $2 for update',
          values: [projectId, smithId],
        });
        const grown = addFact(rows[0]?.content ?? '', text, runId);
        if (grown === undefined) return 'The memory is full. Nothing was remembered.';
        await tx.query({
          text: `
            update smith_memories set content = $3, updated_at = now() where project_id = $1 and smith_id = $2`,
          values: [projectId, smithId, grown],
        });
        return undefined;
      });
    },
    async recall(owner, query, limit, signal) {
      await db.query({
        text: `
          insert into smith_memories (project_id, smith_id, recalls) values ($1, $2, true)
          on conflict (project_id, smith_id) do update set recalls = true where not smith_memories.recalls`,
        values: [owner.projectId, owner.smithId],
      });
      const left = await indexTurns(db, owner, (texts) => embed(owner, texts, signal), TURNS_AT_RECALL);
      if (left) await enqueue(INDEX_TURNS, owner);
      const [vector] = await embed(owner, [query], signal);
      return searchPassages(db, owner, vector ?? new Float32Array(), limit);
    },
    turnEnded(owner) {
      enqueue(INDEX_TURNS, owner, new Date(systemClock.now().getTime() + INDEX_DELAY_MS)).catch((error: unknown) => {
        // The next turn, or a recall, indexes this one as well.
        logger.warn({ err: error, smithId: owner.smithId }, 'a turn was not set down for indexing');
      });
    },
    async consolidateSoon(owner) {
      await enqueue(CONSOLIDATE_MEMORY, owner);
    },
  };
}
