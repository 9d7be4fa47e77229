import type { Registrant, RegistryHolder } from './registry.ts';

/** Whether this is who holds it; the rest of a contact may differ. */
export function isHolder(holder: RegistryHolder, registrant: Pick<Registrant, 'name' | 'organization'>): boolean {
  const keyOf = ({ name, organization = '' }: Pick<Registrant, 'name' | 'organization'>) =>
    [name, organization].map((text) => text.normalize('NFC').trim().replaceAll(/\s+/g, ' ')).join('\n');
  return keyOf(holder) === keyOf(registrant);
}
