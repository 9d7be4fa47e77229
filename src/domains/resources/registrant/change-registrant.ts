/** PATCH /registrant. What takes consents waits for them; the rest is so at once, and the registries of all names are told. */
import { isDeepStrictEqual } from 'node:util';
import type { WorkspaceChange } from '../../operation.ts';
import { lockRegistrant, saveRegistrant, type WorkspaceRegistrant } from '../../registrant.ts';
import {
  consentingTldsOf,
  endChange,
  requestChange,
  tellRegistries,
  wantsConsents,
} from '../../registrant-changes/index.ts';
import type { RegistrantContact } from '../../tables.ts';
import { isSameIdentity, noteRegistrantChange } from '../../verifications/index.ts';
import { workspaceDb } from '../../workspace-scope.ts';
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
    const waits =
      isOther && (wanted.email !== before.email || (await wantsConsents(db, consentingTldsOf(prices, clock.now()))));
    const after = waits ? withIdentityOf(before, wanted) : wanted;
    await saveRegistrant(db, after);
    if (waits) {
      const { contact, email, name } = wanted;
      await requestChange(deps, tx, caller.workspaceId, {
        presentEmail: before.email,
        wanted: { name, email, organization: contact.organization ?? null },
        locksTransfers: body.transfer_lock ?? true,
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
