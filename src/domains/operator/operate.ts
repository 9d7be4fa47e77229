/** The operator's verbs, carried out on the database. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { mintId } from '../../kernel/ids/ids.ts';
import type { Logger } from '../../kernel/log/log.ts';
import { type OperatedService, OperatorError, type VerbHandlers } from '../../kernel/operator/index.ts';
import { hashToken, issueToken, revokeToken, TOKEN_PREFIX } from '../access/tokens.ts';
import type { PriceBook } from '../prices/price-book.ts';
import type { Registry } from '../registry/registry.ts';
import { credit, listDisputes, readWallet } from '../wallet/index.ts';
import { systemDb } from '../workspace-scope.ts';
import { createBalanceVerbs, type KnownRegistry } from './balance-verbs.ts';
import { chooseWorkspace, type FoundWorkspace } from './choose-workspace.ts';
import { createEscrowVerbs } from './escrow-verbs.ts';
import { createKeyVerbs } from './key-verbs.ts';
import { listBookings } from './list-bookings.ts';
import { createMessageVerbs } from './message-verbs.ts';
import { createNameVerbs } from './name-verbs.ts';
import { createOrderVerbs } from './order-verbs.ts';
import { createPortfolioVerbs } from './portfolio-verbs.ts';
import { createRegistrantVerbs } from './registrant-verbs.ts';
import { type DomainVerbs, domainVerbs } from './verbs.ts';

const DISPUTES_LISTED = 1_000;

export interface OperatorDependencies {
  readonly db: Database;
  readonly clock: Clock;
  /** Absent: what needs one is refused. */
  readonly registry?: Pick<Registry, 'info'>;
  /** Those of the configuration. Default: one, of all names. */
  readonly registries?: readonly KnownRegistry[];
  /** Absent: registries are not asked for their balances. */
  readonly logger?: Logger;
  /** What is sold. Absent: no TLD has its registrants verified. */
  readonly prices?: Pick<PriceBook, 'list'>;
}

/** The verbs of the domain service, for the operator's socket. */
export function operateDomains(dependencies: OperatorDependencies): OperatedService {
  return { ...domainVerbs, handlers: createOperator(dependencies) };
}

export function createOperator({
  db,
  clock,
  prices,
  registry,
  registries,
  logger,
}: OperatorDependencies): VerbHandlers<DomainVerbs> {
  return {
    ...createNameVerbs({
      db,
      clock,
      registry,
      ...(registries === undefined ? {} : { registryZones: registries.map(({ zones }) => zones) }),
    }),
    ...createOrderVerbs({ db, clock }),
    ...createPortfolioVerbs({ db, registry }),
    ...createMessageVerbs({ db }),
    ...createKeyVerbs({ db }),
    ...createEscrowVerbs({ db }),
    ...createBalanceVerbs({ db, clock, logger, registries }),
    ...createRegistrantVerbs({ db, clock, prices }),
    async mint_token({ workspace: wanted, scope, name }) {
      const workspace = await chooseWorkspace(db, wanted);
      const issued = await db.transaction((tx) => issueToken(tx, workspace.id, { userId: null, scope, name }));
      return { ...issued, ...ownerOf(workspace) };
    },
    async revoke_token({ token }) {
      const now = clock.now();
      const column = token.startsWith(TOKEN_PREFIX) ? 'hash' : 'id';
      const found = await systemDb(db)
        .selectFrom('tokens')
        .select(['id', 'workspace_id', 'revoked_at'])
        .where(column, '=', column === 'hash' ? hashToken(token) : token)
        .executeTakeFirst();
      if (found === undefined) {
        throw new OperatorError('There is no such token. Name it by its id, dtk_…, or give the token itself.');
      }
      const { id, workspace_id } = found;
      await revokeToken(db, workspace_id, id, now);
      return { id, workspace_id, revoked_at: (found.revoked_at ?? now).toISOString() };
    },
    async top_up({ workspace: wanted, cents, note }) {
      const workspace = await chooseWorkspace(db, wanted);
      const reference = `operator:${mintId('top')}`;
      const wallet = await db.transaction(async (tx) => {
        const booking = { workspaceId: workspace.id, source: 'operator', amountCents: cents, reference } as const;
        await credit(tx, { ...booking, description: note });
        return readWallet(tx, workspace.id);
      });
      return {
        ...ownerOf(workspace),
        available_cents: wallet.availableCents,
        held_cents: wallet.heldCents,
        credited_cents: cents,
        reference,
      };
    },
    async list_disputes() {
      const disputes = await listDisputes(systemDb(db), DISPUTES_LISTED);
      return { disputes: disputes.map((row) => ({ ...row, created_at: row.created_at.toISOString() })) };
    },
    async show_wallet({ workspace: wanted }) {
      const workspace = await chooseWorkspace(db, wanted);
      const { availableCents, heldCents } = await readWallet(db, workspace.id);
      return {
        ...ownerOf(workspace),
        available_cents: availableCents,
        held_cents: heldCents,
        bookings: await listBookings(db, workspace.id),
      };
    },
  };
}

function ownerOf({ id, name }: FoundWorkspace): { workspace_id: string; workspace_name: string } {
  return { workspace_id: id, workspace_name: name };
}
