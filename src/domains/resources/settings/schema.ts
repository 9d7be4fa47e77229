import type { Static } from 'typebox';
import { closedObject, component, nullable, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { Renewal } from '../../renewals/index.ts';

export type SettingsPath = Static<typeof SettingsPath>;
export const SettingsPath = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 1000, description: 'The domain, in punycode or in Unicode.' }),
});

const hosts = Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { minItems: 2, maxItems: 13 });

/** What registries take. */
const MOST_HOSTS = 13;

export const GlueHost = component(
  'GlueHost',
  closedObject({
    host: Type.String({ minLength: 1, maxLength: 253, description: 'The domain itself or a name below it.' }),
    addresses: Type.Array(Type.String({ minLength: 2, maxLength: 45 }), {
      minItems: 1,
      maxItems: MOST_HOSTS,
      description: 'IPv4 and IPv6 addresses that everybody reaches.',
    }),
  }),
);

const glue = (description: string) => Type.Optional(Type.Array(GlueHost, { maxItems: MOST_HOSTS, description }));

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
            'Two to thirteen host names, or `hosted` for the service’s own: then it keeps the records. Those below the domain itself need `glue`. ' +
            'Not while DNSSEC is on, since resolvers would trust the old keys for a day.',
        }),
      ),
      glue: glue(
        'The nameservers below the domain, all of them, with the addresses that its registry answers with: for its own `nameservers`, and for those of ' +
          'other domains. One that is left out is taken away, unless other domains still use it.',
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
      glue: glue('Nameservers below the domain, where the registry was asked for them.'),
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

export const Glue = component(
  'Glue',
  Type.Object({
    domain: Type.String(),
    glue: Type.Array(GlueHost),
    syncedAt: nullable(timestamp(), { description: 'When the registry reported these; null while it has not.' }),
  }),
);
export type Glue = Static<typeof Glue>;
export type GlueHost = Static<typeof GlueHost>;
