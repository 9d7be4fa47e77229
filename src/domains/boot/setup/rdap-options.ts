/** How RDAP is answered: `rdap` of the file, with who the registrar is. */
import type { RdapIdentity } from '../../resources/rdap/registrar-identity.ts';
import type { NoteProblem } from './note-problem.ts';
import type { Setup } from './setup-schema.ts';

/** Undefined: it is not. */
export function rdapOf({ rdap = false, registrar }: Setup, note: NoteProblem): RdapIdentity | undefined {
  if (rdap === false) return undefined;
  if (registrar === undefined) {
    note('rdap', 'say who the registrar is: `registrar`');
    return undefined;
  }
  const identity: RdapIdentity = { ...registrar, ...(rdap === true ? {} : rdap) };
  if (identity.icann_profile === true) {
    const missing = [
      ...(identity.iana_id === undefined ? ['registrar.iana_id'] : []),
      ...(identity.abuse_phone === undefined ? ['registrar.abuse_phone'] : []),
      ...(identity.terms_url === undefined ? ['rdap.terms_url'] : []),
      ...(identity.registrant_contact === undefined ? ['rdap.registrant_contact'] : []),
    ];
    if (missing.length > 0) note('rdap.icann_profile', `the profile wants ${missing.join(', ')} as well`);
  }
  return identity;
}
