/**
 * Whether a project may run: with credits, while its organization's wallet has more than nothing. Asked before anything is
 * stored; what is under way when the wallet empties goes on.
 */
import type { Database } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { appendEvent } from '../feed/append-event.ts';
import { tenantDb } from '../store/tenant-db.ts';
import type { DrawTerms } from './draw-sql.ts';

/** How the wallet of a project's organization stands. */
export interface CreditStanding {
  readonly balance_cents: number;
  /** It has no card, and never had credits. */
  readonly is_new: boolean;
  /** The feed was told that it is empty. */
  readonly is_announced: boolean;
}

/** A CreditStanding as an SQL expression, for the statement that reads what a call needs anyway. */
export function creditStandingSql({ project }: { readonly project: string }): string {
  return `(
    select jsonb_build_object('balance_cents', w.balance_cents,
      'is_new', w.stripe_card_id is null and w.credited_at is null, 'is_announced', w.exhausted_at is not null)
    from projects p join wallets w on w.organization_id = p.organization_id where p.id = ${project})`;
}

export interface Credits {
  /** What usage costs the wallet; undefined with billing off: nothing is drawn. */
  readonly terms: DrawTerms | undefined;
  /** Throws `card_required` and `insufficient_credits`; the latter is told on the project's feed, once an emptying. */
  check(projectId: string, standing: CreditStanding): Promise<void>;
  /** The same for who has not read how the wallet stands; with billing off it reads nothing. */
  checkProject(projectId: string): Promise<void>;
}

export function createCredits(db: Database, terms: DrawTerms | undefined): Credits {
  if (terms === undefined) return NO_CREDITS;
  const check: Credits['check'] = async (projectId, standing) => {
    if (standing.balance_cents > 0) return;
    if (standing.is_new) throw new ApiError('card_required');
    if (!standing.is_announced) await announce(db, projectId);
    throw new ApiError('insufficient_credits');
  };
  return {
    terms,
    check,
    async checkProject(projectId) {
      const { rows } = await db.query<{ standing: CreditStanding | null }>({ ...reading, values: [projectId] });
      const standing = rows[0]?.standing ?? null;
      if (standing !== null) await check(projectId, standing);
    },
  };
}

/** With billing off. */
export const NO_CREDITS: Credits = {
  terms: undefined,
  check: async () => undefined,
  checkProject: async () => undefined,
};

const reading = { text: `select ${creditStandingSql({ project: '$1' })} as standing` };

/** Of many refused at once, one tells: the wallet's row is changed under its lock. */
async function announce(db: Database, projectId: string): Promise<void> {
  await db.transaction(async (tx) => {
    const { rows } = await tx.query<{ organization: string; balance_cents: number }>({
      text: `
        update wallets w set exhausted_at = now() from projects p
        where p.id = $1 and w.organization_id = p.organization_id and w.balance_cents <= 0 and w.exhausted_at is null
        returning w.organization_id as organization, w.balance_cents`,
      values: [projectId],
    });
    const [data] = rows;
    if (data === undefined) return;
    await appendEvent(tenantDb(tx, projectId), { type: 'credit.exhausted', actor: null, data: { ...data } });
  });
}
