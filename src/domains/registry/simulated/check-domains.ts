import { type CommandContext, readDomainName } from './command-context.ts';
import { findDomain, listRegistered } from './domain-store.ts';
import { age } from './life-cycle.ts';
import { isTakenElsewhere, policyOf } from './policy.ts';
import type { DomainCheck } from './registry-core.ts';
import { completed, Refusal, type Result } from './replies.ts';

/** Changes nothing: what is due is taken into account and left to others to store. */
export async function checkDomains(context: CommandContext, names: readonly string[]): Promise<Result<DomainCheck[]>> {
  const registered = await findRegistered(context, names);
  return completed(names.map((name) => checkDomain(context, name, registered)));
}

function checkDomain(context: CommandContext, text: string, registered: ReadonlySet<string>): DomainCheck {
  try {
    const { name, fees } = readDomainName(text, context.prices);
    const policy = context.reservedNames.has(name) ? 'reserved' : policyOf(name);
    if (policy === 'reserved') return { name, state: 'reserved', reason: 'Reserved', fees };
    const isTaken = isTakenElsewhere(policy) || registered.has(name);
    return isTaken ? { name, state: 'taken', reason: 'In use', fees } : { name, state: 'available', fees };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { name: text.toLowerCase(), state: error.code === 2005 ? 'invalid' : 'not_served', reason: error.message };
  }
}

async function findRegistered(context: CommandContext, names: readonly string[]): Promise<Set<string>> {
  const { db, now } = context;
  const registered = new Set<string>();
  for (const { dueAt, name } of await listRegistered(db, names)) {
    const isDue = dueAt !== null && dueAt <= now;
    const domain = isDue ? await findDomain(db, name) : undefined;
    const isGone = isDue && (domain === undefined || age(domain, now, context).domain === undefined);
    if (!isGone) registered.add(name);
  }
  return registered;
}
