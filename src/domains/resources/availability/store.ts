import type { Database } from '../../../kernel/db/database.ts';
import { createBatcher } from '../../../kernel/event-loop/batcher.ts';

/** What is known here of a name. Of all workspaces: availability is the same for everyone, and the answer does not say whose it is. */
export interface KnownHere {
  /** Some workspace has it or is acquiring it. */
  readonly isOurs: boolean;
  /** When a workspace last had it no more, or did not get it. */
  readonly leftAt: number | undefined;
}

const MAX_ASKED_TOGETHER = 1_000;
/** A connection that stalls does not keep everybody waiting. */
const PATIENCE_MS = 20;

/** What is known of names, asked with one statement for all who ask together; it begins after they asked. */
export function createOwnershipCheck(db: Database): (name: string) => Promise<KnownHere> {
  return createBatcher(
    async (names: readonly string[]) => {
      const { rows } = await db.query<{ name: string; is_ours: boolean; left_at: Date | null }>({
        text: ownership,
        values: [[...new Set(names)]],
      });
      const known = new Map(rows.map((row) => [row.name, row]));
      return names.map((name) => {
        const row = known.get(name);
        return { isOurs: row?.is_ours === true, leftAt: row?.left_at?.getTime() };
      });
    },
    { maxItems: MAX_ASKED_TOGETHER, patienceMs: PATIENCE_MS },
  );
}

const ownership = `
  select asked.name,
      exists (select from domains.domains d where d.name = asked.name and d.state <> 'gone') as is_ours,
      (select max(d.gone_at) from domains.domains d where d.name = asked.name and d.state = 'gone') as left_at
    from unnest($1::text[]) as asked (name)`;
