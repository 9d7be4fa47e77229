import { ApiError } from '../../../kernel/http/errors.ts';
import { readTimestamp } from '../../../kernel/http/schema.ts';
import { type GivenForLaunch, meetLaunchDemand } from '../../claims/index.ts';
import { READ_MS } from '../../deadline.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { buy } from '../../orders/index.ts';
import { findDomain } from '../../portfolio/index.ts';
import { getRegistrant, missingContact } from '../../registrant.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { Registration } from './schema.ts';
import { agreePrice, answerSpending, instrumentOf } from './spend.ts';

export function registerDomain(deps: DomainDependencies) {
  return async (request: WorkspaceTurn<{ body: Registration }>) =>
    answerSpending(deps, request, 201, async (deadline) => {
      const { body, caller, idempotency } = request;
      const { ascii: name, tld } = normalizeName(body.domain);
      const years = body.duration ?? 1;
      requireSold(deps, name);
      const price = await agreePrice(deps, { name, tld, operation: 'registration', years }, body);
      const instrument = instrumentOf(body);
      await requireContact(deps, caller.workspaceId, name);
      // What the workspace has is refused when the order is placed, with the reason.
      const isOurs = await isOwn(deps, caller.workspaceId, name);
      const launch = isOurs ? {} : await meetLaunchDemand(deps, caller, name, givenForLaunch(body));
      // The registry decides when the order is sent; a card is not charged for a name that is known to be taken.
      if (instrument !== undefined && price.isPriceUnasked !== true && !isOurs) await requireAvailable(deps, name);
      const purchase = {
        workspaceId: caller.workspaceId,
        kind: 'registration',
        origin: 'request',
        name,
        years,
        ...launch,
        ...price,
        instrument,
        claim: idempotency,
      } as const;
      return buy(deps, purchase, { deadline });
    });
}

function givenForLaunch({ claims_notice: notice, signed_mark: mark }: Registration): GivenForLaunch {
  return {
    notice: notice && { id: notice.id, acceptedAt: readTimestamp(notice.accepted_at) },
    // Files of marks have it in lines.
    signedMark: mark?.replace(/\s+/g, ''),
  };
}

/** Names that the operator keeps back. */
function requireSold({ prices }: DomainDependencies, name: string): void {
  if (!prices.isReserved(name)) return;
  throw new ApiError('registration_failed', {
    message: `${name} is reserved and not sold here. Nothing was charged. GET /suggest has other names.`,
    details: { reason: 'reserved' },
  });
}

/** Before money is set aside: the registry would refuse. */
async function requireContact({ db, registry }: DomainDependencies, workspaceId: string, name: string): Promise<void> {
  const { contact } = await getRegistrant(workspaceDb(db, workspaceId));
  const missing = missingContact([registry.habitsOf(name)], contact);
  if (missing.length === 0) return;
  const members = missing.map((member) => `\`contact.${member}\``).join(' and ');
  throw new ApiError('registration_failed', {
    message: `The registry wants to know more of the registrant: send ${members} to PATCH /registrant, and repeat the call. Nothing was charged.`,
    details: { reason: 'contact_incomplete', missing },
  });
}

async function isOwn({ db }: DomainDependencies, workspaceId: string, name: string): Promise<boolean> {
  return (await findDomain(workspaceDb(db, workspaceId), name)) !== undefined;
}

async function requireAvailable({ registry }: DomainDependencies, name: string): Promise<void> {
  const [found] = await registry.check([name], { timeoutMs: READ_MS });
  if (found?.availability === 'available') return;
  if (found === undefined || found.availability === 'unknown') {
    throw new ApiError('internal', {
      message: 'The registry does not answer now. Nothing was charged; repeat the call.',
    });
  }
  throw new ApiError('registration_failed', {
    message: `${name} is ${found.availability}. Nothing was charged. GET /suggest has other names.`,
  });
}
