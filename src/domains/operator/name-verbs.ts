/** What an operator does about names of which the registry and the portfolios say different things. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { OperatorError, type VerbHandlers } from '../../kernel/operator/index.ts';
import { assignName, listUnassigned } from '../orders/index.ts';
import { areTooManyMissing, bringBack, findPaidBack, listMissing, retireByHand } from '../portfolio/index.ts';
import { formatEuros } from '../prices/money.ts';
import type { Registry } from '../registry/registry.ts';
import { listUnpaidProblems } from '../renewals/index.ts';
import { systemDb } from '../workspace-scope.ts';
import { chooseWorkspace } from './choose-workspace.ts';
import { readName } from './read-name.ts';
import type { DomainVerbs } from './verbs.ts';

/** More than these say nothing new: something is wrong with all of them. */
const LISTED = 1_000;

type NameVerbs = Pick<
  VerbHandlers<DomainVerbs>,
  'unpaid_names' | 'missing_names' | 'retire_name' | 'recover_name' | 'unassigned_names' | 'assign_name'
>;

export interface NameVerbDependencies {
  readonly db: Database;
  readonly clock: Clock;
  /** Of each registry; undefined: all of them. */
  readonly registryZones?: readonly (readonly string[] | undefined)[];
  /** Absent: what needs one is refused. */
  readonly registry?: Pick<Registry, 'info'> | undefined;
}

export function createNameVerbs({ db, clock, registry, registryZones = [undefined] }: NameVerbDependencies): NameVerbs {
  async function isOurs(name: string): Promise<boolean> {
    if (registry === undefined) throw new OperatorError('No registry is open here. Ask a running server.');
    return (await registry.info(name))?.isOurs === true;
  }

  async function isAnyStopped(): Promise<boolean> {
    const stopped = await Promise.all(registryZones.map((zones) => areTooManyMissing(db, clock.now(), zones)));
    return stopped.includes(true);
  }

  return {
    async missing_names() {
      const rows = await listMissing(systemDb(db), LISTED);
      return {
        is_stopped: await isAnyStopped(),
        names: rows.map((row) => ({
          name: row.name,
          workspace_id: row.workspace_id,
          missing_since: (row.missing_since ?? clock.now()).toISOString(),
          sightings: row.missing_sightings,
          announced: row.missing_announced,
          expires_at: row.expires_at?.toISOString() ?? null,
        })),
      };
    },
    async unpaid_names() {
      const rows = await listUnpaidProblems(systemDb(db), LISTED);
      return {
        names: rows.map((row) => ({
          name: row.name,
          workspace_id: row.workspace_id,
          paid_until: (row.billed_until ?? clock.now()).toISOString(),
          expires_at: row.snapshot?.expiresAt ?? null,
          suspended_at: row.suspended_at?.toISOString() ?? null,
          problem: row.unpaid_problem ?? '',
          tried_at: row.unpaid_tried_at?.toISOString() ?? null,
        })),
      };
    },
    async unassigned_names() {
      const rows = await listUnassigned(systemDb(db), LISTED);
      return {
        names: rows.map(({ name, registry_id, expires_at, found_at, order_id }) => ({
          name,
          registry_id,
          expires_at: expires_at?.toISOString() ?? null,
          found_at: found_at.toISOString(),
          order_id,
        })),
      };
    },
    async assign_name({ name: asked, workspace: wanted }) {
      const name = readName(asked);
      const workspace = await chooseWorkspace(db, wanted);
      const paidBack = await findPaidBack(db, name, clock.now());
      if (paidBack?.workspaceId === workspace.id) {
        throw new OperatorError(
          `${name} was this workspace’s, and ${formatEuros(paidBack.cents)} were paid back for it. Put it back with domains name recover, which charges that again.`,
        );
      }
      const assigned = await assignName(db, name, workspace.id);
      if (assigned === null) throw new OperatorError(`${name} is not unassigned. See: domains name unassigned.`);
      if (assigned === 'endless') {
        throw new OperatorError(
          `The registry has not shown when the term of ${name} ends. Say until when it is paid, with domains name import.`,
        );
      }
      return { name, workspace_id: workspace.id, workspace_name: workspace.name };
    },
    async retire_name({ name: asked }) {
      const name = readName(asked);
      const row = await db.transaction((tx) => retireByHand(tx, name, clock.now()));
      if (row === undefined) {
        throw new OperatorError(
          `${name} is not missing: only a name that the registry says is not ours can be retired. See: domains name missing.`,
        );
      }
      return { name, workspace_id: row.workspace_id };
    },
    async recover_name({ name: asked }) {
      const name = readName(asked);
      const isShown = (await findPaidBack(db, name, clock.now())) !== undefined && (await isOurs(name));
      const found = await db.transaction((tx) => bringBack(tx, name, { isShown, now: clock.now() }));
      switch (found.kind) {
        case 'done':
          return { name, workspace_id: found.row.workspace_id, charged_cents: found.chargedCents };
        case 'unconfirmed':
          throw new OperatorError(
            `What ${name} cost was paid back as its registry had taken it back, and the registry does not show it as yours: there is nothing to put back.`,
          );
        case 'not_covered':
          throw new OperatorError(
            `${name} cost ${formatEuros(found.cents)}, which were paid back and have to be paid again, and the wallet of ${found.workspaceId} does not cover that. Have it topped up (domains wallet top-up) and repeat this.`,
          );
        case 'taken':
          throw new OperatorError(
            `${name} is in the portfolio of ${found.workspaceId} already, or being bought for it.`,
          );
        case 'never_here':
          throw new OperatorError(`${name} was retired from no portfolio.`);
        case 'too_late':
          throw new OperatorError(
            `${name} was retired more than 60 days ago: its records are gone. Register it or transfer it in.`,
          );
        default:
          return found satisfies never;
      }
    },
  };
}
