import { type CommandContext, readDomainName } from './command-context.ts';
import { findDomain } from './domain-store.ts';
import { age, type DomainState } from './life-cycle.ts';
import { isTakenElsewhere, policyOf } from './policy.ts';
import type { DomainCheck } from './registry-core.ts';
import { completed, Refusal, type Result } from './replies.ts';

/** Changes nothing: what is due is taken into account and left to others to store. */
export async function checkDomains(context: CommandContext, names: readonly string[]): Promise<Result<DomainCheck[]>> {
  const checks: DomainCheck[] = [];
  for (const name of names) checks.push(await checkDomain(context, name));
  return completed(checks);
}

async function checkDomain(context: CommandContext, text: string): Promise<DomainCheck> {
  try {
    const { name, fees } = readDomainName(text, context.prices);
    const policy = policyOf(name);
    if (policy === 'reserved') return { name, state: 'reserved', reason: 'Reserved', fees };
    const isTaken = isTakenElsewhere(policy) || isThere(await findDomain(context.db, name), context.now);
    return isTaken ? { name, state: 'taken', reason: 'In use', fees } : { name, state: 'available', fees };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { name: text.toLowerCase(), state: error.code === 2005 ? 'invalid' : 'not_served', reason: error.message };
  }
}

function isThere(domain: DomainState | undefined, now: Date): boolean {
  return domain !== undefined && age(domain, now).domain !== undefined;
}
