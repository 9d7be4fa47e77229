import type { Static } from 'typebox';
import { closedObject, component, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { Renewal } from '../../renewals/index.ts';

export const SettingsPath = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 1000, description: 'The domain, in punycode or in Unicode.' }),
});

const hosts = Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { minItems: 2, maxItems: 13 });

export const SettingsChange = component(
  'SettingsChange',
  closedObject(
    {
      auto_renew: Type.Optional(
        Type.Boolean({
          description:
            'On takes a scheduled release back. Off before the charge costs nothing; a renewal that is charged stands.',
        }),
      ),
      registrar_lock: Type.Optional(
        Type.Boolean({
          description:
            'Keeps the domain from being transferred, deleted or changed at the registry: `whois_privacy`, `dnssec`, ' +
            '`nameservers` and the auth code of a locked domain change only with the call that unlocks it, or after it.',
        }),
      ),
      whois_privacy: Type.Optional(Type.Boolean({ description: 'Keeps the registrant’s data from public look-ups.' })),
      dnssec: Type.Optional(
        Type.Boolean({
          description:
            'Signs the zone and hands its DS records to the registry; only for domains with the service’s own nameservers. ' +
            'Off removes the DS records first, also of a domain with other nameservers.',
        }),
      ),
      nameservers: Type.Optional(
        Type.Union([hosts, Type.Literal('hosted')], {
          description:
            'Two to thirteen host names outside of the domain, or `hosted` for the service’s own: then it keeps the records. ' +
            'Not while DNSSEC is on, since resolvers would trust the old keys for a day.',
        }),
      ),
    },
    { description: 'At least one member; the others stay as they are.' },
  ),
);
export type SettingsChange = Static<typeof SettingsChange>;

export const Settings = component(
  'Settings',
  Type.Object({
    domain: Type.String(),
    settings: Type.Object({
      auto_renew: Type.Boolean(),
      registrar_lock: Type.Boolean(),
      whois_privacy: Type.Boolean(),
      dnssec: Type.Boolean(),
      nameservers: Type.Array(Type.String()),
    }),
    renewal: Renewal,
    renewed_until: Type.Optional(
      timestamp({ description: 'Present when a renewal of the current term stands: the expiry that it leads to.' }),
    ),
    status: oneOf(['Completed', 'Pending'], {
      description:
        '`Pending`: the registry has taken the change and completes it, in seconds to minutes; DNSSEC, in a day.',
    }),
  }),
);
export type Settings = Static<typeof Settings>;
