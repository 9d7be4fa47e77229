/** An account: a user, the workspace that has the names and the wallet, and a first token of it. */
import type { Static } from 'typebox';
import { closedObject, component, oneOf, timestamp } from '../../../kernel/http/schema.ts';
import { Type } from '../../../kernel/http/type-builder.ts';

const text = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: '\\S', description });

/** What is known of a registrant beside name and e-mail address. */
export const contactMembers = {
  organization: text(255, 'Absent for a private person.'),
  street: text(255, 'Street and number, up to three lines.'),
  city: text(255, 'City or town.'),
  region: text(255, 'State or province.'),
  postal_code: text(16, 'Postal code.'),
  country: Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166-1 alpha-2, such as `DE`.', example: 'DE' }),
  phone: Type.String({
    maxLength: 17,
    pattern: '^\\+[0-9]{1,3}\\.[0-9]{1,14}$',
    description: 'E.164 as registries write it, a dot behind the country code: `+49.301234567`.',
    example: '+49.301234567',
  }),
};
const { organization, street, city, region, postal_code, country, phone } = contactMembers;

const contact = closedObject(
  {
    organization: Type.Optional(organization),
    street: Type.Optional(street),
    city: Type.Optional(city),
    region: Type.Optional(region),
    postal_code: Type.Optional(postal_code),
    country: Type.Optional(country),
    phone: Type.Optional(phone),
  },
  {
    description:
      'The registrant of the domains, beside name and e-mail address. Registries may require it; PATCH /registrant changes it.',
  },
);

export const AccountCreate = component(
  'AccountCreate',
  closedObject({
    email: Type.String({
      minLength: 3,
      maxLength: 400,
      description: 'Signs up once, in whatever case. Auth codes go there.',
      example: 'kim@example.com',
    }),
    name: Type.Optional(
      text(200, 'Of the person who is the registrant of the domains. Default: what stands before the `@`.'),
    ),
    workspace: Type.Optional(text(200, 'What to call the workspace. Default: the name.')),
    contact: Type.Optional(contact),
    prefund: Type.Optional(
      Type.Union([Type.Number(), Type.String({ maxLength: 20 })], {
        description:
          'Money to begin with, in EUR: a number or a decimal string with at most two decimals, from 1.00 to 10000.00. The answer has the address of a page on which a person pays it.',
      }),
    ),
  }),
);
export type AccountCreate = Static<typeof AccountCreate>;

export const Account = component(
  'Account',
  Type.Object({
    user: Type.Object({
      id: Type.String(),
      email: Type.String(),
      name: Type.String(),
      created_at: timestamp(),
    }),
    workspace: Type.Object({
      id: Type.String(),
      name: Type.String(),
      created_at: timestamp(),
      wallet: Type.Object({
        available_cents: Type.Integer({ description: 'What can be spent.' }),
        held_cents: Type.Integer({ description: 'Set aside for orders under way.' }),
        currency: oneOf(['EUR']),
      }),
    }),
    token: Type.Object({
      id: Type.String(),
      token: Type.String({ description: 'Send it as `Authorization: Bearer <token>`. It is shown this once.' }),
      scope: oneOf(['read', 'write']),
      name: Type.String(),
      created_at: timestamp(),
    }),
    prefund: Type.Optional(
      Type.Object({
        id: Type.String({ description: 'Of the payment.' }),
        amount: Type.Number({ description: 'In EUR.' }),
        currency: oneOf(['EUR']),
        url: Type.String({ description: 'Where a person pays. The wallet has the money about a minute after that.' }),
        state: oneOf(['open']),
      }),
    ),
  }),
);
export type Account = Static<typeof Account>;
