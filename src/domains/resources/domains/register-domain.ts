import { ApiError } from '../../../kernel/http/errors.ts';
import type { Caller } from '../../access/caller.ts';
import { type GivenForLaunch, keepForLaunch, type LaunchTerms, meetLaunchDemand } from '../../claims/index.ts';
import { READ_MS } from '../../deadline.ts';
import { normalizeName } from '../../names/normalize-name.ts';
import type { WorkspaceTurn } from '../../operation.ts';
import { buy, requireAvailable, requirePhase } from '../../orders/index.ts';
import { findDomain } from '../../portfolio/index.ts';
import { quote } from '../../prices/quote.ts';
import { getRegistrant, missingContact } from '../../registrant.ts';
import { workspaceDb } from '../../workspace-scope.ts';
import { givenNotice } from '../claims-notices/index.ts';
import type { DomainDependencies } from './dependencies.ts';
import type { Registration } from './schema.ts';
import { type AgreedPrice, agreePrice, answerSpending, instrumentOf, isUnsaid } from './spend.ts';

export function registerDomain(deps: DomainDependencies) {
  return async (request: WorkspaceTurn<{ body: Registration }>) =>
    answerSpending(deps, request, 201, async (deadline) => {
      const { body, caller, idempotency } = request;
      const { ascii: name, tld } = normalizeName(body.domain);
      const years = body.duration ?? 1;
      requireSold(deps, name);
      const price = await agreePrice(() => quote(deps, { name, tld, operation: 'registration', years }), body);
      const instrument = instrumentOf(body);
      await requireContact(deps, caller.workspaceId, name);
      // What the workspace has is refused when the order is placed, with the reason.
      const isOurs = await isOwn(deps, caller.workspaceId, name);
      const launch = isOurs ? {} : await meetDemands(deps, caller, name, { body, price });
      const purchase = {
        workspaceId: caller.workspaceId,
        kind: 'registration',
        origin: 'request',
        name,
        ...price,
        years,
        ...launch,
        instrument,
        claim: idempotency,
      } as const;
      return buy(deps, purchase, { deadline });
    });
}

/** What goes with the order. A registry that does not say what it demands is asked later, by the order. */
async function meetDemands(
  deps: DomainDependencies,
  caller: Caller,
  name: string,
  { body, price }: { readonly body: Registration; readonly price: AgreedPrice },
): Promise<LaunchTerms & Pick<AgreedPrice, 'isPriceUnasked'>> {
  const given = givenForLaunch(body);
  if (price.isPriceUnasked !== true) {
    try {
      const launch = await meetLaunchDemand(deps, caller, name, given);
      requirePhase({ name }, price.application, launch.launchPhase);
      // The registry decides when the order is sent; a card is not charged for a name that is known to be taken.
      if (instrumentOf(body) !== undefined) await requireAvailable(deps, name, { timeoutMs: READ_MS });
      return launch;
    } catch (error) {
      if (!isUnsaid(error)) throw error;
    }
  }
  return { ...(await keepForLaunch(deps, caller, name, given)), isPriceUnasked: true };
}

function givenForLaunch(registration: Registration): GivenForLaunch {
  const { claims_notice: notice, mark, mark_code: markCode, signed_mark: signedMark } = registration;
  return {
    notice: notice && givenNotice(notice),
    // Files of marks have it in lines.
    signedMark: signedMark?.replace(/\s+/g, ''),
    markCode,
    mark: mark?.replace(/\s+/g, ''),
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
