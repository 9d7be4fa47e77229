/** Whether names can be registered, and what they cost. */
import type { Static } from 'typebox';
import { component, nullable, oneOf } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';
import { MARK_KINDS } from '../../registry/registry.ts';
import { LaunchOfTld } from '../launch-of-tld.ts';

export const AvailabilityQuery = Type.Object({
  q: Type.String({
    minLength: 1,
    maxLength: 1_000,
    description: 'A domain, `example.com`, or a name without a TLD, which is looked up under several.',
  }),
});

const PriceQuote = component(
  'PriceQuote',
  Type.Object(
    {
      currency: oneOf(['EUR']),
      register: Type.Number({ description: 'A year of registration.' }),
      renew: Type.Number({ description: 'A year of renewal.' }),
      transfer: Type.Number({ description: 'A transfer in, with the years that it adds.' }),
      min_years: Type.Integer({ description: 'The least `duration` of a registration.' }),
      max_years: Type.Integer({ description: 'The greatest `duration` of a registration.' }),
      premium: Type.Optional(
        Type.Literal(true, {
          description: 'The registry sells the name at a price of its own; absent where it does not.',
        }),
      ),
      application: Type.Optional(
        Type.Number({
          description: 'Beyond the contract: what the application costs once, beside `register`; absent: nothing.',
        }),
      ),
      application_refunded_when_lost: Type.Optional(
        Type.Boolean({
          description:
            'Whether `application` comes back where the registry gives the name to another. The rest always does.',
        }),
      ),
    },
    {
      description:
        '`confirm_price` of a registration is `register` times its `duration`, and `application` where there is one.',
    },
  ),
);

const AvailabilityResult = component(
  'AvailabilityResult',
  Type.Object({
    domain: Type.String({ description: 'In ASCII: punycode where it needs any.' }),
    unicode: Type.Optional(Type.String({ description: 'As people read it, where that differs.' })),
    available: nullable(Type.Boolean(), { description: 'Null: not known. Never take it for free.' }),
    status: oneOf(['available', 'taken', 'reserved', 'unsupported_tld', 'unknown']),
    reason: nullable(Type.String(), { description: 'For people: why it is not available.' }),
    price: nullable(PriceQuote, { description: 'Null where the TLD is not offered.' }),
    requires: Type.Optional(
      oneOf(['claims_notice', ...MARK_KINDS], {
        description:
          'Beyond the contract, while a TLD is being launched. `claims_notice`: a trademark claims the name, so the notice of GET ' +
          '/claims-notices/{name} has to be accepted with POST /domains. `signed_mark`: it is for the holder of a trademark, whose ' +
          '`signed_mark` has to come with POST /domains; so `mark_code`, `mark`, and `mark_code_and_mark`. Absent: nothing has to.',
      }),
    ),
    launch: Type.Optional(LaunchOfTld),
  }),
);

export const AvailabilityReport = component(
  'AvailabilityReport',
  Type.Object({
    query: Type.String({ description: 'As it was sent.' }),
    results: Type.Array(AvailabilityResult),
  }),
);

export type PriceQuote = Static<typeof PriceQuote>;
export type AvailabilityResult = Static<typeof AvailabilityResult>;
export type AvailabilityReport = Static<typeof AvailabilityReport>;
