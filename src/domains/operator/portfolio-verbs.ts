/** The portfolio held against the registries, both ways, and names taken over from them. */
import type { Database } from '../../kernel/db/database.ts';
import type { VerbHandlers } from '../../kernel/operator/index.ts';
import { OperatorError } from '../../kernel/operator/index.ts';
import { adoptName } from '../orders/index.ts';
import { EXPIRY_TOLERANCE_MS, findOwner, listActiveAfter } from '../portfolio/index.ts';
import { type Registry, type RegistryDomain, RegistryUnavailable } from '../registry/registry.ts';
import { inBackground } from '../registry/turns/command-turn.ts';
import { systemDb } from '../workspace-scope.ts';
import { chooseWorkspace } from './choose-workspace.ts';
import { readName } from './read-name.ts';
import type { DomainVerbs } from './verbs.ts';

export interface PortfolioVerbDependencies {
  readonly db: Database;
  /** Undefined: this process has none open. */
  readonly registry?: Pick<Registry, 'info'> | undefined;
}

type PortfolioVerbs = Pick<VerbHandlers<DomainVerbs>, 'audit_portfolio' | 'audit_names' | 'import_name'>;
type Finding = { readonly name: string; readonly problem: string };

export function createPortfolioVerbs(deps: PortfolioVerbDependencies): PortfolioVerbs {
  const { db } = deps;
  const askRegistry = async (name: string): Promise<RegistryDomain | undefined> => {
    if (deps.registry === undefined) throw new OperatorError('No registry is open here. Ask a running server.');
    return deps.registry.info(name);
  };

  return {
    async audit_portfolio({ after, limit }) {
      const rows = await listActiveAfter(systemDb(db), after ?? '', limit);
      const findings: Finding[] = [];
      for (const row of rows) {
        const problem = await orSilence(async () => {
          // Customers come first.
          const info = await inBackground(() => askRegistry(row.name));
          return differenceOf(info, row);
        });
        if (problem !== undefined) findings.push({ name: row.name, problem });
      }
      const last = rows.at(-1);
      return { asked: rows.length, findings, next_after: rows.length === limit && last ? last.name : null };
    },
    async audit_names({ names }) {
      const findings: Finding[] = [];
      for (const asked of names) {
        const name = readName(asked);
        if ((await findOwner(systemDb(db), name)) !== undefined) continue;
        const problem = await orSilence(async () => {
          const info = await askRegistry(name);
          return info?.isOurs === true ? 'It is with our registrar account and in no portfolio.' : undefined;
        });
        if (problem !== undefined) findings.push({ name, problem });
      }
      return { asked: names.length, findings };
    },
    async import_name({ name: asked, workspace: wanted, paid_until: paidUntil }) {
      const name = readName(asked);
      const workspace = await chooseWorkspace(db, wanted);
      const owner = await findOwner(systemDb(db), name);
      if (owner !== undefined) {
        return { name, imported: false, reason: `It is in the portfolio of ${owner.workspace_id} already.` };
      }
      let info: RegistryDomain | undefined;
      try {
        info = await askRegistry(name);
      } catch (error) {
        if (!(error instanceof RegistryUnavailable)) throw error;
        return { name, imported: false, reason: `The registry does not answer: ${error.message}` };
      }
      if (info?.isOurs !== true) {
        return { name, imported: false, reason: 'The registry does not have it with our registrar account.' };
      }
      const until = paidUntil ?? info.expiresAt;
      if (until === undefined) {
        return {
          name,
          imported: false,
          reason: 'The registry does not show when its term ends: say until when it is paid.',
        };
      }
      const adopted = await adoptName(db, { name, workspaceId: workspace.id, info, paidUntil: readDate(until) });
      return adopted
        ? { name, imported: true, reason: `It is in the portfolio of ${workspace.id} (${workspace.name}).` }
        : { name, imported: false, reason: 'Somebody here has just bought it, or is buying it.' };
    },
  };
}

function readDate(text: string): Date {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw new OperatorError(`${text} is no date. Use one such as 2027-03-01.`);
  return date;
}

/** What is wrong, or that the registry gives no answer. */
async function orSilence(ask: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof RegistryUnavailable) return `The registry does not answer: ${error.message}`;
    throw error;
  }
}

interface Kept {
  readonly billed_until: Date | null;
  readonly expires_at: Date | null;
  readonly release_at: Date | null;
}

function differenceOf(info: RegistryDomain | undefined, row: Kept): string | undefined {
  if (info === undefined) return 'The registry has no such name.';
  if (!info.isOurs) return 'The registry has it with another registrar.';
  const leaving = info.statuses.find((status) => status === 'redemptionPeriod' || status === 'pendingDelete');
  if (leaving !== undefined && row.release_at === null)
    return `Nobody here has deleted it, and its status is ${leaving}.`;
  const paid = row.billed_until ?? row.expires_at;
  if (paid === null) return 'Nothing is written down of what was paid for it.';
  if (info.expiresAt === undefined) return 'The registry does not show when its term ends.';
  const days = Math.round((new Date(info.expiresAt).getTime() - paid.getTime()) / 86_400_000);
  if (Math.abs(days) * 86_400_000 <= EXPIRY_TOLERANCE_MS) return undefined;
  const there = `It is paid until ${paid.toISOString().slice(0, 10)}, and the registry has it until ${info.expiresAt.slice(0, 10)}`;
  return days < 0
    ? `${there}: a term that was paid for is missing.`
    : `${there}: we owe for a term that nobody has paid for.`;
}
