import { type CommandContext, lockDomainState, requireNoTrade, requireSettled, store } from './command-context.ts';
import { completed, type Result } from './replies.ts';

/** To the registrar of the session. The statuses that the former one had set go with it, as they do with a transfer. */
export async function moveDomain(context: CommandContext, name: string): Promise<Result<undefined>> {
  const { now, session } = context;
  const domain = await lockDomainState(context, name);
  if (domain.sponsor === session.registrarId) return completed(undefined);
  requireSettled(domain);
  requireNoTrade(domain);
  const moved = { ...domain, sponsor: session.registrarId, clientStatuses: [], transferredAt: now, updatedAt: now };
  await store(context, domain, { domain: moved, notices: [] });
  return completed(undefined);
}
