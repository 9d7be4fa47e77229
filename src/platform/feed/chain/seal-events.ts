/**
 * The chain of events. Each event of a project is tied to the one before it by a hash, so that a change, a removal or an
 * insertion in the middle shows (`verify-chain.ts`). The chain is written behind the writers of events, in batches, by one
 * replica at a time: no event waits for another.
 */
import type { Database, Transaction } from '../../../kernel/db/database.ts';
import type { Worker } from '../../../kernel/http/service-lifecycle.ts';
import type { Logger } from '../../../kernel/log/log.ts';
import { createPeriodicWorker } from '../../../kernel/periodic/periodic-worker.ts';
import type { FollowedEvent } from '../follow-feed.ts';
import { followStored } from '../stored-follower.ts';
import { CHAIN_START, hashLink } from './link-hash.ts';
import { yieldBetween } from './yield-between.ts';

const INTERVAL_MS = 5_000;
const EVENTS_A_BATCH = 500;

export const CHAIN_FOLLOWER = 'chain';

interface Dependencies {
  readonly db: Database;
  readonly logger: Logger;
}

export function createEventSealer({ db, logger }: Dependencies): Worker {
  const worker = createPeriodicWorker({
    name: 'event sealer',
    intervalMs: INTERVAL_MS,
    store: db,
    pass: async (signal) => ((await sealEvents({ db, logger }, signal)) ? 0 : undefined),
    logger,
  });
  return { start: async () => worker.start(), drain: () => worker.stop(), stop: () => worker.stop() };
}

/** Seals what is final. Whether more may be there soon. */
export async function sealEvents({ db, logger }: Dependencies, signal: AbortSignal): Promise<boolean> {
  const follower = {
    name: CHAIN_FOLLOWER,
    eventsABatch: EVENTS_A_BATCH,
    afterRestore: 'start',
    take: seal,
    logger,
  } as const;
  return followStored(db, follower, signal);
}

async function seal(tx: Transaction, events: readonly FollowedEvent[]): Promise<boolean> {
  const fresh = await withoutSealed(tx, events);
  const heads = await readHeads(tx, [...new Set(fresh.map(({ project_id }) => project_id))]);
  const links: { project_id: string; position: number; event_id: string; hash: string }[] = [];
  for await (const event of yieldBetween(fresh)) {
    const head = heads.get(event.project_id) ?? { position: 0, hash: CHAIN_START };
    const next = { position: head.position + 1, hash: hashLink(head.hash, event) };
    heads.set(event.project_id, next);
    links.push({
      project_id: event.project_id,
      position: next.position,
      event_id: event.id,
      hash: next.hash.toString('hex'),
    });
  }
  if (links.length === 0) return false;
  await tx.query({
    text: `
      insert into event_links (project_id, position, event_id, hash)
      select l.project_id, l.position, l.event_id, decode(l.hash, 'hex')
      from jsonb_to_recordset($1) as l (project_id text, position bigint, event_id text, hash text)`,
    values: [JSON.stringify(links)],
  });
  return true;
}

/** After a restore the feed is followed from its start: what the chain holds already stays as it is. */
async function withoutSealed(tx: Transaction, events: readonly FollowedEvent[]): Promise<readonly FollowedEvent[]> {
  const { rows } = await tx.query<{ event_id: string }>({
    text: `
      select l.event_id from event_links l
      join unnest($1::text[], $2::text[]) as e (project_id, id) on l.project_id = e.project_id and l.event_id = e.id`,
    values: [events.map(({ project_id }) => project_id), events.map(({ id }) => id)],
  });
  if (rows.length === 0) return events;
  const sealed = new Set(rows.map(({ event_id }) => event_id));
  return events.filter(({ id }) => !sealed.has(id));
}

interface Head {
  readonly position: number;
  readonly hash: Buffer;
}

async function readHeads(tx: Transaction, projectIds: readonly string[]): Promise<Map<string, Head>> {
  const { rows } = await tx.query<{ project_id: string; position: number; hash: string }>({
    text: `
      select p.id as project_id, l.position, encode(l.hash, 'hex') as hash
      from unnest($1::text[]) as p (id)
      cross join lateral (
        select position, hash from event_links where project_id = p.id order by position desc limit 1
      ) l`,
    values: [projectIds],
  });
  return new Map(
    rows.map(({ project_id, position, hash }) => [
      project_id,
      { position: Number(position), hash: Buffer.from(hash, 'hex') },
    ]),
  );
}
