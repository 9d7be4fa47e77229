/** What an operator does about registrants whose e-mail addresses are to be confirmed: see verifications/verification.ts. */
import type { Clock } from '../../kernel/clock/clock.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { ApiError } from '../../kernel/http/errors.ts';
import { OperatorError, type VerbHandlers } from '../../kernel/operator/index.ts';
import type { PriceBook } from '../prices/price-book.ts';
import { isAddressTaken, lockRegistrant, saveAddress } from '../registrant.ts';
import { endChange } from '../registrant-changes/index.ts';
import { type EmailAddress, normalizeEmail } from '../resources/accounts/index.ts';
import {
  askAgain,
  isSameIdentity,
  listUnverified,
  noteRegistrantChange,
  verifyByHand,
} from '../verifications/index.ts';
import { workspaceDb } from '../workspace-scope.ts';
import { chooseWorkspace } from './choose-workspace.ts';
import type { DomainVerbs } from './verbs.ts';

const LISTED = 1_000;

type RegistrantVerbs = Pick<
  VerbHandlers<DomainVerbs>,
  'unverified_registrants' | 'verify_registrant' | 'ask_registrant' | 'correct_registrant'
>;

export interface RegistrantVerbDependencies {
  readonly db: Database;
  readonly clock: Clock;
  /** Absent: no TLD asks. */
  readonly prices?: Pick<PriceBook, 'list'> | undefined;
}

export function createRegistrantVerbs({ clock, db, prices }: RegistrantVerbDependencies): RegistrantVerbs {
  const deps = { clock, prices: prices ?? { list: () => [] } };
  return {
    async unverified_registrants() {
      const found = await listUnverified(db, LISTED);
      return {
        registrants: found.map((registrant) => ({
          workspace_id: registrant.workspace_id,
          name: registrant.name,
          email: registrant.email,
          asked_at: registrant.asked_at.toISOString(),
          mailed_at: registrant.mailed_at?.toISOString() ?? null,
          suspends_at: registrant.suspend_at?.toISOString() ?? null,
          suspended_names: registrant.suspended_names,
          problem: registrant.mail_problem ?? registrant.hold_problem,
        })),
      };
    },
    async verify_registrant({ workspace: wanted, reason }) {
      const workspace = await chooseWorkspace(db, wanted);
      const { email } = await db.transaction((tx) => verifyByHand({ clock }, tx, workspace.id, reason));
      return { workspace_id: workspace.id, workspace_name: workspace.name, email };
    },
    async ask_registrant({ workspace: wanted }) {
      const workspace = await chooseWorkspace(db, wanted);
      if (!(await db.transaction((tx) => askAgain(deps, tx, workspace.id)))) {
        throw new OperatorError(
          `${workspace.id} has no name of a TLD that asks for it. Set verify_registrants_from of the TLD: docs/registrar.md.`,
        );
      }
      return { workspace_id: workspace.id, workspace_name: workspace.name };
    },
    async correct_registrant({ workspace: wanted, email: asked }) {
      const workspace = await chooseWorkspace(db, wanted);
      const email = readAddress(asked);
      const previous = await db
        .transaction((tx) => correctAddress(deps, tx, workspace.id, email))
        .catch((error: unknown) => {
          if (!isAddressTaken(error)) throw error;
          throw new OperatorError(`Another account has the address ${email.address}.`);
        });
      return {
        workspace_id: workspace.id,
        workspace_name: workspace.name,
        email: email.address,
        previous_email: previous,
      };
    },
  };
}

/** Answers the address of before. */
async function correctAddress(
  deps: Parameters<typeof noteRegistrantChange>[0],
  tx: Transaction,
  workspaceId: string,
  email: EmailAddress,
): Promise<string> {
  const scoped = workspaceDb(tx, workspaceId);
  const before = await lockRegistrant(scoped);
  const after = { ...before, email: email.address };
  await saveAddress(scoped, before.id, email);
  // What waits was asked of whoever reads the mail of the address of before.
  await endChange(scoped, deps.clock.now());
  if (!isSameIdentity(before, after)) await noteRegistrantChange(deps, tx, workspaceId, after);
  return before.email;
}

function readAddress(text: string): EmailAddress {
  try {
    return normalizeEmail(text);
  } catch (error) {
    throw error instanceof ApiError ? new OperatorError(error.message) : error;
  }
}
