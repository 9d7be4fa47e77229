import type { Static } from 'typebox';
import { closedObject, component, oneOf, readTimestamp, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

export const ClaimsNoticePath = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 1000, description: 'The domain, in punycode or in Unicode.' }),
});

const text = Type.Optional(Type.String());

const NoticeParty = component(
  'NoticeParty',
  Type.Object(
    {
      role: Type.String({
        description: 'Of a holder: `owner`, `assignee` or `licensee`. Of a contact: `owner`, `agent` or `thirdparty`.',
      }),
      name: text,
      organization: text,
      street: Type.Array(Type.String()),
      city: text,
      region: text,
      postal_code: text,
      country: text,
      phone: text,
      fax: text,
      email: text,
    },
    { description: 'Members that the notice does not have are absent.' },
  ),
);

const TrademarkClaim = component(
  'TrademarkClaim',
  Type.Object({
    mark_name: Type.String(),
    jurisdiction: Type.Object(
      { code: Type.String({ description: 'A country, or another area such as `EM`.' }), name: Type.String() },
      { description: 'Where the mark is protected.' },
    ),
    holders: Type.Array(NoticeParty),
    contacts: Type.Array(NoticeParty),
    classes: Type.Array(Type.Object({ number: Type.String(), description: Type.String() }), {
      description: 'Of the Nice classification.',
    }),
    goods_and_services: Type.String(),
    decisions: Type.Array(
      Type.Object({
        kind: oneOf(['court', 'udrp']),
        number: Type.String(),
        decided_by: Type.String({ description: 'The court, or the provider of the UDRP.' }),
        country: text,
      }),
      { description: 'By which the name counts as the mark although it is not the same.' },
    ),
  }),
);

export const ClaimsNotice = component(
  'ClaimsNotice',
  Type.Object({
    id: Type.String({ description: '`claims_notice.id` of POST /domains.' }),
    domain: Type.String({ description: 'The one domain that it is for, in punycode.' }),
    expires_at: timestamp({ description: 'Until when it can be accepted, and the domain be bought with it.' }),
    claims: Type.Array(TrademarkClaim, { description: 'All of it has to be shown to whoever accepts it.' }),
  }),
);
export type ClaimsNotice = Static<typeof ClaimsNotice>;

export function acceptedClaimsNotice(description: string) {
  return closedObject(
    {
      id: Type.String({ minLength: 1, maxLength: 100, description: 'Of GET /claims-notices/{name}.' }),
      accepted_at: timestamp({
        description: 'When whoever registers the domain accepted it. It counts for 48 hours.',
      }),
    },
    { description },
  );
}
type AcceptedClaimsNotice = Static<ReturnType<typeof acceptedClaimsNotice>>;

export function givenNotice({ accepted_at: acceptedAt, id }: AcceptedClaimsNotice) {
  return { id, acceptedAt: readTimestamp(acceptedAt) };
}
