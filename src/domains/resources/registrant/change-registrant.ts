/** PATCH /registrant. What takes consents waits for them; the rest is so at once, and the registries of all names are told. */
import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../../kernel/http/errors.ts';
import type { WorkspaceChange } from '../../operation.ts';
import { lockRegistrant, saveRegistrant, type WorkspaceRegistrant } from '../../registrant.ts';
import {
  consentingTldsOf,
  countAgentChange,
  endChange,
  makeChange,
  requestChange,
  tellRegistries,
  wantsConsents,
} from '../../registrant-changes/index.ts';
import type { RegistrantContact } from '../../tables.ts';
import { isSameIdentity, noteRegistrantChange } from '../../verifications/index.ts';
import { type WorkspaceDb, workspaceDb } from '../../workspace-scope.ts';
import { contactTexts, normalizeEmail, requirePlain } from '../accounts/index.ts';
import { type RegistrantDependencies, renderRegistrant } from './get-registrant.ts';
import type { Registrant, RegistrantChange } from './schema.ts';

type Request = WorkspaceChange<{ body: RegistrantChange }>;

/** Throws `bad_request`, `email_taken` and `rate_limit_exceeded`. */
export function changeRegistrant(deps: RegistrantDependencies) {
  return async ({ body, caller, tx }: Request): Promise<Registrant> => {
    const { clock, prices } = deps;
    requirePlain({ name: body.name, ...contactTexts(body.contact) });
    const db = workspaceDb(tx, caller.workspaceId);
    const before = await lockRegistrant(db);
    const wanted = {
      ...before,
      name: body.name ?? before.name,
      email: body.email === undefined ? before.email : normalizeEmail(body.email).address,
      contact: mergeContact(before.contact, body.contact ?? {}),
    };
    const isOther = !isSameIdentity(before, wanted);
    const consenting = consentingTldsOf(prices, clock.now());
    const isOtherAddress = wanted.email !== before.email;
    const waits = isOther && (isOtherAddress || (await wantsConsents(db, consenting)));
    const locksTransfers = body.transfer_lock ?? true;
    if (waits && !isOtherAddress && (await agentConsents(deps, db, before, consenting))) {
      const consented = { present: before, next: wanted, locksTransfers, consentedBy: 'designated_agent' } as const;
      await makeChange(deps, tx, caller.workspaceId, consented);
      return renderRegistrant(deps, db, wanted);
    }
    const after = waits ? withIdentityOf(before, wanted) : wanted;
    await saveRegistrant(db, after);
    if (waits) {
      const { contact, email, name } = wanted;
      await requestChange(deps, tx, caller.workspaceId, {
        presentEmail: before.email,
        wanted: { name, email, organization: contact.organization ?? null },
        locksTransfers,
      });
    } else if (isOther) {
      await endChange(db, clock.now());
      await noteRegistrantChange(deps, tx, caller.workspaceId, after);
    }
    // Names are locked last, as wherever a registrant changes.
    if (!isDeepStrictEqual(after, before)) await tellRegistries(tx, caller.workspaceId, after, clock.now());
    return renderRegistrant(deps, db, after);
  };
}

/** Whether the registrar consents for the registrant, who has authorized it, at all TLDs that want a consent. Throws `rate_limit_exceeded`. */
async function agentConsents(
  { clock }: RegistrantDependencies,
  db: WorkspaceDb,
  registrant: WorkspaceRegistrant,
  consenting: ReturnType<typeof consentingTldsOf>,
): Promise<boolean> {
  const others = consenting.filter(({ letsAgent }) => !letsAgent);
  if (await wantsConsents(db, others)) return false;
  const now = clock.now();
  const counted = await countAgentChange(db, registrant, now);
  if (!(counted instanceof Date)) return counted === 'counted';
  throw new ApiError('rate_limit_exceeded', {
    message: 'Too many changes were asked for lately, each of which is mailed. Ask again later.',
    retryAfterSeconds: Math.ceil((counted.getTime() - now.getTime()) / 1_000),
  });
}

/** Who is the registrant now, with what else is wanted of the contact. */
function withIdentityOf(before: WorkspaceRegistrant, wanted: WorkspaceRegistrant): WorkspaceRegistrant {
  const { organization: _, ...contact } = wanted.contact;
  const { organization } = before.contact;
  return { ...before, contact: { ...contact, ...(organization === undefined ? {} : { organization }) } };
}

function mergeContact(before: RegistrantContact, change: NonNullable<RegistrantChange['contact']>): RegistrantContact {
  const members = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null);
  return Object.fromEntries(members) as RegistrantContact;
}
